"""Small cases of every operator of ai.onnx.ml that ONNX Runtime has, for cases.py."""

import numpy as np
from onnx import numpy_helper

CASES = {}  # by operator: how many outputs it has, and a generator
NUMBERS = ["float32", "float64", "int64", "int32"]


def cases(op, outputs=1):
    """Registers a generator of the cases of an operator, which takes a source of random numbers."""

    def register(f):
        CASES[op] = (outputs, f)
        return f

    return register


def array(rng, dtype, *shape):
    """Random numbers of a type, whole ones for integers."""
    a = rng.standard_normal(shape) * 2
    return np.rint(a).astype(dtype) if np.dtype(dtype).kind == "i" else a.astype(dtype)


def floats(a):
    """A list of floats for an attribute, each one that float32 holds."""
    return [float(v) for v in np.float32(a).reshape(-1)]


def words(*list_):
    return np.array(list_, dtype=object)


@cases("ArrayFeatureExtractor")
def extractor(rng):
    for dtype in NUMBERS:
        yield dtype, 1, {}, [array(rng, dtype, 3, 5), np.array([4, 0, 0])]
    yield "vector", 1, {}, [array(rng, "float32", 5), np.array([4, 1])]
    yield "cube", 1, {}, [array(rng, "float32", 2, 3, 5), np.array([[4, 1], [0, 2]])]
    yield "strings", 1, {}, [np.array([["a", "b"], ["c", "d"]], dtype=object), np.array([1])]


@cases("Binarizer")
def binarizer(rng):
    yield "threshold", 1, {"threshold": 0.5}, [array(rng, "float32", 3, 5)]
    yield "default", 1, {}, [array(rng, "float32", 3, 5)]


@cases("CategoryMapper")
def category_mapper(rng):
    a = {"cats_strings": ["a", "b", "a"], "cats_int64s": [3, -1, 3]}
    yield "to numbers", 1, a, [words("b", "a", "x")]
    yield "to strings", 1, {**a, "default_string": "none"}, [np.array([[3], [4]])]


@cases("FeatureVectorizer")
def vectorizer(rng):
    for dtype in NUMBERS:
        yield dtype, 1, {"inputdimensions": [2, 5]}, [array(rng, dtype, 3, 4), array(rng, dtype, 3, 2)]
    yield "vectors", 1, {"inputdimensions": [3, 2]}, [array(rng, "float32", 3), array(rng, "float32", 2)]


@cases("Imputer")
def imputer(rng):
    x = array(rng, "float32", 4, 3)
    x[1, 1] = x[3, 0] = -1
    yield "once", 1, {"imputed_value_floats": [2.5], "replaced_value_float": -1.0}, [x]
    yield "each", 1, {"imputed_value_floats": [2.5, 3.0, 4.0], "replaced_value_float": -1.0}, [x]
    yield "integers", 1, {"imputed_value_int64s": [7, 8, 9], "replaced_value_int64": 1}, [array(rng, "int64", 6, 3)]


@cases("LabelEncoder")
def label_encoder(rng):
    yield "first", 1, {"classes_strings": ["a", "b", "a"]}, [words("b", "a", "x")]
    yield "first, to strings", 1, {"classes_strings": ["a", "b"]}, [np.array([1, 0, 2])]
    keys = {"keys_strings": ["a", "b"], "keys_int64s": [3, -4], "keys_floats": [0.5, -4.0]}
    values = {"values_strings": ["x", "y"], "values_int64s": [7, 8], "values_floats": [0.25, -1.0]}
    inputs = {
        "keys_strings": words("b", "c"),
        "keys_int64s": np.array([[-4, 3, 0]]),
        "keys_floats": np.float32([-4, 3]),
    }
    for key in keys:
        for value in values:
            for version in 2, 4:
                yield f"{key}, {value}", version, {key: keys[key], value: values[value]}, [inputs[key]]
    tensor = numpy_helper.from_array
    a = {"keys_tensor": tensor(np.array([1.5, np.nan])), "values_tensor": tensor(np.array([2.5, 3.5]))}
    yield "tensors", 4, {**a, "default_tensor": tensor(np.array([-8.0]))}, [np.array([np.nan, 1.5, 2])]


