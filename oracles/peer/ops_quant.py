"""Operators on quantised values."""

import math

import numpy as np

from generators import operators
from ops_neural import LARGE, channel_counts, sized, window


def codes(c, dtype, shape):
    """Codes of all values that the type has."""
    limits = np.iinfo(dtype)
    return np.array(c.rng.integers(limits.min, limits.max + 1, shape), dtype)


# Element types of left operands, right operands and results that ONNX Runtime has kernels for.
TRIPLES = ((np.uint8, np.uint8, np.uint8), (np.uint8, np.int8, np.uint8), (np.int8, np.int8, np.int8))


def scale(c, shape, dtype=np.float32, low=0.002, high=0.02):
    return np.array(c.rng.uniform(low, high, shape), dtype)


def granularity(c, shape):
    """The shape of scales for values of that shape, and the attributes that say what they belong to."""
    if c.version >= 21 and shape and 0 not in shape and c.chance(0.4):
        i = c.int(0, len(shape) - 1)
        block = c.int(1, shape[i])
        blocks = [*shape[:i], math.ceil(shape[i] / block), *shape[i + 1 :]]
        return blocks, {"axis": i - len(shape) if c.chance(0.4) else i, "block_size": block}
    if c.version >= 13 and len(shape) > 1 and c.chance(0.5):
        axis = c.axis(len(shape)) if c.chance(0.6) else None
        return [shape[1 if axis is None else axis]], {"axis": axis}
    return c.pick([[], [], [1]]), {}


@operators("QuantizeLinear")
def quantize(c):
    dtype, out = c.dtype(0), c.dtype(2)
    shape = c.shape(0, 4)
    scales, attributes = granularity(c, shape)
    kind = dtype if c.version >= 19 and dtype.kind == "f" else np.float32
    step = scale(c, scales, kind, 0.01, 0.03) if out.itemsize == 1 else scale(c, scales, kind, 0.0001, 0.0003)
    x = c.numbers(dtype, shape, *((-300, 300) if dtype.kind == "i" else ())) * dtype.type(1 if dtype.kind == "i" else 2)
    zero = c.value(codes(c, out, scales), constant=0.8)
    if c.chance(0.15):
        zero = None
        if c.version >= 21 and out != np.uint8:
            attributes["output_dtype"] = {"uint8": 2, "int8": 3, "uint16": 4, "int16": 5}[out.name]
    c.single(c.value(x.astype(dtype)), c.value(step, constant=0.8), zero, **attributes)


@operators("DequantizeLinear")
def dequantize(c):
    dtype = c.dtype(0)
    kind = c.dtype(1) if c.version >= 19 else np.dtype("float32")
    shape = c.shape(0, 4)
    scales, attributes = granularity(c, shape)
    x = c.numbers(dtype, shape, -99999, 99999) if dtype == np.int32 else codes(c, dtype, shape)
    zero = None
    if dtype != np.int32 and c.chance(0.8):
        zero = c.value(codes(c, dtype, scales), constant=0.8)
    c.single(c.value(x, constant=0.4), c.value(scale(c, scales, kind), constant=0.8), zero, **attributes)


@operators("DynamicQuantizeLinear")
def dynamic(c):
    low = c.pick([-3.0, -3.0, 0.0, 1.0, -5.0])
    c.single(c.value(c.numbers(np.float32, c.shape(0, 4), low, low + c.pick([0.5, 1.0, 6.0]))), n=3)


def product(c):
    """Shapes of the operands of a product, and of its result's columns."""
    m, k, n = (c.pick(LARGE if c.large else [1, 1, 2, 3, 4, 5, 8, 13, 16, 17, 31, 32, 33, 50, 64]) for _ in range(3))
    left, right = c.broadcast(2, 0, 3)
    left, right = ([min(d, 4) for d in s] for s in (left, right))
    return [*left, m, k], [*right, k, n]


def columns(c, b):
    """The shape of what belongs to a right operand, or to its columns."""
    return c.pick([[], [], [1], [b[-1]]]) if len(b) == 2 else c.pick([[], [1]])


@operators("MatMulInteger")
def matmul_integer(c):
    ta, tb = c.dtype(0, among=(np.uint8, np.int8)), c.dtype(1, among=(np.uint8, np.int8))
    a, b = product(c)
    zeros = [c.value(codes(c, ta, []), constant=0.8) if c.chance(0.6) else None, None]
    if c.chance(0.6):
        zeros[1] = c.value(codes(c, tb, columns(c, b)), constant=0.8)
    c.single(c.value(codes(c, ta, a)), c.value(codes(c, tb, b), constant=0.7), *zeros)


@operators("QLinearMatMul")
def linear_matmul(c):
    ta, tb, ty = c.pick(TRIPLES)
    a, b = product(c)
    by = columns(c, b)
    step = np.array(0.0001 * 128 * math.sqrt(a[-1]) * c.uniform(0.5, 2), np.float32)
    c.single(
        c.value(codes(c, ta, a)),
        c.value(scale(c, []), constant=0.8),
        c.value(codes(c, ta, []), constant=0.8),
        c.value(codes(c, tb, b), constant=0.7),
        c.value(scale(c, by), constant=0.8),
        c.value(codes(c, tb, by), constant=0.8),
        c.value(step, constant=0.8),
        c.value(codes(c, ty, []), constant=0.8),
    )


def convolution(c):
    """Shapes of values and weights, and the attributes."""
    spatial, attributes = window(c, c.pick([1, 2, 2, 2, 3]))
    cin, cout, groups = channel_counts(c)
    weights = [cout, cin // groups, *attributes["kernel_shape"]]
    if c.chance(0.3):
        del attributes["kernel_shape"]
    attributes["group"] = groups if groups > 1 or c.chance(0.5) else None
    return sized(c, spatial, cin), weights, attributes


@operators("ConvInteger")
def conv_integer(c):
    tx, tw = c.dtype(0, among=(np.uint8, np.int8)), c.dtype(1, among=(np.uint8, np.int8))
    x, w, attributes = convolution(c)
    zeros = [c.value(codes(c, t, []), constant=0.8) if c.chance(0.6) else None for t in (tx, tw)]
    c.single(c.value(codes(c, tx, x)), c.value(codes(c, tw, w), constant=0.8), *zeros, **attributes)


@operators("QLinearConv")
def linear_conv(c):
    tx, tw, ty = c.pick(TRIPLES)
    x, w, attributes = convolution(c)
    by = c.pick([[], [w[0]]])
    zero = np.zeros(by, tw) if tw == np.int8 else np.full(by, c.int(0, 255), tw)  # ONNX Runtime wants them all equal
    step = np.array(0.0001 * 128 * math.sqrt(math.prod(w[1:])) * c.uniform(0.5, 2), np.float32)
    c.single(
        c.value(codes(c, tx, x)),
        c.value(scale(c, []), constant=0.8),
        c.value(codes(c, tx, []), constant=0.8),
        c.value(codes(c, tw, w), constant=0.8),
        c.value(scale(c, by), constant=0.8),
        c.value(zero, constant=0.8),
        c.value(step, constant=0.8),
        c.value(codes(c, ty, []), constant=0.8),
        c.value(c.numbers(np.int32, [w[0]], -999, 999), constant=0.8) if c.chance(0.6) else None,
        **attributes,
    )
