"""Random graphs without a model: they try how values are shared, reused, kept and given out."""

import numpy as np

from generators import network
from layers import Layers

UNARY = ["Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Softsign", "Identity", "LeakyRelu", "Elu"]
BINARY = ["Add", "Sub", "Mul"]


@network
def shared_values(c):
    """Values used many times, given out in the middle, joined, reshaped, transposed there and back."""
    f = Layers(c)
    shape = [c.int(1, 3), c.pick([2, 3, 4, 8]), c.int(1, 6), c.int(1, 6)]
    values = [f.image(*shape) for _ in range(c.int(1, 3))] + [f.weight(*shape, scale=1)]
    for _ in range(c.int(5, 30)):
        values.append(step(f, values, shape))
        if c.chance(0.15):
            c.output(values[-1])
    c.output(values[-1])
    if c.chance(0.2):
        c.output(c.inputs[0].name)  # an input that is given out
    if c.chance(0.2):
        c.output(values[c.int(0, len(values) - 1)])


def step(f, values, shape):
    """A value of the same shape from those there are; later ones more often."""
    c, n = f.c, len(values)

    def some():
        return values[max(c.int(0, n - 1), c.int(0, n - 1))]

    way = c.int(0, 9)
    if way < 3:
        return c.node(c.pick(UNARY), some())
    if way < 6:
        return c.node("Softsign", c.node(c.pick(BINARY), some(), some()))
    if way == 6:
        other = f.weight(*(1 if c.chance(0.4) else d for d in shape), scale=1)
        return c.node(c.pick(BINARY), *c.sample([some(), other], 2))
    if way == 7:
        perm = [int(i) for i in c.sample(range(4), 4)]
        back = [perm.index(i) for i in range(4)]
        return c.node("Transpose", c.node(c.pick(UNARY), c.node("Transpose", some(), perm=perm)), perm=back)
    if way == 8:
        flat = c.node("Reshape", some(), c.const(np.array([shape[0], -1])))
        return c.node("Reshape", c.node(c.pick(UNARY), flat), c.const(np.array([0, *shape[1:]])))
    sizes = [1, shape[1] - 1]
    a, b = f.split(some(), sizes, 1)
    return c.node("Concat", a, c.node(c.pick(UNARY), b), axis=1)


@network
def constants_and_convs(c):
    """What optimisers look for: convolutions before and after scaling, pairs of casts, neutral elements, dead ends."""
    f = Layers(c)
    ch = c.pick([3, 4, 8])
    x = f.image(c.int(1, 2), ch, c.int(4, 9), c.int(4, 9))
    for _ in range(c.int(3, 9)):
        way = c.int(0, 10)
        if way == 0:
            x = f.conv(x, ch, ch, norm=False, bias=c.chance(0.5), groups=c.pick([1, ch]))
        elif way == 1:
            x = f.norm(x, ch)
        elif way == 2:
            x = c.node("Mul", x, f.between(0.5, 1.5, *c.pick([(ch, 1, 1), (1, ch, 1, 1), (), (1,)])))
        elif way == 3:
            x = c.node("Add", x, f.weight(*c.pick([(ch, 1, 1), (1, ch, 1, 1), (1,), (1, 1, 1, 1)]), scale=0.3))
        elif way == 4:
            x = f.act(x, c.pick(["relu", "relu6", "hswish", "silu", "leaky", "sigmoid", "tanh"]))
        elif way == 5:
            x = c.node("Add", c.node("Mul", x, f.scalar(1)), f.scalar(0))
        elif way == 6:
            x = f.conv(f.pad(x, [0, 0, 1, 0, 0, 0, 1, 2]), ch, ch, pad=c.pick([0, 1]), norm=False)
        elif way == 7:
            y = f.conv(x, ch, ch, norm=False, act=c.pick([None, "relu"]))
            if c.chance(0.5):
                c.output(y)
            x = c.node("Add", *c.sample([x, y], 2))
        elif way == 8:
            c.node("Exp", x)  # nothing uses it
            folded = c.node("Mul", f.scalar(2), f.weight(ch, 1, 1, scale=0.5))
            x = c.node("Sub", x, folded)
        elif way == 9:
            x = c.node("Dropout", c.node("Identity", x))
        else:
            x = c.node("Div", x, f.between(1, 2, *c.pick([(ch, 1, 1), ()])))
    c.output(x)
