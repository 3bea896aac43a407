"""Single operators that compute element by element."""

import numpy as np
from onnx import helper

from generators import operators


def unary(c, low=None, high=None, special=True, **attributes):
    dtype = c.dtype()
    if dtype.kind != "f":
        low = high = None
    shape = c.shape()
    c.exact = dtype.kind != "f" or c.op in ("Abs", "Neg", "Relu", "Floor", "Ceil", "Round", "Sign")
    c.single(c.value(c.numbers(dtype, shape, low, high, special=special)), **attributes)


@operators("Abs", "Neg", "Relu", "Sigmoid", "Tanh", "Erf", "Softsign", "IsNaN", "Not", "BitwiseNot")
def plain(c):
    unary(c)


@operators("Sign")
def sign(c):
    unary(c, special=False)  # the standard has no sign of NaN


@operators("Exp", "Sinh", "Cosh", "Sin", "Cos", "Atan", "Asinh", "Tan")
def moderate(c):
    unary(c, -1.4, 1.4, special=False) if c.op == "Tan" else unary(c, -9, 9, special=False)


@operators("Softplus", "HardSwish", "Mish")
def wide(c):
    unary(c, -30, 30, special=False)


@operators("Sqrt", "Log", "Reciprocal")
def positive(c):
    unary(c, 0.01, 50, special=c.op != "Reciprocal")


@operators("Asin", "Acos", "Atanh")
def bounded(c):
    unary(c, -0.95, 0.95, special=False)


@operators("Acosh")
def above_one(c):
    unary(c, 1.05, 30, special=False)


@operators("Floor", "Ceil", "Round")
def rounding(c):
    dtype, shape = c.dtype(), c.shape()
    a = c.numbers(dtype, shape, -40, 40)
    half = np.floor(a) + dtype.type(0.5)
    c.exact = True
    c.single(c.value(np.where(c.rng.random(shape) < 0.4, half, a).astype(dtype)))


@operators("LeakyRelu", "Elu", "Celu", "ThresholdedRelu", "Swish")
def with_alpha(c):
    unary(c, alpha=c.pick([None, c.uniform(0.1, 2.0), 1.0]), special=c.op == "LeakyRelu")


@operators("Selu")
def selu(c):
    unary(c, special=False, alpha=c.pick([None, c.uniform(0.5, 2)]), gamma=c.pick([None, c.uniform(0.5, 2)]))


@operators("HardSigmoid")
def hard_sigmoid(c):
    unary(c, -6, 6, alpha=c.pick([None, c.uniform(0.1, 1)]), beta=c.pick([None, c.uniform(0, 1)]))


@operators("Shrink")
def shrink(c):
    unary(c, special=False, lambd=c.pick([None, c.uniform(0, 1)]), bias=c.pick([None, c.uniform(-1, 1)]))


@operators("Gelu")
def gelu(c):
    unary(c, -6, 6, special=False, approximate=c.pick([None, "none", "tanh"]))


@operators("IsInf")
def is_inf(c):
    unary(c, detect_negative=c.pick([None, 0, 1]), detect_positive=c.pick([None, 0, 1]))


@operators(
    "Add",
    "Sub",
    "Mul",
    "Equal",
    "Greater",
    "Less",
    "GreaterOrEqual",
    "LessOrEqual",
    "And",
    "Or",
    "Xor",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
)
def binary(c):
    dtype = c.dtype()
    whole = dtype.kind == "f" and c.chance(0.3)  # so that comparisons meet equal numbers
    a, b = (np.round(x) if whole else x for x in (c.numbers(dtype, s, special=c.chance(0.3)) for s in c.broadcast(2)))
    c.exact = dtype.kind != "f" or whole
    c.single(c.value(a), c.value(b))


@operators("Div")
def div(c):
    dtype = c.dtype()
    a, b = (c.numbers(dtype, s) for s in c.broadcast(2))
    b = np.where(np.abs(b.astype(np.float64)) < 0.05, dtype.type(3), b).astype(dtype)
    c.exact = dtype.kind != "f"
    c.single(c.value(a), c.value(b))


