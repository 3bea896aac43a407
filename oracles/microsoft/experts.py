"""Cases of cases.py: mixtures of experts.

ONNX Runtime's CPU lacks fc3, swiglu in two halves and the sparse mixer, and multiplies float16 experts by weights in
another order than documented: those cases are computed here, as "(numpy)" in their names says.
"""

import numpy as np

from answers import cases

ROWS, EXPERTS = 6, 3


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x * sigmoid(x),
    "identity": lambda x: x,
}


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def sparse_mixer(logits):
    """The experts and shares of SparseMixer, without noise."""
    chosen, shares, left = [], [], logits.copy()
    for _ in range(2):
        best = int(np.argmax(left))
        worse = (left[best] - logits) / np.maximum(np.abs(logits), left[best]) > 0.02
        shares.append(softmax(np.where(worse, -np.inf, left))[best])
        chosen.append(best)
        left[best] = -np.inf
    return chosen, shares


def mixture(attrs, x, router, layers, by_row=None):
    """The output; layers are (weights, bias) of fc1, fc2 and fc3."""
    x, router = x.astype(np.float64).reshape(-1, x.shape[-1]), router.astype(np.float64)
    layers = [None if p is None else [None if t is None else t.astype(np.float64) for t in p] for p in layers]

    def layer(i, e, v):
        w, b = layers[i]
        return w[e] @ v + (0 if b is None else b[e])

    out = np.zeros_like(x)
    for t, v in enumerate(x):
        if attrs.get("use_sparse_mixer"):
            chosen, shares = sparse_mixer(router[t])
        else:
            chosen = np.argsort(-router[t], kind="stable")[: attrs["k"]]
            shares = (softmax(router[t]) if by_row is None else by_row[t])[chosen]
            if attrs.get("normalize_routing_weights"):
                shares = shares / shares.sum()
        for e, share in zip(chosen, shares):
            h, act = layer(0, e, v), attrs["activation_type"]
            if act == "swiglu":
                pair = {
                    0: lambda h, e=e, v=v: (h, layer(2, e, v)),
                    1: lambda h: (h[0::2], h[1::2]),
                    2: lambda h: np.split(h, 2),
                }
                gate, linear = pair[attrs["swiglu_fusion"]](h)
                limit = attrs.get("swiglu_limit", np.inf)
                gate, linear = np.minimum(gate, limit), np.clip(linear, -limit, limit)
                h = gate * sigmoid(attrs.get("activation_alpha", 1) * gate) * (linear + attrs.get("activation_beta", 0))
            else:
                h = ACTIVATIONS[act](h)
                if layers[2] is not None:
                    h = h * layer(2, e, v)
            out[t] += share * layer(1, e, h)
    return out


def dense(f, fused=1, third=False, bias=True):
    """Layers (weights, bias) of floats."""
    list_ = []
    for rows, columns in (fused * 12, 8), (8, 12), (12, 8):
        list_.append((f(EXPERTS, rows, columns) / 4, f(EXPERTS, rows) if bias else None))
    return list_ if third else [*list_[:2], None]


def flat(layers):
    return [t for p in layers if p is not None for t in p]