@cases("Normalizer")
def normalizer(rng):
    for dtype in NUMBERS:
        x = array(rng, dtype, 4, 5)
        x[1] = 0
        for norm in "MAX", "L1", "L2":
            yield f"{norm} {dtype}", 1, {"norm": norm}, [x]
    yield "vector", 1, {"norm": "L2"}, [array(rng, "float32", 5)]


@cases("OneHotEncoder")
def one_hot(rng):
    for dtype in "int64", "float32", "float64":
        yield dtype, 1, {"cats_int64s": [-1, 2, 0, 1]}, [array(rng, dtype, 3, 4)]
    yield "strings", 1, {"cats_strings": ["b", "a"]}, [words("a", "c", "b")]
    yield "strict", 1, {"cats_int64s": [5, 6], "zeros": 0}, [np.array([[6, 5], [5, 5]])]


@cases("Scaler")
def scaler(rng):
    for dtype in NUMBERS:
        yield f"each {dtype}", 1, {"offset": [0.5, -1.0, 2.0], "scale": [2.0, 0.25, -1.5]}, [array(rng, dtype, 4, 3)]
        yield f"once {dtype}", 1, {"offset": [0.5], "scale": [-2.0]}, [array(rng, dtype, 4, 3)]


TRANSFORMS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"]


@cases("LinearClassifier", 2)
def linear_classifier(rng):
    for dtype in NUMBERS:
        x = array(rng, dtype, 5, 4)
        for post in TRANSFORMS if dtype == "float32" else TRANSFORMS[:1]:
            a = {"coefficients": floats(array(rng, "float32", 12)), "intercepts": floats(rng.uniform(0, 0.5, 3))}
            yield f"three {post} {dtype}", 1, {**a, "classlabels_ints": [4, -1, 7], "post_transform": post}, [x]
            if post != "PROBIT":  # of which ONNX Runtime leaves a half out
                a = {"coefficients": floats(array(rng, "float32", 4)), "intercepts": [0.125]}
                yield f"two {post} {dtype}", 1, {**a, "classlabels_strings": ["a", "b"], "post_transform": post}, [x]


@cases("LinearRegressor")
def linear_regressor(rng):
    x = array(rng, "float32", 5, 4)
    yield "one", 1, {"coefficients": floats(array(rng, "float32", 4)), "intercepts": [0.5], "targets": 1}, [x]
    for post in TRANSFORMS:
        a = {"coefficients": floats(array(rng, "float32", 12)), "targets": 3, "post_transform": post}
        yield post, 1, {**a, "intercepts": floats(rng.uniform(0, 0.5, 3))}, [x]


def machine(rng, count, width, kind):
    return {
        "support_vectors": floats(rng.uniform(-1, 1, count * width)), "kernel_type": kind,
        "kernel_params": [0.25, 0.125, 3.0 if kind == "POLY" else 2.0],
    }  # fmt: skip


@cases("SVMClassifier", 2)
def svm_classifier(rng):
    for kind in "LINEAR", "POLY", "RBF", "SIGMOID":
        for classes in 2, 4:
            per_class = [int(n) for n in rng.integers(1, 5, classes)]
            pairs = classes * (classes - 1) // 2
            a = {
                **machine(rng, sum(per_class), 3, kind), "vectors_per_class": per_class,
                "classlabels_ints": [3 * i - 4 for i in range(classes)], "rho": floats(rng.uniform(-0.2, 0.2, pairs)),
                "coefficients": floats(rng.uniform(-1, 1, (classes - 1) * sum(per_class))),
            }  # fmt: skip
            x = rng.uniform(-1, 1, (5, 3)).astype("float32")
            proba = {"prob_a": floats(rng.uniform(-2, -1, pairs)), "prob_b": floats(rng.uniform(-0.2, 0.2, pairs))}
            for post in TRANSFORMS if kind == "RBF" else TRANSFORMS[:1]:
                if post != "PROBIT":
                    yield f"{kind} {classes} {post}", 1, {**a, "post_transform": post}, [x]
                yield f"{kind} {classes} {post} probabilities", 1, {**a, **proba, "post_transform": post}, [x]
    for dtype in NUMBERS:
        a = {"coefficients": floats(array(rng, "float32", 12)), "classlabels_strings": ["a", "b", "c"], "rho": [0.5]}
        yield f"linear {dtype}", 1, {**a, "kernel_params": [0.0, 0.0, 0.0]}, [array(rng, dtype, 5, 4)]
        a = {"coefficients": floats(array(rng, "float32", 8)), "classlabels_strings": ["a", "b"], "rho": [0.5]}
        yield f"linear, two {dtype}", 1, {**a, "kernel_params": [0.0, 0.0, 0.0]}, [array(rng, dtype, 5, 4)]


