"""Single operators of classical machine learning, but those that take maps."""

import numpy as np
from onnx import numpy_helper

from generators import operators

DOMAIN = "ai.onnx.ml"
WIDE = [np.dtype("float32"), np.dtype("float64")]
TRANSFORMS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]
WORDS = ["", "a", "b", "nacre", "mother of pearl"]


def learned(*names):
    return operators(*names, domain=DOMAIN)


def floats(a):
    """The list of an attribute, of numbers that float32 holds."""
    return [float(v) for v in np.float32(a).reshape(-1)]


def ints(a):
    return [int(v) for v in np.asarray(a).reshape(-1)]


def samples(c, features, dtype=None, **options):
    rows = c.pick([0, 1, 1, 2, 3, 7, 16, 17, 60, 300])
    return c.numbers(dtype or c.dtype(), [rows, features], **options)


def width(c):
    return c.pick([1, 2, 3, 4, 7, 8, 16, 17, 40])


@learned("ArrayFeatureExtractor")
def extractor(c):
    a = c.numbers(c.dtype(), c.shape(1, 4, zero=0))
    c.exact = True
    index = np.array([c.int(0, a.shape[-1] - 1) for _ in range(c.int(1, 6))])
    c.single(c.value(a), c.operand(index))


@learned("Binarizer")
def binarizer(c):
    a = c.numbers(c.dtype(), c.shape(0, 4))
    c.exact = True
    c.single(c.value(a), threshold=c.pick([None, c.uniform(-1, 1)]))


@learned("CategoryMapper")
def category_mapper(c):
    c.exact = True
    text = c.chance(0.5)
    words, numbers = c.sample(WORDS, 4), ints(c.sample(range(-3, 4), 4))
    a = c.numbers(object if text else "int64", c.shape(0, 3), *([] if text else [-4, 4]))
    default = {"default_int64": c.int(-9, 9)} if text else {"default_string": "none"}
    c.single(c.value(a), cats_strings=words, cats_int64s=numbers, **(default if c.chance(0.5) else {}))


@learned("FeatureVectorizer")
def vectorizer(c):
    dtype, rows, n = c.dtype(), c.int(1, 6), c.int(1, 4)
    parts = [c.numbers(dtype, [rows, c.int(1, 6)]) for _ in range(n)]
    c.single(*[c.value(a) for a in parts], inputdimensions=[c.int(1, 6) for _ in parts])


@learned("Imputer")
def imputer(c):
    dtype, features = c.dtype(), width(c)
    c.exact = True
    a = samples(c, features, dtype)
    count = features if c.chance(0.5) else 1
    if dtype.kind == "i":
        c.single(
            c.value(a), imputed_value_int64s=[c.int(-9, 9) for _ in range(count)], replaced_value_int64=c.int(-2, 2)
        )
        return
    missing = c.pick([float("nan"), 0.5])
    a[c.rng.random(a.shape) < 0.3] = missing
    c.single(c.value(a), imputed_value_floats=floats(c.numbers("float32", [count])), replaced_value_float=missing)


@learned("LabelEncoder")
def label_encoder(c):
    c.exact = True
    if c.version == 1:
        dtype = c.pick([np.dtype(object), np.dtype("int64")])
        c.single(c.value(c.numbers(dtype, c.shape(0, 3))), classes_strings=c.sample(WORDS, 3))
        return
    lists = {
        "strings": c.sample(WORDS, 4),
        "int64s": ints(c.sample(range(-6, 6), 4)),
        "floats": floats(c.sample(range(-6, 6), 4)),
    }
    key, value = c.pick(list(lists)), c.pick(list(lists))
    dtype = {"strings": object, "int64s": "int64", "floats": "float32"}[key]
    a = c.numbers(dtype, c.shape(0, 3))
    if key == "floats":
        a = np.rint(a)
    defaults = {"strings": {"default_string": "none"}, "int64s": {"default_int64": 7}, "floats": {"default_float": 0.5}}
    c.single(
        c.value(a),
        **{"keys_" + key: lists[key], "values_" + value: lists[value]},
        **(defaults[value] if c.chance(0.5) else {}),
    )


