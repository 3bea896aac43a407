"""Networks of attention in the forms of exporters: decoders with rotary embeddings, with caches, encoders of images."""

import math

import numpy as np

from generators import network
from nets_language import Sequences, additive_mask, number

FAR = 2**63 - 1


class Heads(Sequences):
    """Attention on values of batch, heads, length, size."""

    def __init__(self, case):
        super().__init__(case)
        self.scaling = case.pick(["after", "quotient", "queries", "both", "none"])
        self.pairs = case.chance(0.3)  # rotary embeddings turn neighbours, not halves
        self.form = case.pick(["quotient", "reciprocal", "inverse", "power"])

    def last(self, rank):
        return -1 if self.c.opset >= 11 else rank - 1

    def rms_norm(self, x, width):
        c = self.c
        wide = c.float == np.float16 and c.chance(0.6)
        y = c.node("Cast", x, to=1) if wide else x

        def scalar(v):
            return c.const(np.float32(v)) if wide else self.scalar(v)

        square = c.node("Pow", y, scalar(2)) if c.chance(0.6) else c.node("Mul", y, y)
        spread = c.node("Add", self.mean(square, [self.last(3)]), scalar(1e-3))
        if self.form == "power":
            y = c.node("Mul", y, c.node("Pow", spread, scalar(-0.5)))
        elif self.form == "quotient":
            y = c.node("Div", y, c.node("Sqrt", spread))
        elif self.form == "reciprocal":
            y = c.node("Mul", c.node("Reciprocal", c.node("Sqrt", spread)), y)
        else:
            y = c.node("Mul", y, c.node("Div", scalar(1), c.node("Sqrt", spread)))
        y = c.node("Cast", y, to=number(c.float)) if wide else y
        return c.node("Mul", *c.sample([y, self.between(0.7, 1.3, width)], 2))

    def part(self, x, rank, start, end, step=1):
        c = self.c
        if c.opset < 10:
            return c.node("Slice", x, starts=[start], ends=[end], axes=[rank - 1])
        axis = self.pick_axis(rank)
        steps = None if step == 1 and c.chance(0.5) else c.const(np.array([step]))
        return c.node(
            "Slice", x, c.const(np.array([start])), c.const(np.array([end])), c.const(np.array([axis])), steps
        )

    def pick_axis(self, rank):
        return rank - 1 if self.c.opset < 11 or self.c.chance(0.5) else -1

    def caches(self, tokens, size, heads_axis):
        """Cosines and sines of positions, each twice along the last axis."""
        c, half = self.c, size // 2
        frequencies = (10.0 ** -np.arange(half)).astype(c.float)
        n = self.squeeze(self.extent(tokens, 1), [0])
        line = c.node("Cast", c.node("Range", c.const(np.array(0)), n, c.const(np.array(1))), to=number(c.float))
        angles = c.node("Mul", self.unsqueeze(line, [0, 2]), c.const(frequencies))
        if not self.pairs:
            angles = c.node("Concat", angles, angles, axis=self.pick_axis(3))
        out = []
        for op in ["Cos", "Sin"]:
            x = c.node(op, angles)
            if self.pairs:
                x = c.node("Expand", self.unsqueeze(x, [3]), c.const(np.array([1, 1, 1, 2])))
                x = c.node("Reshape", x, c.const(np.array([0, 0, size])))
            out.append(self.unsqueeze(x, [heads_axis]))
        return out

    def rotate(self, x, size, cos, sin):
        c = self.c
        if self.pairs:
            odd, even = c.node("Neg", self.part(x, 4, 1, FAR, 2)), self.part(x, 4, 0, FAR, 2)
            both = [self.unsqueeze(t, [4]) for t in (odd, even)]
            y = c.node("Reshape", c.node("Concat", *both, axis=self.pick_axis(5)), c.const(np.array([0, 0, 0, size])))
        else:
            if c.chance(0.3):
                first, second = self.split(x, [size // 2] * 2, self.pick_axis(4))
            else:
                first, second = self.part(x, 4, 0, size // 2), self.part(x, 4, size // 2, FAR)
            y = c.node("Concat", c.node("Neg", second), first, axis=self.pick_axis(4))
        return c.node("Add", c.node("Mul", x, cos), c.node("Mul", y, sin))

    def turn(self, x, each, size, cos, sin):
        """Rotary embedding of the first size of each elements of heads."""
        if size == each:
            return self.rotate(x, size, cos, sin)
        first, rest = self.part(x, 4, 0, size), self.part(x, 4, size, FAR)
        return self.c.node("Concat", self.rotate(first, size, cos, sin), rest, axis=self.pick_axis(4))

    def repeat(self, x, times):
        """Every head that often, as heads that share keys need them."""
        c = self.c
        if times == 1:
            return x
        more = c.node("Expand", self.unsqueeze(x, [2]), c.const(np.array([1, 1, times, 1, 1])))
        heads = c.node("Mul", self.extent(x, 1), c.const(np.array([times])))
        return c.node(
            "Reshape", more, self.concat_shape(self.extent(x, 0), heads, self.extent(x, 2), self.extent(x, 3))
        )

    def attend(self, q, k, v, each, mask, width, cap=None):
        """The output of heads, side by side. Keys are not turned yet."""
        c = self.c
        scale = each**-0.5
        if self.scaling == "queries":
            q = c.node("Mul", q, self.scalar(scale))
        if self.scaling == "both":
            q, root = c.node("Mul", q, self.scalar(math.sqrt(scale))), self.scalar(math.sqrt(scale))
        if c.opset >= 9 and c.chance(0.3):  # with batch and heads joined
            flat = c.node("Reshape", k, self.concat_shape(-1, self.extent(k, 2), self.extent(k, 3)))
            turned = c.node("Transpose", flat, perm=[0, 2, 1])
            k = c.node("Reshape", turned, self.concat_shape(*(self.extent(k, i) for i in (0, 1, 3, 2))))
        else:
            k = c.node("Transpose", k, perm=[0, 1, 3, 2])
        if self.scaling == "both":
            k = c.node("Mul", k, root)
        s = c.node("MatMul", q, k)
        if self.scaling == "after":
            s = c.node("Mul", s, self.scalar(scale))
        if self.scaling == "quotient":
            s = c.node("Div", s, self.scalar(1 / scale))
        if cap:
            s = c.node("Mul", c.node("Tanh", c.node("Div", s, self.scalar(cap))), self.scalar(cap))
        s = mask(s) if mask else s
        wide = c.float == np.float16 and c.chance(0.4)
        s = c.node("Cast", s, to=1) if wide else s
        w = c.node("Softmax", s, axis=-1 if c.opset >= 13 else 3)
        w = c.node("Cast", w, to=number(c.float)) if wide else w
        if c.opset >= 9 and c.chance(0.2):  # as for queries without any key
            w = c.node("Where", c.node("IsNaN", w), self.scalar(0), w)
        y = c.node("Transpose", c.node("MatMul", w, v), perm=[0, 2, 1, 3])
        y = c.node("Reshape", y, self.concat_shape(self.extent(y, 0), self.extent(y, 1), width))
        return c.node("MatMul", y, self.weight(width, width, scale=width**-0.5))

    def gated(self, x, width):
        """A feed-forward layer with a gate."""
        c = self.c
        a, b = (c.node("MatMul", x, self.weight(width, 2 * width, scale=width**-0.5)) for _ in range(2))
        way = c.int(0, 3)
        if way == 0:
            a = self.gelu(a)
        elif way == 1:  # Mish
            a = c.node("Mul", a, c.node("Tanh", c.node("Softplus", a)))
        else:
            inner = a if way == 2 else c.node("Mul", a, self.scalar(1.702))
            a = c.node("Mul", *c.sample([a, c.node("Sigmoid", inner)], 2))
        return c.node("MatMul", c.node("Mul", a, b), self.weight(2 * width, width, scale=width**-0.5))


def added(f, mask):
    return mask and (lambda s: f.c.node("Add", *f.c.sample([s, mask], 2)))


def causal(f, tokens, scalar):
    """Where on a part of a table that says which keys come before a query."""
    c = f.c
    n = f.extent(tokens, 1)
    table = c.const(np.tril(np.ones((1, 1, 16, 16), bool)))
    for axis in [2, 3]:
        table = c.node("Slice", table, c.const(np.array([0])), n, c.const(np.array([axis])))
    low = scalar(np.finfo(np.float32).min if c.float == np.float32 else -1e4)
    return lambda s: c.node("Where", table, s, low)


@network
def rotary_decoder(c):
    """A decoder with rotary embeddings, heads that share keys, and gates."""
    f = Heads(c)
    c.opset = max(c.opset, 11)
    kv, times, each = c.pick([1, 2]), c.pick([1, 2, 3]), c.pick([4, 8])
    heads, n, length, vocabulary = kv * times, c.pick([1, 2]), c.int(1, 9), 30
    width, size = heads * each, each if c.chance(0.7) else each // 2
    tokens = c.input(c.numbers(np.int64, [n, length], 0, vocabulary - 1), symbolic=c.chance(0.8))
    x = c.node("Gather", f.weight(vocabulary, width, scale=1), tokens, axis=0)
    before = c.chance(0.3)  # heads are turned before they come in front
    cos, sin = f.caches(tokens, size, 2 if before else 1)
    mask = added(f, additive_mask(f, tokens, length)) if c.chance(0.6) else causal(f, tokens, f.scalar)
    cap = 20 if c.chance(0.3) else None

    def split(x, count, turned):
        x = c.node("MatMul", x, f.weight(width, count * each, scale=width**-0.5))
        shape = c.const(np.array([0, 0, count, each]))
        x = c.node("Reshape", x, shape)
        x = f.turn(x, each, size, cos, sin) if turned and before else x
        x = c.node("Transpose", x, perm=[0, 2, 1, 3])
        return f.turn(x, each, size, cos, sin) if turned and not before else x

    for _ in range(c.int(1, 2)):
        y = f.rms_norm(x, width)
        q, k, v = split(y, heads, True), split(y, kv, True), split(y, kv, False)
        x = c.node("Add", x, f.attend(q, f.repeat(k, times), f.repeat(v, times), each, mask, width, cap))
        x = c.node("Add", f.gated(f.rms_norm(x, width), width), x)
    c.output(f.rms_norm(x, width))


@network
def cached_decoder(c):
    """A decoder that is given keys and values of tokens before, and returns them with those of its own."""
    f = Heads(c)
    c.opset = max(c.opset, 11)
    heads, each, n, length, past = c.pick([1, 2, 3]), c.pick([4, 8]), c.pick([1, 2]), c.int(1, 3), c.int(0, 5)
    width, symbolic = heads * each, c.chance(0.7)
    x = c.input(c.numbers(np.float32, [n, length, width]).astype(c.float), symbolic=symbolic)
    x = f.project(x, width, width)  # an extent that is a number, whatever the input says
    y = f.project(f.layer_norm(x, width), width, 3 * width)
    parts = f.split(y, [width] * 3, 2)
    q, k, v = (f.heads(t, heads, each, [0, 2, 1, 3]) for t in parts)
    grown = []
    for t in (k, v):
        before = c.input(c.numbers(np.float32, [n, heads, past, each]).astype(c.float), symbolic=symbolic)
        grown.append(c.node("Concat", before, t, axis=2))
    c.output(*grown)
    places = f.weight(1, heads, 1, 1, scale=0.5) if c.chance(0.5) else None
    x = c.node("Add", x, f.attend(q, *grown, each, added(f, places), width))
    h = f.gelu(f.project(f.layer_norm(x, width), width, 2 * width))
    c.output(c.node("Add", x, f.project(h, 2 * width, width)))


@network
def vision_transformer(c):
    """Patches of an image, a token for its class, an encoder without masks."""
    f = Heads(c)
    c.opset = max(c.opset, 9)
    heads, each, n, side = c.pick([1, 2]), c.pick([4, 8]), c.pick([1, 2]), c.pick([1, 2, 3])
    width = heads * each
    image = c.input(c.numbers(np.float32, [n, 3, 4 * side, 4 * side]).astype(c.float), symbolic=False)
    x = c.node("Conv", image, f.weight(width, 3, 4, 4), f.weight(width, scale=0.1), kernel_shape=[4, 4], strides=[4, 4])
    x = c.node("Transpose", c.node("Reshape", x, c.const(np.array([0, 0, -1]))), perm=[0, 2, 1])
    token = c.node("Expand", f.weight(1, 1, width, scale=1), f.concat_shape(f.extent(x, 0), 1, width))
    x = c.node("Concat", token, x, axis=1)
    x = c.node("Add", x, f.weight(1, side * side + 1, width, scale=0.3))
    for _ in range(c.int(1, 2)):
        y = f.layer_norm(x, width)
        q, k, v = (f.heads(f.project(y, width, width), heads, each, [0, 2, 1, 3]) for _ in range(3))
        x = c.node("Add", f.attend(q, k, v, each, None, width), x)
        h = f.project(f.layer_norm(x, width), width, 2 * width)
        h = f.act(h, "hswish") if c.opset >= 11 and c.chance(0.3) else f.gelu(h)
        x = c.node("Add", f.project(h, 2 * width, width), x)
    c.output(c.node("Gather", f.layer_norm(x, width), c.const(np.array(0)), axis=1))


@network
def cross_attention(c):
    """A decoder's layer on an encoder's output of another length, with one head per row of a joined batch."""
    f = Heads(c)
    each, n, length, keys = c.pick([4, 8]), c.pick([1, 2, 4]), c.int(1, 6), c.int(1, 9)
    symbolic = c.chance(0.7)
    x = c.input(c.numbers(np.float32, [n, length, each]).astype(c.float), symbolic=symbolic)
    memory = c.input(c.numbers(np.float32, [n, keys, each]).astype(c.float), symbolic=symbolic)
    x = f.project(x, each, each)
    q = f.project(f.layer_norm(x, each), each, each)
    k, v = (f.project(memory, each, each) for _ in range(2))
    if c.chance(0.5):
        q = c.node("Mul", q, f.scalar(each**-0.5))
    s = c.node("MatMul", q, c.node("Transpose", k, perm=[0, 2, 1]))
    if c.chance(0.5):
        s = c.node("Add", s, f.weight(length, keys, scale=1))
    y = c.node("MatMul", c.node("Softmax", s, axis=-1 if c.opset >= 13 else 2), v)
    c.output(c.node("Add", x, f.project(y, each, each)))