SWIGLU = {"activation_type": "swiglu", "activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 1.5}


@cases("MoE", seed=300)
def moe(f):
    tol = {"tol": 1e-5}
    for act in ACTIVATIONS:
        for normalized in 0, 1:
            a = {"k": 2, "activation_type": act, "normalize_routing_weights": normalized}
            yield f"{act}, normalised {normalized}", a, [f(ROWS, 8), f(ROWS, EXPERTS), *flat(dense(f))], [1], tol
    a = {"k": 3, "swiglu_fusion": 1, **SWIGLU}
    yield "swiglu, pairs", a, [f(ROWS, 8), f(ROWS, EXPERTS), *flat(dense(f, 2))], [1], tol
    yield "swiglu, pairs, no limit", {"k": 1, "swiglu_fusion": 1, "activation_type": "swiglu"}, [
        f(ROWS, 8), f(ROWS, EXPERTS), *flat(dense(f, 2, bias=False))], [1], tol  # fmt: skip
    yield "three axes", {"k": 2, "activation_type": "relu"}, [f(2, 3, 8), f(6, EXPERTS), *flat(dense(f))], [1], tol
    yield "all experts", {"k": EXPERTS, "activation_type": "relu"}, [f(1, 8), f(1, EXPERTS), *flat(dense(f))], [1], tol
    even = np.zeros((ROWS, EXPERTS), np.float32)
    yield "equal logits", {"k": 2, "activation_type": "relu"}, [f(ROWS, 8), even, *flat(dense(f))], [1], tol

    def reference(name, attrs, layers, tolerance=1e-5):
        x, router = f(ROWS, 8), f(ROWS, EXPERTS)
        want = mixture(attrs, x, router, layers).astype(f.dtype)
        return f"{name} (numpy)", attrs, [x, router, *flat(layers)], [1], {"tol": tolerance, "reference": [want]}

    yield reference("swiglu, halves", {"k": 2, "swiglu_fusion": 2, **SWIGLU}, dense(f, 2))
    yield reference("swiglu, fc3", {"k": 2, "swiglu_fusion": 0, **SWIGLU}, dense(f, 1, True))
    yield reference("silu, fc3", {"k": 2, "activation_type": "silu"}, dense(f, 1, True))
    yield reference("identity, fc3", {"k": 2, "activation_type": "identity"}, dense(f, 1, True))
    for _ in range(3):
        yield reference("sparse mixer", {"k": 2, "activation_type": "silu", "use_sparse_mixer": 1}, dense(f))
    f.dtype = np.float16
    yield reference("float16", {"k": 2, "activation_type": "silu", "normalize_routing_weights": 1}, dense(f), 4e-3)


def unpacked(codes, bits, count):
    """Codes of the last axis, one a number."""
    parts = [codes >> (bits * i) & (2**bits - 1) for i in range(8 // bits)]
    return np.stack(parts, -1).reshape(*codes.shape[:-1], -1)[..., :count].astype(np.float32)


def coded(f, rows, columns, bits, block, zeros):
    """Codes, scales, zero points and the weights that they are."""
    blocks = columns // block if block else 1
    codes = f.ints(0, 256, EXPERTS, rows, columns * bits // 8, dtype=np.uint8)
    scales = (np.abs(f(EXPERTS, rows, blocks)) / 2**bits / 2).astype(f.dtype)
    points, middle = None, np.full((EXPERTS, rows, blocks), 2.0 ** (bits - 1), np.float32)
    if zeros and block:
        points = f.ints(0, 256, EXPERTS, rows, (blocks * bits + 7) // 8, dtype=np.uint8)
        middle = unpacked(points, bits, blocks)
    elif zeros:
        points = f.ints(0, 256, EXPERTS, (rows * bits + 7) // 8, dtype=np.uint8)
        middle = unpacked(points, bits, rows)[..., None]
    values = unpacked(codes, bits, columns).reshape(EXPERTS, rows, blocks, -1)
    weights = ((values - middle[..., None]) * scales[..., None].astype(np.float32)).reshape(EXPERTS, rows, columns)
    return codes, scales if block else scales[..., 0], points, weights


def quantised(f, bits, block, zeros, fused=1, third=False, bias=True):
    """The inputs behind the router's, and layers of floats."""
    inputs, points, layers = [], [], []
    for i, (rows, columns) in enumerate([(fused * 48, 32), (32, 48), (48, 32)]):
        if i == 2 and not third:
            inputs, points, layers = [*inputs, None, None, None], [*points, None], [*layers, None]
            break
        width = bits[i] if isinstance(bits, tuple) else bits
        codes, scale, zero, weights = coded(f, rows, columns, width, block, zeros)
        b = f(EXPERTS, rows) if bias else None
        inputs, points, layers = [*inputs, codes, scale, b], [*points, zero], [*layers, (weights, b)]
    list_ = [*inputs, *points]
    while list_[-1] is None:
        list_.pop()
    return list_, layers


@cases("QMoE", seed=301)
def qmoe(f):
    for bits in 2, 4, 8:
        for block in 0, 16:
            for zeros in False, True:
                tol = {"tol": 1e-5}
                a = {"k": 2, "activation_type": "silu", "expert_weight_bits": bits, "normalize_routing_weights": 1}
                if block:
                    a["block_size"] = block
                list_, _ = quantised(f, bits, block, zeros)
                yield (
                    f"{bits} bits, blocks of {block}, zeros {zeros}",
                    a,
                    [f(ROWS, 32), f(ROWS, EXPERTS), *list_],
                    [1],
                    tol,
                )
    for act in "relu", "gelu", "identity":
        list_, _ = quantised(f, 4, 16, False, bias=False)
        yield (
            act,
            {"k": 3, "activation_type": act, "block_size": 16},
            [f(2, 3, 32), f(ROWS, EXPERTS), *list_],
            [1],
            {"tol": 1e-5},
        )
    list_, _ = quantised(f, 4, 16, False, fused=2)
    a = {"k": 2, "swiglu_fusion": 1, "block_size": 16, **SWIGLU}
    yield "swiglu, pairs", a, [f(ROWS, 32), f(ROWS, EXPERTS), *list_], [1], {"tol": 1e-5}
    for normalized in 0, 1:
        list_, _ = quantised(f, 4, 16, False)
        list_ += [None] * (12 - len(list_)) + [f.rng.uniform(0, 1, (ROWS, EXPERTS)).astype(np.float32)]
        a = {"k": 2, "activation_type": "relu", "block_size": 16, "normalize_routing_weights": normalized}
        yield f"shares, normalised {normalized}", a, [f(ROWS, 32), f(ROWS, EXPERTS), *list_], [1], {"tol": 1e-5}

    def reference(name, attrs, parts, tolerance=1e-5):
        list_, layers = parts
        x, router = f(ROWS, 32), f(ROWS, EXPERTS)
        want = mixture({"normalize_routing_weights": 1, **attrs}, x, router, layers).astype(f.dtype)
        return f"{name} (numpy)", attrs, [x, router, *list_], [1], {"tol": tolerance, "reference": [want]}

    yield reference(
        "swiglu, halves", {"k": 2, "swiglu_fusion": 2, "block_size": 16, **SWIGLU}, quantised(f, 4, 16, True, fused=2)
    )
    yield reference(
        "swiglu, fc3", {"k": 2, "swiglu_fusion": 0, "block_size": 16, **SWIGLU}, quantised(f, 4, 16, True, third=True)
    )
    yield reference(
        "silu, fc3", {"k": 2, "activation_type": "silu", "expert_weight_bits": 8}, quantised(f, 8, 0, True, third=True)
    )
    yield reference(
        "sparse mixer", {"k": 2, "activation_type": "silu", "use_sparse_mixer": 1}, quantised(f, 4, 0, False)
    )
    widths = {f"fc{i + 1}_expert_weight_bits": b for i, b in enumerate((4, 8, 2))}
    yield reference(
        "three widths", {"k": 2, "activation_type": "relu", **widths}, quantised(f, (4, 8, 2), 0, False, third=True)
    )
    f.dtype = np.float16
    for block in 0, 16:
        list_, _ = quantised(f, 4, block, True)
        a = {"k": 2, "activation_type": "silu", **({"block_size": block} if block else {})}
        yield f"float16, blocks of {block}", a, [f(ROWS, 32), f(ROWS, EXPERTS), *list_], [1], {"tol": 1e-2}
