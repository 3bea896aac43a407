"""Networks of sequences of tokens."""

import math

import numpy as np
from onnx import helper, numpy_helper

from generators import network
from layers import Layers


class Sequences(Layers):
    """Layers on values of batch, length, width."""

    def layer_norm(self, x, width):
        """The operator, or its parts, as exporters before opset 17 write it."""
        c = self.c
        scale, bias = self.between(0.7, 1.3, width), self.weight(width, scale=0.1)
        if c.opset >= 17 and c.chance(0.6):
            return c.node("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-5)
        last = -1 if c.opset >= 11 else 2
        centred = c.node("Sub", x, self.mean(x, [last]))
        square = c.node("Pow", centred, self.scalar(2)) if c.chance(0.6) else c.node("Mul", centred, centred)
        spread = c.node("Sqrt", c.node("Add", self.mean(square, [last]), self.scalar(1e-3)))
        if c.chance(0.2):  # TensorFlow's order
            a = c.node("Mul", c.node("Reciprocal", spread), scale)
            shift = c.node("Sub", bias, c.node("Mul", self.mean(x, [last]), a))
            return c.node("Add", c.node("Mul", x, a), shift)
        y = c.node("Div", centred, spread) if c.chance(0.7) else c.node("Mul", centred, c.node("Reciprocal", spread))
        return c.node("Add", c.node("Mul", *c.sample([y, scale], 2)), bias)

    def gelu(self, x):
        c = self.c
        if c.opset >= 20 and c.chance(0.5):
            return c.node("Gelu", x, approximate=c.pick(["none", "tanh"]))
        if c.opset < 9 or c.chance(0.3):
            root = self.scalar(math.sqrt(2 / math.pi))
            if c.chance(0.3):  # x taken out of the sum
                square = c.node("Mul", c.node("Mul", x, self.scalar(0.044715)), x)
                inner = c.node("Mul", c.node("Mul", x, root), c.node("Add", square, self.scalar(1)))
            else:
                cube = c.node("Pow", x, self.scalar(3)) if c.chance(0.5) else c.node("Mul", c.node("Mul", x, x), x)
                inner = c.node("Mul", c.node("Add", x, c.node("Mul", cube, self.scalar(0.044715))), root)
            return c.node(
                "Mul", c.node("Mul", x, self.scalar(0.5)), c.node("Add", c.node("Tanh", inner), self.scalar(1))
            )
        e = c.node("Add", c.node("Erf", c.node("Div", x, self.scalar(math.sqrt(2)))), self.scalar(1))
        if c.chance(0.4):
            return c.node("Mul", c.node("Mul", x, e), self.scalar(0.5))
        if c.chance(0.3):
            return c.node("Mul", x, c.node("Mul", self.scalar(0.5), e))
        return c.node("Mul", c.node("Mul", x, self.scalar(0.5)), e)

    def first(self, table, n):
        """The first n positions of a table; n is computed."""
        c = self.c
        return c.node("Slice", table, c.const(np.array([0])), n, c.const(np.array([1])))

    def project(self, x, n, m):
        c = self.c
        y = c.node("MatMul", x, self.weight(n, m, scale=n**-0.5))
        return c.node("Add", *c.sample([y, self.weight(m, scale=0.1)], 2))

    def heads(self, x, heads, each, perm):
        c = self.c
        if c.chance(0.5):
            shape = c.const(np.array([0, 0, heads, each]))
        else:
            shape = self.concat_shape(self.extent(x, 0), self.extent(x, 1), heads, each)
        return c.node("Transpose", c.node("Reshape", x, shape), perm=perm)

    def attention(self, x, width, heads, mask):
        c, each = self.c, width // heads
        if c.chance(0.3):  # one product for all three
            q, k, v = self.split(self.project(x, width, 3 * width), [width] * 3, 2)
        else:
            q, k, v = (self.project(x, width, width) for _ in range(3))
        q, v = (self.heads(t, heads, each, [0, 2, 1, 3]) for t in (q, v))
        k = self.heads(k, heads, each, [0, 2, 3, 1])
        if c.chance(0.5):
            scores = c.node("Div", c.node("MatMul", q, k), self.scalar(math.sqrt(each)))
        else:
            scores = c.node("MatMul", c.node("Mul", q, self.scalar(each**-0.5)), k)
        if mask:
            scores = c.node("Add", scores, mask)
        y = c.node("MatMul", c.node("Softmax", scores, axis=-1 if c.opset >= 13 else 3), v)
        y = c.node("Transpose", y, perm=[0, 2, 1, 3])
        y = c.node("Reshape", y, self.concat_shape(self.extent(y, 0), self.extent(y, 1), width))
        return self.project(y, width, width)


def additive_mask(f, tokens, length):
    """0 where a position counts, a large negative number where it does not: by one of the ways of exporters."""
    c = f.c
    low = -1e4
    way = c.int(0, 3)
    if way == 0 and c.opset >= 9:  # from a mask given as input, by Where on an expanded comparison
        mask = c.input(np.ones((1, length), np.int64), symbolic=True)
        full = f.unsqueeze(mask, [1, 2])
        if c.opset >= 11:
            hit = c.node("Equal", full, c.const(np.array(0)))
        else:
            hit = c.node("Not", c.node("Cast", full, to=9))
        return c.node("Where", hit, f.scalar(low), f.scalar(0))
    if way == 1 and c.opset >= 14:  # causal, by Trilu over a constant of a computed shape
        n = f.extent(tokens, 1)
        ones = c.node("ConstantOfShape", c.node("Concat", n, n, axis=0), value=tensor(np.ones(1, c.float)))
        lower = c.node("Trilu", ones, upper=0)
        hit = c.node("Cast", lower, to=9)
        return c.node("Where", hit, f.scalar(0), f.scalar(low))
    if way == 2 and c.opset >= 11:  # causal, by comparing ranges
        n = f.squeeze(f.extent(tokens, 1), [0])
        line = c.node("Range", c.const(np.array(0)), n, c.const(np.array(1)))
        hit = c.node("Less", f.unsqueeze(line, [1]), f.unsqueeze(line, [0]))
        return c.node("Mul", c.node("Cast", hit, to=number(c.float)), f.scalar(low))
    mask = c.node("Cast", tokens, to=number(c.float))  # a padding token is 0
    mask = c.node("Clip", mask, min=0.0, max=1.0) if c.opset < 11 else c.node("Clip", mask, f.scalar(0), f.scalar(1))
    return f.unsqueeze(c.node("Mul", c.node("Sub", f.scalar(1), mask), f.scalar(low)), [1, 2])


def tensor(array):
    """The array as the format's tensor, for an attribute."""
    return numpy_helper.from_array(array)


def number(dtype):
    """The number of a type in the format."""
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


@network
def transformer(c):
    """An encoder or a decoder with batch and length known at run time."""
    f = Sequences(c)
    heads, each, vocabulary = c.pick([1, 2, 3]), c.pick([4, 8]), 30
    width, n, length = heads * each, c.pick([1, 2]), c.int(1, 9)
    tokens = c.input(c.numbers(np.int64, [n, length], 0, vocabulary - 1), symbolic=c.chance(0.8))
    x = c.node("Gather", f.weight(vocabulary, width, scale=1), tokens, axis=0)
    if c.chance(0.5):
        position = f.first(f.weight(1, 16, width, scale=1), f.extent(tokens, 1)) if c.opset >= 10 else None
        x = c.node("Add", x, position) if position else x
    mask = additive_mask(f, tokens, length) if c.chance(0.8) else None
    first = c.chance(0.5)
    for _ in range(c.int(1, 2)):
        y = f.attention(f.layer_norm(x, width) if first else x, width, heads, mask)
        x = c.node("Add", x, y)
        x = x if first else f.layer_norm(x, width)
        y = f.layer_norm(x, width) if first else x
        y = f.project(f.gelu(f.project(y, width, 2 * width)), 2 * width, width)
        x = c.node("Add", y, x)
        x = x if first else f.layer_norm(x, width)
    c.output(x)
    if c.chance(0.5):  # the first position, through a linear layer
        first_token = c.node("Gather", x, c.const(np.array(0)), axis=1)
        c.output(c.node("Tanh", f.linear(first_token, width, width)))


@network
def shape_arithmetic(c):
    """Long chains of shape computations, which fold where extents are known and run where they are not."""
    f = Sequences(c)
    n, a, b = c.int(1, 3), c.int(1, 4), 2 * c.int(1, 4)
    x = c.input(c.numbers(np.float32, [n, a, b]).astype(c.float), symbolic=c.chance(0.7))
    shape = c.node("Shape", x)
    last = f.slice(shape, [-1], [2**31 - 1], [0])
    whole = c.node("Mul", f.slice(shape, [0], [1]), f.slice(shape, [1], [2]))
    flat = c.node("Reshape", x, c.node("Concat", whole, last, axis=0))
    c.output(flat)
    half = c.node("Div", last, c.const(np.array([2])))
    pairs = c.node("Reshape", x, c.node("Concat", f.slice(shape, [0], [2]), half, c.const(np.array([-1])), axis=0))
    c.output(c.node("Transpose", pairs, perm=[0, 3, 1, 2]))
    if c.opset >= 9:
        fill = c.node("ConstantOfShape", c.node("Concat", last, whole, axis=0), value=tensor(np.full(1, 1.5, c.float)))
        c.output(c.node("MatMul", flat, fill))
    if c.opset >= 8:
        target = c.node("Concat", c.const(np.array([2])), shape, axis=0)
        if c.opset >= 9:
            ones = c.node("ConstantOfShape", c.node("Shape", target), value=tensor(np.ones(1, np.int64)))
            wanted = c.node("Mul", ones, c.const(np.array(-1)))
            same = c.node("Equal", target, wanted)
            target = c.node("Where", same, ones, target)
        c.output(c.node("Expand", x, target))
    if c.opset >= 11:
        count = f.squeeze(c.node("ReduceProd", shape, **({"axes": [0]} if c.opset < 18 else {}), keepdims=1), [0])
        line = c.node("Range", c.const(np.array(0)), count, c.const(np.array(2)))
        c.output(c.node("Mod", line, c.const(np.array(3))))
        tail = c.node("Slice", x, c.const(np.array([0])), half, c.const(np.array([2])))
        c.output(c.node("Concat", tail, c.node("Neg", tail), axis=-1))
    size = c.node("Cast", c.node("Size", x), to=number(c.float))
    c.output(c.node("Div", c.node("ReduceSum", x, keepdims=0), size))