@learned("LinearClassifier")
def linear_classifier(c):
    features, classes = width(c), c.pick([2, 2, 3, 5, 17])
    scores = 1 if classes == 2 and c.chance(0.5) else classes
    named = c.chance(0.5)
    labels = (
        {"classlabels_strings": [f"class {i}" for i in range(classes)]}
        if named
        else {"classlabels_ints": c.sample(range(-9, 99), classes)}
    )
    c.single(
        c.value(samples(c, features)), n=2, coefficients=floats(c.numbers("float32", [scores, features])),
        intercepts=floats(c.numbers("float32", [scores])), post_transform=c.pick(TRANSFORMS), **labels,
    )  # fmt: skip


@learned("LinearRegressor")
def linear_regressor(c):
    features, targets = width(c), c.pick([1, 1, 2, 3, 16])
    c.single(
        c.value(samples(c, features)), coefficients=floats(c.numbers("float32", [targets, features])), targets=targets,
        intercepts=floats(c.numbers("float32", [targets])) if c.chance(0.7) else None, post_transform=c.pick(TRANSFORMS),
    )  # fmt: skip


@learned("Normalizer")
def normalizer(c):
    a = samples(c, width(c))
    if c.chance(0.3) and len(a):
        a[0] = 0
    c.single(c.value(a), norm=c.pick(["MAX", "L1", "L2", None]))


@learned("OneHotEncoder")
def one_hot(c):
    dtype = c.dtype()
    c.exact = True
    cats = (
        {"cats_strings": c.sample(WORDS, 4)}
        if dtype == np.dtype(object)
        else {"cats_int64s": ints(c.sample(range(-5, 6), 8))}
    )
    c.single(c.value(c.numbers(dtype, c.shape(1, 2))), zeros=c.pick([None, 1]), **cats)


@learned("Scaler")
def scaler(c):
    features = width(c)
    count = features if c.chance(0.7) else 1
    numbers = floats(c.numbers("float32", [2 * count]))
    c.single(c.value(samples(c, features)), offset=numbers[:count], scale=numbers[count:])


def kernel(c, count, features):
    kind = c.pick(["LINEAR", "POLY", "RBF", "SIGMOID"])
    return {
        "kernel_type": kind, "kernel_params": [c.uniform(0.1, 0.5), c.uniform(0, 0.5), float(c.int(1, 4))],
        "support_vectors": floats(c.rng.uniform(-1, 1, count * features)),
    }  # fmt: skip


@learned("SVMClassifier")
def svm_classifier(c):
    features, classes = c.int(1, 6), c.pick([2, 2, 3, 5])
    a = c.dtype()
    a = c.numbers(a, [c.pick([0, 1, 5, 40]), features], -1, 1)
    labels = {"classlabels_ints": c.sample(range(-9, 99), classes)}
    post = c.pick(TRANSFORMS)
    if c.chance(0.25):
        c.single(
            c.value(a), n=2, coefficients=floats(c.numbers("float32", [classes * features])), rho=[c.uniform(-1, 1)],
            kernel_params=[0.0, 0.0, 0.0], post_transform=post, **labels,
        )  # fmt: skip
        return
    per_class = [c.int(1, 20) for _ in range(classes)]
    pairs = classes * (classes - 1) // 2
    proba = {}
    if c.chance(0.5):
        proba = {"prob_a": floats(c.rng.uniform(-2, -0.5, pairs)), "prob_b": floats(c.rng.uniform(-0.3, 0.3, pairs))}
    c.single(
        c.value(a), n=2, vectors_per_class=per_class, rho=floats(c.rng.uniform(-0.2, 0.2, pairs)), post_transform=post,
        coefficients=floats(c.rng.uniform(-1, 1, (classes - 1) * sum(per_class))), **proba, **labels,
        **kernel(c, sum(per_class), features),
    )  # fmt: skip