@cases("SVMRegressor")
def svm_regressor(rng):
    for kind in "LINEAR", "POLY", "RBF", "SIGMOID":
        x = rng.uniform(-1, 1, (5, 3)).astype("float32")
        a = {
            "coefficients": floats(rng.uniform(-1, 1, 20)),
            "rho": [0.25],
            "n_supports": 20,
            **machine(rng, 20, 3, kind),
        }
        yield kind, 1, a, [x]
        yield f"{kind} one class", 1, {**a, "one_class": 1}, [x]
    a = {
        "coefficients": floats(rng.uniform(-1, 1, 3)),
        "rho": [0.25],
        "n_supports": 0,
        "kernel_params": [0.0, 0.0, 0.0],
    }
    yield "linear", 1, a, [rng.uniform(-1, 1, (5, 3)).astype("float32")]


MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def entries(rng, count, features, prefix, votes, mode=None, double=False):
    """The attributes of full random trees of depth 3; votes gives those of a leaf."""
    nodes = {
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
    leaves = {k: [] for k in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(count):
        for i in range(15):
            inner = i < 7
            row = (
                tree, i, int(rng.integers(features)), float(rng.integers(-3, 4)) / 2,
                (mode or str(rng.choice(MODES))) if inner else "LEAF", 2 * i + 1 if inner else 0, 2 * i + 2 if inner else 0,
                int(rng.integers(2)),
            )  # fmt: skip
            for name, item in zip(nodes, row):
                nodes[name].append(item)
            for target, weight in [] if inner else votes():
                for name, item in zip(leaves, (tree, i, target, float(np.float32(weight)))):
                    leaves[name].append(item)
    a = {f"nodes_{k}": v for k, v in nodes.items()} | {f"{prefix}_{k}": v for k, v in leaves.items()}
    if double:
        for name in "nodes_values", f"{prefix}_weights":
            a[name + "_as_tensor"] = numpy_helper.from_array(np.array(a.pop(name)))
    return a


def grid(rng, dtype, *shape):
    """Samples that often equal what they are compared with, some of them missing."""
    a = rng.integers(-4, 5, shape) / 2
    if np.dtype(dtype).kind == "f":
        a[rng.random(shape) < 0.1] = np.nan
    return a.astype(dtype)


@cases("TreeEnsembleRegressor")
def tree_regressor(rng):
    for mode in [*MODES, None]:
        a = entries(rng, 3, 4, "target", lambda: [(0, rng.uniform(-1, 1))], mode)
        yield mode or "mixed modes", 1, {**a, "n_targets": 1}, [grid(rng, "float32", 9, 4)]
    for how in "SUM", "AVERAGE", "MIN", "MAX":
        votes = lambda: [(t, rng.uniform(-1, 1)) for t in range(3)]  # noqa: E731
        a = {"n_targets": 3, "aggregate_function": how, "base_values": [0.5, -0.25, 1.0]}
        yield how, 1, {**entries(rng, 4, 4, "target", votes), **a}, [grid(rng, "float32", 9, 4)]
    few = lambda: [(int(rng.integers(3)), rng.uniform(-1, 1))]  # noqa: E731
    for post in TRANSFORMS[:4]:
        a = {"n_targets": 3, "post_transform": post}
        yield post, 1, {**entries(rng, 4, 4, "target", few), **a}, [grid(rng, "float32", 9, 4)]
    a = entries(rng, 4, 4, "target", few, double=True)
    yield "float64", 3, {**a, "n_targets": 3}, [grid(rng, "float64", 9, 4)]


@cases("TreeEnsembleClassifier", 2)
def tree_classifier(rng):
    for post in TRANSFORMS[:4]:
        for low in 0, -1:
            one = lambda low=low: [(0, rng.uniform(low, 1))]  # noqa: E731
            a = {"classlabels_int64s": [4, 9], "post_transform": post}
            yield f"two {post} {low}", 1, {**entries(rng, 2, 4, "class", one), **a}, [grid(rng, "float32", 9, 4)]
            yield (
                f"two {post} {low} base",
                1,
                {**entries(rng, 2, 4, "class", one), **a, "base_values": [0.25]},
                [grid(rng, "float32", 9, 4)],
            )
            second = lambda low=low: [(1, rng.uniform(low, 1))]  # noqa: E731
            yield f"second {post} {low}", 1, {**entries(rng, 2, 4, "class", second), **a}, [grid(rng, "float32", 9, 4)]
        few = lambda: [(int(rng.integers(3)), rng.uniform(-1, 1))]  # noqa: E731
        a = {"classlabels_strings": ["a", "b", "c"], "post_transform": post}
        yield f"three {post}", 1, {**entries(rng, 3, 4, "class", few), **a}, [grid(rng, "float32", 9, 4)]
        yield (
            f"three {post} base",
            1,
            {**entries(rng, 3, 4, "class", few), **a, "base_values": [0.5, 0.25, -0.5]},
            [grid(rng, "float32", 9, 4)],
        )
    for dtype in NUMBERS[1:]:
        a = {"classlabels_strings": ["a", "b", "c"]}
        yield dtype, 3, {**entries(rng, 3, 4, "class", few, double=dtype == "float64"), **a}, [grid(rng, dtype, 9, 4)]
    a = {"classlabels_int64s": [1]}
    yield (
        "one",
        1,
        {**entries(rng, 2, 4, "class", lambda: [(0, rng.uniform(-1, 1))]), **a},
        [grid(rng, "float32", 9, 4)],
    )


@cases("TreeEnsemble")
def tree_ensemble(rng):
    for dtype in "float32", "float64":
        tensor = lambda v, dtype=dtype: numpy_helper.from_array(np.array(v, dtype))  # noqa: E731
        for how in range(4):
            # Two trees of seven branches and eight leaves each; every second branch asks for members.
            modes = [6 if i % 2 else int(rng.integers(6)) for i in range(14)]
            leaf = [int(i % 7 > 2) for i in range(14)]
            down = [
                [(8 * (i // 7) + 2 * (i % 7) - 6 if leaf[i] else 7 * (i // 7) + 2 * (i % 7) + 1) + k for i in range(14)]
                for k in (0, 1)
            ]
            members = [float(v) for m in modes if m == 6 for v in (*rng.choice(8, 3, replace=False), np.nan)]
            a = {
                "tree_roots": [0, 7], "n_targets": 3, "aggregate_function": how, "nodes_splits": tensor(rng.integers(-2, 5, 14)),
                "nodes_modes": numpy_helper.from_array(np.array(modes, np.uint8)), "nodes_featureids": [int(v) for v in rng.integers(0, 4, 14)],
                "nodes_truenodeids": down[0], "nodes_falsenodeids": down[1], "nodes_trueleafs": leaf, "nodes_falseleafs": leaf,
                "nodes_missing_value_tracks_true": [int(v) for v in rng.integers(0, 2, 14)], "membership_values": tensor(members),
                "leaf_targetids": [int(v) for v in rng.integers(0, 3, 16)], "leaf_weights": tensor(rng.uniform(-1, 1, 16)),
            }  # fmt: skip
            x = rng.integers(-2, 8, (9, 4)).astype(dtype)
            x[rng.random(x.shape) < 0.1] = np.nan
            yield f"{dtype} {how}", 5, a, [x]