@operators("Mod")
def mod(c):
    dtype = c.dtype()
    a, b = (c.numbers(dtype, s) for s in c.broadcast(2))
    b = np.where(np.abs(b.astype(np.float64)) < 0.2, dtype.type(3), b).astype(dtype)
    if dtype.kind == "f":  # eighths, so that quotients do not fall just beside a whole number
        a, b = np.round(a * 8) / dtype.type(8), np.round(b * 4 + np.sign(b)) / dtype.type(4)
    fmod = 1 if dtype.kind == "f" else c.pick([None, 0, 1])
    c.exact = dtype.kind != "f"
    c.single(c.value(a.astype(dtype)), c.value(b.astype(dtype)), fmod=fmod)


@operators("BitShift")
def shift(c):
    dtype = c.dtype()
    a, b = c.broadcast(2)
    bits = c.numbers(dtype, b, 0, dtype.itemsize * 8 - 1)
    c.exact = True
    c.single(c.value(c.numbers(dtype, a, 0, 200)), c.value(bits), direction=c.pick(["LEFT", "RIGHT"]))


@operators("Pow")
def power(c):
    dtype = c.dtype()
    exponent = c.dtype(1) if c.version >= 12 else dtype
    a, b = c.broadcast(2)
    if dtype.kind == "f" and exponent.kind == "f" and c.chance(0.5):
        x, y = c.numbers(dtype, a, 0.1, 4), c.numbers(exponent, b, -2, 3)
    else:
        y = np.round(c.numbers(exponent, b, 0, 4)).astype(exponent)
        x = c.numbers(dtype, a, -4, 4)
    if c.chance(0.4):  # the exponents that optimisers know
        y = np.array(c.pick([2, 2, 3, 1, 0.5 if exponent.kind == "f" and x.size and x.min() >= 0 else 2]), exponent)
    c.exact = dtype.kind != "f"
    c.single(c.value(x), c.value(y, constant=0.5))


@operators("PRelu")
def prelu(c):
    dtype = c.dtype()
    shape = c.shape(1, 4)
    slope = [d if c.chance(0.5) else 1 for d in shape]
    slope = slope[c.int(0, len(slope)) :]
    c.single(c.value(c.numbers(dtype, shape)), c.value(c.numbers(dtype, slope), constant=0.6))


@operators("Sum", "Mean", "Min", "Max")
def variadic(c):
    dtype, n = c.dtype(), c.int(1, 4)
    shapes = c.broadcast(n) if c.version >= 8 else [c.shape()] * n
    c.exact = c.op in ("Min", "Max")
    c.single(*(c.value(c.numbers(dtype, s, special=c.exact)) for s in shapes))


@operators("Where")
def where(c):
    dtype = c.dtype(1)
    cond, a, b = c.broadcast(3)
    c.exact = True
    c.single(c.value(c.numbers(bool, cond)), c.value(c.numbers(dtype, a)), c.value(c.numbers(dtype, b)))


@operators("Clip")
def clip(c):
    dtype = c.dtype()
    x = c.value(c.numbers(dtype, c.shape(), special=True))
    c.exact = True
    if c.version < 11:
        c.single(x, min=c.pick([None, -0.5, 0.0]), max=c.pick([None, 0.5, 6.0]))
        return
    low, high = np.array(0 if dtype.kind == "u" else -1, dtype), np.array(1, dtype)
    c.single(x, c.pick([None, c.operand(low)]), c.pick([None, c.operand(high)]))


def castable(c, dtype, to):
    """Numbers whose conversion the standard defines."""
    shape = c.shape()
    if dtype.kind == "f" and to.kind in "iu":
        return c.numbers(dtype, shape, 0 if to.kind == "u" else -100, 100)
    if dtype.kind == "f":
        return c.numbers(dtype, shape, special=to.kind == "f")
    if dtype.kind in "iu":
        return c.numbers(dtype, shape, 0 if dtype.kind == "u" else -120, 120)
    return c.numbers(dtype, shape)


@operators("Cast", "CastLike")
def cast(c):
    dtype = c.dtype(among=PLAIN)
    to = c.pick(PLAIN)
    c.exact = True
    x = c.value(castable(c, dtype, to))
    if c.op == "Cast":
        c.single(x, to=helper.np_dtype_to_tensor_dtype(to))
    else:
        c.single(x, c.value(c.numbers(to, c.shape(0, 2))))


PLAIN = [
    np.dtype(d)
    for d in (
        "float32",
        "float64",
        "float16",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "bool",
    )
]