@learned("SVMRegressor")
def svm_regressor(c):
    features, count = c.int(1, 6), c.int(1, 60)
    a = c.numbers(c.dtype(), [c.pick([0, 1, 5, 40]), features], -1, 1)
    c.single(
        c.value(a), n_supports=count, rho=[c.uniform(-0.2, 0.2)], coefficients=floats(c.rng.uniform(-1, 1, count)),
        one_class=c.pick([None, 0, 1]), **kernel(c, count, features),
    )  # fmt: skip


@learned("ZipMap")
def zip_map(c):
    n = c.int(1, 5)
    keys = (
        {"classlabels_strings": c.sample(WORDS, n)}
        if c.chance(0.5)
        else {"classlabels_int64s": c.sample(range(-9, 99), n)}
    )
    c.exact = True
    c.single(c.input(c.numbers("float32", [c.pick([0, 1, 4]), n])), **keys)


class Tree:
    """One random tree: branches are [feature, value, yes, no, nan goes to yes], a leaf is its number."""

    def __init__(self, c, features, depth):
        self.c, self.features, self.branches, self.leaves = c, features, [], 0
        self.root = self.grow(depth, 0)

    def grow(self, depth, least):
        c = self.c
        if depth == 0 or (depth < 4 and least > 0 and c.chance(0.2)):
            self.leaves += 1
            return ~(self.leaves - 1)
        i = len(self.branches)
        self.branches.append([c.int(0, self.features - 1), c.int(-4, 4) / 2, 0, 0, int(c.chance(0.5))])
        self.branches[i][2] = self.grow(depth - 1, least + 1)
        self.branches[i][3] = self.grow(depth - 1, least + 1)
        return i


def forest(c, features):
    many = c.pick([1, 2, 5, 20, 90]) if c.large or c.chance(0.2) else c.int(1, 5)
    return [Tree(c, features, c.int(1, 6) if many < 50 else c.int(1, 3)) for _ in range(many)]


def halves(c, features, dtype):
    """Samples that often equal what they are compared with."""
    rows = c.pick([0, 1, 1, 3, 15, 16, 17, 60, 300])
    a = c.rng.integers(-5, 6, [rows, features]) / 2
    a = np.asarray(a).astype(dtype)
    if np.dtype(dtype).kind == "f" and c.chance(0.3):
        a[c.rng.random(a.shape) < 0.2] = np.nan
    return a


MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def listed(c, trees, prefix, votes, double):
    """The attributes of the older operators; votes gives those of a leaf."""
    a = {
        k: []
        for k in (
            "treeids",
            "nodeids",
            "featureids",
            "values",
            "modes",
            "truenodeids",
            "falsenodeids",
            "missing_value_tracks_true",
        )
    }
    v = {k: [] for k in ("treeids", "nodeids", "ids", "weights")}
    one_mode = c.pick([*MODES, None])
    for number, tree in enumerate(trees):
        ids = {}
        order = [tree.root]
        for x in order:  # breadth first
            ids[x] = len(ids)
            if x >= 0:
                order += tree.branches[x][2:4]
        for x in order:
            feature, value, yes, no, nan = tree.branches[x] if x >= 0 else (0, 0.0, None, None, 0)
            row = (
                number,
                ids[x],
                feature,
                value,
                (one_mode or c.pick(MODES)) if x >= 0 else "LEAF",
                ids.get(yes, 0),
                ids.get(no, 0),
                nan,
            )
            for name, item in zip(a, row):
                a[name].append(item)
            if x < 0:
                for target, weight in votes():
                    for name, item in zip(v, (number, ids[x], target, weight)):
                        v[name].append(item)
    if c.chance(0.5):
        del a["missing_value_tracks_true"]
    attributes = {f"nodes_{k}": item for k, item in a.items()} | {f"{prefix}_{k}": item for k, item in v.items()}
    if double:
        for name in "nodes_values", f"{prefix}_weights":
            attributes[name + "_as_tensor"] = numpy_helper.from_array(np.array(attributes.pop(name)))
    return attributes


def base_values(c, count, double):
    values = c.numbers("float32", [count])
    return (
        {"base_values_as_tensor": numpy_helper.from_array(values.astype(float))}
        if double
        else {"base_values": floats(values)}
    )


