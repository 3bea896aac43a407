"""Cases of cases.py: operators from codes to codes."""

import numpy as np

from answers import cases, codes

TYPES = np.uint8, np.int8


def number(x):
    return np.array(x, np.float32)


def scale(f):
    return number(f.rng.uniform(0.02, 0.08))


def even(f):
    """A scale of which others are multiples by powers of two, so that numbers lie halfway between codes."""
    return number(2.0 ** f.rng.integers(-7, -4))


def quantised(f, t, *shape, steps=scale):
    """Codes with a scale and a zero point."""
    return codes(f, t, *shape), steps(f), codes(f, t)


SHAPES = (
    ((5, 7), (5, 7)),
    ((), (33,)),
    ((1, 33), ()),
    ((2, 3, 1), (1, 3, 17)),
    ((70,), (2, 70)),
    ((2, 1, 1, 5), (3, 4, 1)),
    ((1000,), (1,)),
)


def pairs(f):
    for t in TYPES:
        for a, b in SHAPES:
            for steps in scale, even:
                name = f"{t.__name__} {list(a)} {list(b)}{', halves' if steps is even else ''}"
                # Codes along a line that saturate on neither side say most.
                out = number(f.rng.uniform(0.02, 0.3)) if steps is scale else steps(f)
                yield (
                    name,
                    {},
                    [*quantised(f, t, *a, steps=steps), *quantised(f, t, *b, steps=steps), out, codes(f, t)],
                    [1],
                )
        yield f"{t.__name__}, empty", {}, [*quantised(f, t, 0, 3), *quantised(f, t, 3), scale(f), codes(f, t)], [1]


@cases("QLinearAdd", seed=200)
def add(f):
    yield from pairs(f)


@cases("QLinearMul", seed=201)
def mul(f):
    yield from pairs(f)


def all_codes(t):
    limits = np.iinfo(t)
    return np.arange(limits.min, limits.max + 1).astype(t)


@cases("QLinearSigmoid", seed=202)
def sigmoid(f):
    for t in TYPES:
        yield (
            f"{t.__name__}",
            {},
            [all_codes(t), scale(f), codes(f, t), number(1 / 256), np.array(np.iinfo(t).min, t)],
            [1],
        )
        yield (
            f"{t.__name__}, wide",
            {},
            [all_codes(t).reshape(16, 16), number(1.5), codes(f, t), number(0.01), codes(f, t)],
            [1],
        )
        yield f"{t.__name__}, no zero points", {}, [all_codes(t), scale(f), None, number(1 / 128), None], [1]


@cases("QLinearLeakyRelu", seed=203)
def leaky(f):
    for t in TYPES:
        yield f"{t.__name__}", {"alpha": 0.1}, [all_codes(t), scale(f), codes(f, t), scale(f), codes(f, t)], [1]
        yield (
            f"{t.__name__}, halves",
            {"alpha": 0.25},
            [all_codes(t), number(0.5), codes(f, t), number(1), codes(f, t)],
            [1],
        )
        yield f"{t.__name__}, no zero points", {}, [codes(f, t, 2, 3, 5), scale(f), None, scale(f), None], [1]


@cases("QLinearSoftmax", seed=204)
def softmax(f):
    for t in TYPES:
        low = np.array(np.iinfo(t).min, t)
        for shape, attrs in (
            ((3, 7), {"opset": 13}),
            ((2, 3, 5), {"opset": 13, "axis": 1}),
            ((2, 3, 5), {"opset": 11}),
            ((2, 3, 5), {"opset": 12, "axis": 2}),
            ((2, 3, 5), {"opset": 11, "axis": 0}),
            ((2, 300), {"opset": 13}),
            ((1, 4, 70), {"opset": 13, "axis": -2}),
        ):
            name = f"{t.__name__} {list(shape)} {attrs}"
            yield name, attrs, [codes(f, t, *shape), number(0.01), codes(f, t), number(1 / 256), low], [1]
            yield f"{name}, other scale", attrs, [codes(f, t, *shape), scale(f), codes(f, t), number(0.003), low], [1]
        yield (
            f"{t.__name__}, equal",
            {"opset": 13},
            [np.full((2, 2), 5, t), scale(f), codes(f, t), number(1 / 256), low],
            [1],
        )


