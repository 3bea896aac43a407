"""Operators of ONNX Runtime that join several of the standard's."""

import numpy as np

from generators import microsoft
from ops_neural import window


def floats(c, *shape):
    return c.numbers(np.float32, list(shape))


@microsoft("Gelu", "QuickGelu")
def gelu(c):
    alpha = {"alpha": c.pick([None, 0.5, 1.0])} if c.op.endswith("QuickGelu") else {}
    c.single(c.value(floats(c, *c.shape(1, 4))), **alpha)


@microsoft("BiasGelu", "FastGelu")
def bias_gelu(c):
    shape = c.shape(1, 4, zero=0)
    bias = c.value(floats(c, shape[-1])) if c.op.endswith("BiasGelu") or c.chance(0.6) else None
    c.single(c.value(floats(c, *shape)), bias)


@microsoft("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
def skip(c):
    batch, rows, width = c.int(1, 3), c.int(1, 9), c.pick([1, 3, 8, 16, 17, 64, 129])
    x = c.value(floats(c, batch, rows, width))
    other = c.value(floats(c, *c.pick([[batch, rows, width], [1, rows, width], [rows, width]])))
    rest = [c.value(floats(c, width), constant=0.8)]
    if c.op.endswith("SkipLayerNormalization"):
        rest.append(c.value(floats(c, width), constant=0.8) if c.chance(0.7) else None)
    rest.append(c.value(floats(c, width), constant=0.8) if c.chance(0.5) else None)
    names = c.node(c.op.rsplit(".", 1)[-1], x, other, *rest, n=4, domain=c.domain, epsilon=c.pick([None, 1e-5, 1e-2]))
    c.nodes[-1].output[1] = c.nodes[-1].output[2] = ""
    c.output(names[0], names[3])


@microsoft("FusedMatMul")
def matmul(c):
    m, k, n, batch = c.int(1, 40), c.int(1, 40), c.int(1, 40), c.shape(0, 2, zero=0)
    batch = [min(d, 4) for d in batch]
    ta, tb = c.int(0, 1), c.int(0, 1)
    a, b = [*batch, *([k, m] if ta else [m, k])], [*batch, *([n, k] if tb else [k, n])]
    c.single(
        c.value(floats(c, *a)),
        c.value(floats(c, *b), constant=0.6),
        transA=ta,
        transB=tb,
        alpha=c.pick([None, 0.5, -2.0]),
    )


ACTIVATIONS = {
    "Relu": {},
    "LeakyRelu": {"alpha": 0.2},
    "Tanh": {},
    "Sigmoid": {},
    "HardSigmoid": {"alpha": 0.3, "beta": 0.4},
}


@microsoft("FusedGemm")
def gemm(c):
    m, k, n = c.int(1, 40), c.int(1, 40), c.int(1, 40)
    ta, tb = c.int(0, 1), c.int(0, 1)
    name = c.pick(list(ACTIVATIONS))
    more = {f"activation_{key}": v for key, v in ACTIVATIONS[name].items()}
    a, b = [k, m] if ta else [m, k], [n, k] if tb else [k, n]
    bias = c.value(floats(c, *c.pick([[n], [m, n], [1, n], [m, 1], [1]]))) if c.chance(0.8) else None
    c.single(
        c.value(floats(c, *a)), c.value(floats(c, *b), constant=0.8), bias,
        transA=ta, transB=tb, alpha=c.pick([None, 0.5]), beta=c.pick([None, 0.5]), activation=name, **more,
    )  # fmt: skip


@microsoft("FusedConv")
def conv(c):
    spatial, attributes = window(c, 2)
    groups, per, filters = c.pick([1, 1, 2, 8]), c.int(1, 4), c.int(1, 9)
    name = c.pick([*ACTIVATIONS, "Clip"])
    parameters = list(ACTIVATIONS.get(name, {"low": -0.5, "high": 0.7}).values()) or None
    x = c.value(floats(c, c.int(1, 2), groups * per, *spatial))
    w = c.value(floats(c, groups * filters, per, *attributes["kernel_shape"]), constant=0.8)
    bias = c.value(floats(c, groups * filters), constant=0.8) if c.chance(0.7) else None
    c.single(x, w, bias, group=groups, activation=name, activation_params=parameters, **attributes)
