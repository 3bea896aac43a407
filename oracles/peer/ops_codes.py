"""Operators of ONNX Runtime from codes to codes."""

import math

import numpy as np

from generators import microsoft
from ops_neural import window
from ops_quant import codes

BYTES = (np.uint8, np.int8)


def number(x):
    return np.array(x, np.float32)


def scale(c):
    return number(c.pick([c.rng.uniform(0.01, 0.2), 2.0 ** c.int(-7, -2)]))


def parameters(c, t, zero=True, constant=0.8):
    """A scale and a zero point as operands; the second may be left out if zero is false."""
    given = zero or c.chance(0.8)
    return [c.value(scale(c), constant=constant), c.value(codes(c, t, []), constant=constant) if given else None]


def value(c, t, shape, **options):
    return [c.value(codes(c, t, shape)), *parameters(c, t, **options)]


@microsoft("QLinearAdd", "QLinearMul")
def pair(c):
    c.close = True
    t = c.pick(BYTES)
    a, b = c.broadcast(2)
    c.single(*value(c, t, a), *value(c, t, b), *parameters(c, t))


@microsoft("QLinearSigmoid")
def sigmoid(c):
    c.close = True
    t = c.pick(BYTES)
    c.single(*value(c, t, c.shape(1, 4), zero=False), *parameters(c, t))


@microsoft("QLinearLeakyRelu")
def leaky(c):
    c.close = True
    t = c.pick(BYTES)
    c.single(*value(c, t, c.shape(1, 4), zero=False), *parameters(c, t), alpha=c.pick([None, 0.1, 0.25, 1.5]))


@microsoft("QLinearSoftmax")
def softmax(c):
    c.close = True
    t, shape = (
        c.pick(BYTES),
        [max(d, 3) for d in c.shape(1, 3, zero=0)],
    )  # of fewer the weights overflow in ONNX Runtime
    result = [number(c.pick([1 / 256, 0.003, 0.01])), np.array(np.iinfo(t).min, t)]
    given = [codes(c, t, shape), number(c.pick([0.005, 0.02, 0.1])), codes(c, t, [])]
    operands = [c.value(a, constant=0.8 if k else 0.2) for k, a in enumerate([*given, *result])]
    c.single(*operands, opset=c.pick([11, 12, 13]), axis=c.pick([None, c.axis(len(shape))]))


@microsoft("QLinearConcat")
def concat(c):
    c.close = True
    t, shape, n = c.pick(BYTES), c.shape(1, 4, zero=0), c.int(1, 4)
    axis = c.axis(len(shape))
    result, list_ = parameters(c, t), []
    for _ in range(n):
        part = list(shape)
        part[axis] = c.int(0 if n > 1 and list_ else 1, 9)
        list_ += [c.value(codes(c, t, part)), *(result if c.chance(0.3) else parameters(c, t))]
    c.single(*result, *list_, axis=axis)


@microsoft("QLinearWhere")
def where(c):
    c.close = True
    t = c.pick(BYTES)
    cond, x, y = c.broadcast(3)
    none = {"constant": 0}  # ONNX Runtime crashes on a constant scale beside one that is not
    c.single(
        c.value(c.numbers(bool, cond)), *value(c, t, x, **none), *value(c, t, y, **none), *parameters(c, t, **none)
    )


def pooling(c):
    """The shape of a value with channels behind space, and attributes of a window."""
    rank = c.pick([1, 2, 2, 2, 3])
    spatial, attributes = window(c, rank, pooling=True)
    if attributes.get("auto_pad") is None:
        attributes["ceil_mode"] = c.pick([None, 1])
    return [c.int(1, 3), *spatial, c.pick([1, 2, 3, 8, 17, 33, 64])], attributes


@microsoft("NhwcMaxPool")
def largest(c):
    shape, attributes = pooling(c)
    c.single(c.value(codes(c, c.pick(BYTES), shape)), **attributes)


def placed(c, shape):
    """The shape and channels_last."""
    if c.chance(0.5):
        return shape, 1
    return [shape[0], shape[-1], *shape[1:-1]], c.pick([None, 0])


@microsoft("QLinearAveragePool")
def average(c):
    c.close = True
    t = c.pick(BYTES)
    shape, attributes = pooling(c)
    del attributes["dilations"]
    shape, last = placed(c, shape)
    c.single(
        *value(c, t, shape), *parameters(c, t), channels_last=last, count_include_pad=c.pick([None, 0, 1]), **attributes
    )


@microsoft("QLinearGlobalAveragePool")
def average_all(c):
    c.close = True
    t = c.pick(BYTES)
    shape, last = placed(c, c.shape(3, 5, zero=0))
    c.single(*value(c, t, shape), *parameters(c, t), channels_last=last)


@microsoft("QLinearConv")
def conv(c):
    c.close = True
    tx, tw = c.pick(((np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)))
    spatial, attributes = window(c, c.pick([1, 2, 2, 3]))
    groups, per, filters = c.pick([1, 1, 2, 3, 16]), c.int(1, 5), c.int(1, 9)
    w = [groups * filters, per, *attributes["kernel_shape"]]
    shape, last = placed(c, [c.int(1, 2), *spatial, groups * per])
    by = c.pick([[], [w[0]]])
    zero = np.zeros(by, tw) if tw == np.int8 else np.full(by, c.int(0, 255), tw)
    weights = [c.const(codes(c, tw, w)), c.const(number(c.rng.uniform(0.002, 0.02, by))), c.const(zero)]
    step = number(0.01 * 128 * math.sqrt(math.prod(w[1:])) * c.uniform(0.5, 2))
    x = [c.value(codes(c, tx, shape)), c.const(number(0.02)), c.const(codes(c, tx, []))]
    bias = c.const(c.numbers(np.int32, [w[0]], -999, 999)) if c.chance(0.5) else None
    c.single(
        *x, *weights, c.const(step), c.const(codes(c, tx, [])), bias, group=groups, channels_last=last, **attributes
    )