WINDOWS = (
    ((7,), {"kernel_shape": [3]}),
    ((9,), {"kernel_shape": [4], "strides": [2], "pads": [1, 2]}),
    ((5, 7), {"kernel_shape": [2, 3]}),
    ((6, 8), {"kernel_shape": [2, 2], "strides": [2, 2]}),
    ((6, 8), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ((6, 9), {"kernel_shape": [4, 2], "strides": [3, 2], "pads": [2, 0, 1, 1], "ceil_mode": 1}),
    ((7, 5), {"kernel_shape": [3, 2], "strides": [2, 3], "auto_pad": "SAME_UPPER"}),
    ((7, 5), {"kernel_shape": [3, 2], "strides": [2, 3], "auto_pad": "SAME_LOWER"}),
    ((4, 4), {"kernel_shape": [4, 4]}),
    ((3, 4, 5), {"kernel_shape": [2, 2, 3], "pads": [0, 1, 1, 1, 0, 1]}),
)


@cases("QLinearAveragePool", seed=205)
def average(f):
    for t in TYPES:
        for space, window in WINDOWS:
            for last in 0, 1:
                for count in 0, 1:
                    shape = (2, *space, 3) if last else (2, 3, *space)
                    attrs = {**window, "channels_last": last, "count_include_pad": count}
                    name = f"{t.__name__} {list(space)} {attrs}"
                    steps = even if count else scale
                    yield name, attrs, [*quantised(f, t, *shape, steps=steps), steps(f), codes(f, t)], [1]


@cases("QLinearGlobalAveragePool", seed=206)
def average_all(f):
    for t in TYPES:
        for space in (7,), (4, 4), (7, 7), (2, 3, 5), (1, 1), (9, 8):
            for last in 0, 1:
                for steps in scale, even:
                    shape = (2, *space, 19) if last else (2, 19, *space)
                    name = f"{t.__name__} {list(shape)}{', halves' if steps is even else ''}"
                    yield (
                        name,
                        {"channels_last": last},
                        [*quantised(f, t, *shape, steps=steps), steps(f), codes(f, t)],
                        [1],
                    )


@cases("NhwcMaxPool", seed=207)
def largest(f):
    for t in TYPES:
        for space, window in WINDOWS:
            for channels in 3, 33:
                yield f"{t.__name__} {list(space)} {channels} {window}", window, [codes(f, t, 2, *space, channels)], [1]
        attrs = {"kernel_shape": [3, 2], "dilations": [2, 3], "pads": [1, 1, 2, 0]}
        yield f"{t.__name__}, dilated", attrs, [codes(f, t, 1, 8, 9, 5)], [1]


@cases("QLinearConcat", seed=208)
def concat(f):
    for t in TYPES:
        for axis, shapes in (0, ((2, 3), (1, 3))), (1, ((2, 3, 4), (2, 1, 4), (2, 5, 4))), (-1, ((2, 3), (2, 70))):
            y = scale(f), codes(f, t)
            values = [x for s in shapes for x in quantised(f, t, *s)]
            yield f"{t.__name__} {axis}", {"axis": axis}, [*y, *values], [1]
            values[1:3] = y
            yield f"{t.__name__} {axis}, one as it is", {"axis": axis}, [*y, *values], [1]
        yield f"{t.__name__}, one", {"axis": 0}, [even(f), codes(f, t), *quantised(f, t, 256, steps=even)], [1]


@cases("QLinearWhere", seed=209)
def where(f):
    for t in TYPES:
        for c, x, y in (
            ((3, 5), (3, 5), (3, 5)),
            ((3, 1), (5,), (1, 5)),
            ((), (7,), ()),
            ((2, 3, 4), (), (4,)),
            ((70,), (1,), (70,)),
        ):
            z = scale(f), codes(f, t)
            cond = np.array(f.rng.integers(0, 2, c), bool)
            values = [*quantised(f, t, *x), *quantised(f, t, *y)]
            yield f"{t.__name__} {list(c)} {list(x)} {list(y)}", {}, [cond, *values, *z], [1]
            values[4:6] = z
            yield f"{t.__name__} {list(c)} {list(x)} {list(y)}, one as it is", {}, [cond, *values, *z], [1]