@learned("TreeEnsembleRegressor")
def tree_regressor(c):
    dtype, features, targets = c.dtype(), width(c), c.pick([1, 1, 2, 4])
    double = dtype == np.float64 and c.version >= 3 and c.chance(0.7)
    base = base_values(c, targets, double) if c.chance(0.4) else {}

    def votes():
        chosen = range(targets) if base else c.sample(range(targets), c.int(1, targets))
        return [(int(t), c.uniform(-1, 1)) for t in chosen]

    c.single(
        c.value(halves(c, features, dtype)), n_targets=targets, post_transform=c.pick(TRANSFORMS), **base,
        aggregate_function=c.pick(["SUM", "AVERAGE", "MIN", "MAX"]), **listed(c, forest(c, features), "target", votes, double),
    )  # fmt: skip


@learned("TreeEnsembleClassifier")
def tree_classifier(c):
    dtype, features, classes = c.dtype(), width(c), c.pick([1, 2, 2, 2, 3, 6])
    double = dtype == np.float64 and c.version >= 3 and c.chance(0.7)
    positive, way = c.chance(0.5), c.pick(["first", "second", "both"])
    base = {}
    if c.chance(0.3) and (classes != 2 or way == "first"):
        base = base_values(c, 1 if classes == 2 else classes, double)

    def votes():
        chosen = c.sample(range(classes), c.int(1, classes))
        if classes == 2:
            chosen = {"first": [0], "second": [1], "both": [0, 1]}[way]
        return [(int(t), c.uniform(0 if positive else -1, 1)) for t in chosen]

    labels = c.sample(range(-9, 99), classes)
    named = (
        {"classlabels_strings": [f"class {n}" for n in labels]}
        if classes > 1 and c.chance(0.5)
        else {"classlabels_int64s": labels}
    )
    c.single(
        c.value(halves(c, features, dtype)), n=2, post_transform=c.pick(TRANSFORMS), **base, **named,
        **listed(c, forest(c, features), "class", votes, double),
    )  # fmt: skip
    if classes == 2 and way == "both":
        del c.outputs[c.outputs.index(c.nodes[-1].output[0])]  # ONNX Runtime does not compare the scores


@learned("TreeEnsemble")
def tree_ensemble(c):
    dtype, features, targets = c.dtype(0, WIDE), width(c), c.pick([1, 1, 2, 4])
    a = {
        k: []
        for k in ("featureids", "truenodeids", "trueleafs", "falsenodeids", "falseleafs", "missing_value_tracks_true")
    }
    roots, splits, modes, members, leaves = [], [], [], [], 0
    few = c.chance(0.5)
    for tree in forest(c, features):
        first = len(splits)
        roots.append(first + tree.root)
        for feature, value, yes, no, nan in tree.branches:
            place = [(leaves + ~x, 1) if x < 0 else (first + x, 0) for x in (yes, no)]
            for name, item in zip(a, (feature, *place[0], *place[1], nan)):
                a[name].append(item)
            splits.append(value)
            modes.append(c.int(0, 5) if few else c.int(4, 6))
            if modes[-1] == 6:
                members += [*c.sample(range(0, 6), c.int(1, 4)), float("nan")]
        leaves += tree.leaves
    x = halves(c, features, dtype)
    if 6 in modes:
        x = np.rint(x)  # ONNX Runtime cuts fractions off before it looks for members
    tensor = lambda v: numpy_helper.from_array(np.array(v, dtype))  # noqa: E731
    c.single(
        c.value(x), tree_roots=roots, n_targets=targets, aggregate_function=c.int(0, 3), post_transform=c.pick([0, 0, 0, 1, 2, 3]),
        nodes_modes=numpy_helper.from_array(np.array(modes, np.uint8)), nodes_splits=tensor(splits),
        leaf_targetids=[c.int(0, targets - 1) for _ in range(leaves)], leaf_weights=tensor(c.rng.uniform(-1, 1, leaves)),
        membership_values=tensor(members) if members else None, **{f"nodes_{k}": v for k, v in a.items()},
    )  # fmt: skip
