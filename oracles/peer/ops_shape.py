"""Single operators that move, select or describe elements."""

import math

import numpy as np
from onnx import TensorProto, numpy_helper

from generators import operators

HUGE = np.iinfo(np.int64).max


def moved(c, low=0, high=5, index=0, **limits):
    """An array of any type that the operator moves without change."""
    c.exact = True
    return c.numbers(c.dtype(index), c.shape(low, high, **limits))


@operators("Identity")
def identity(c):
    c.single(c.value(moved(c)))


@operators("Shape")
def shape(c):
    a = moved(c)
    if c.version >= 15:
        c.single(c.value(a), start=c.pick([None, c.int(-6, 6)]), end=c.pick([None, c.int(-6, 6)]))
    else:
        c.single(c.value(a))


@operators("Size")
def size(c):
    c.single(c.value(moved(c)))


def factors(c, n, rank):
    """A shape of that rank with n elements."""
    left = []
    for _ in range(rank - 1):
        d = c.pick([d for d in range(1, n + 1) if n % d == 0][:12]) if n else c.int(1, 3)
        left.append(d)
        n = n // d
    return c.sample(left + [n], rank)


@operators("Reshape")
def reshape(c):
    a = moved(c)
    target = factors(c, a.size, c.int(1, 5))
    allowzero = c.pick([None, 0, 1]) if c.version >= 14 else None
    given = list(target)
    if 0 in target and not allowzero:
        if 0 in a.shape:
            given = [1] * a.ndim
            given[a.shape.index(0)] = 0  # copies the zero
            given = given if math.prod(given) == a.size else [0] * a.ndim
    else:
        if not allowzero:
            given = [0 if i < a.ndim and d == a.shape[i] and c.chance(0.5) else d for i, d in enumerate(given)]
        if a.size and c.chance(0.5):
            given[c.int(0, len(given) - 1)] = -1
    c.single(c.value(a), c.ints(*given), allowzero=allowzero)


@operators("Transpose")
def transpose(c):
    a = moved(c, 0, 6)
    perm = c.sample(range(a.ndim), a.ndim)
    c.single(c.value(a), perm=None if c.chance(0.15) or not perm else [int(p) for p in perm])


@operators("Flatten")
def flatten(c):
    a = moved(c, 1, 5)
    low = -a.ndim if c.version >= 11 else 0
    c.single(c.value(a), axis=c.pick([None, c.int(low, a.ndim)]))


def axes(c, chosen, rank):
    """Axes, some of them counted from the end where the version allows it."""
    return [int(i) - rank if c.version >= 11 and c.chance(0.4) else int(i) for i in chosen]


@operators("Squeeze")
def squeeze(c):
    base = c.shape(0, 4)
    ones = c.int(0, 3)
    full = c.sample(base + [1] * ones, len(base) + ones)
    a = c.numbers(c.dtype(), full)
    c.exact = True
    candidates = [i for i, d in enumerate(full) if d == 1]
    chosen = c.sample(candidates, c.int(1, len(candidates))) if candidates and c.chance(0.8) else None
    squeeze_axes = None if chosen is None else axes(c, chosen, len(full))
    if c.version < 13:
        c.single(c.value(a), axes=squeeze_axes)
    else:
        c.single(c.value(a), None if squeeze_axes is None else c.ints(*squeeze_axes))


@operators("Unsqueeze")
def unsqueeze(c):
    a = moved(c, 0, 4)
    n = c.int(1, 3)
    chosen = axes(c, c.sample(range(a.ndim + n), n), a.ndim + n)
    if c.version < 13:
        c.single(c.value(a), axes=chosen)
    else:
        c.single(c.value(a), c.ints(*chosen))


@operators("Concat")
def concat(c):
    dtype = c.dtype()
    base = c.shape(1, 5, limit=2000)
    axis = c.axis(len(base), c.version >= 11)
    parts = []
    for _ in range(c.int(1, 5)):
        s = list(base)
        s[axis] = c.pick([0, 1, 2, 3, 8, s[axis]]) if c.chance(0.9) else s[axis]
        parts.append(c.value(c.numbers(dtype, s)))
    if c.chance(0.2):
        parts.append(parts[0])
    c.exact = True
    c.single(*parts, axis=axis)


@operators("Split")
def split(c):
    dtype = c.dtype()
    base, n = c.shape(1, 4, zero=0), c.int(1, 4)
    axis = c.axis(len(base), c.version >= 11)
    sizes = [c.int(0 if c.version >= 11 else 1, 6) for _ in range(n)]
    even = c.chance(0.4)
    if even:
        each = c.int(1, 6)
        sizes = [each] * n
        if c.version >= 18 and n > 1 and each > 1 and c.chance(0.5):
            sizes[-1] -= 1
    base[axis] = sum(sizes)
    x = c.value(c.numbers(dtype, base))
    c.exact = True
    given_axis = axis if axis or c.chance(0.5) else None
    if even and c.version >= 18 and c.chance(0.7):
        # The last part is smaller only if the extent says so.
        if -(-base[axis] // n) * (n - 1) < base[axis]:
            c.single(x, n=n, axis=given_axis, num_outputs=n)
            return
    if even and c.version < 18 and c.chance(0.7):
        c.single(x, n=n, axis=given_axis)
    elif c.version < 13:
        c.single(x, n=n, axis=given_axis, split=sizes)
    else:
        c.single(x, c.ints(*sizes), n=n, axis=given_axis)


@operators("Slice")
def slice_(c):
    a = moved(c, 1, 5)
    n = c.int(1, a.ndim)
    chosen = axes(c, c.sample(range(a.ndim), n), a.ndim) if c.version >= 10 else sorted(c.sample(range(a.ndim), n))
    starts, ends, steps = [], [], []
    for i in chosen:
        d = a.shape[i]
        backwards = c.version >= 10 and c.chance(0.3)
        s, e = sorted([c.int(-d - 2, d + 2), c.int(-d - 2, d + 2)])
        if backwards:
            s, e = c.pick([e, -1, HUGE]), c.pick([s, -HUGE - 1, -d - 1])
        else:
            s, e = c.pick([s, 0]), c.pick([e, HUGE, 2**31 - 1, -1])
        starts.append(s), ends.append(e), steps.append(c.int(1, 3) * (-1 if backwards else 1))
    if c.version < 10:
        c.single(
            c.value(a), starts=starts, ends=ends, axes=None if chosen == list(range(n)) else [int(i) for i in chosen]
        )
        return
    narrow = c.chance(0.2) and max(map(abs, starts + ends)) < 2**31

    def operand(v):
        return c.operand(np.array(v, np.int32 if narrow else np.int64))

    plain = all(s == 1 for s in steps) and c.chance(0.6)
    in_order = chosen == list(range(n)) and c.chance(0.6)
    c.single(
        c.value(a),
        operand(starts),
        operand(ends),
        None if in_order else operand(chosen),
        None if plain else operand(steps),
    )


def indices(c, shape, extent, negative=True):
    """Indices into an extent."""
    low = -extent if negative and c.version >= 11 else 0
    return c.numbers(c.pick([np.int64, np.int64, np.int32]), shape, low, extent - 1)


@operators("Gather")
def gather(c):
    a = moved(c, 1, 5, zero=0)
    axis = c.axis(a.ndim, c.version >= 11)
    i = indices(c, c.shape(0, 2, limit=40), a.shape[axis])
    c.single(c.value(a), c.operand(i), axis=axis if axis or c.chance(0.5) else None)


@operators("GatherElements")
def gather_elements(c):
    a = moved(c, 1, 4, zero=0)
    axis = c.axis(a.ndim)
    s = [c.int(1, d) for d in a.shape]
    s[axis] = c.int(0, 2 * a.shape[axis])
    c.single(c.value(a), c.operand(indices(c, s, a.shape[axis])), axis=axis)


def tuples(c, a, batch, outer, length):
    """Index tuples into the extents of a after its batch extents."""
    parts = [c.numbers(np.int64, outer, -d if c.version >= 11 else 0, d - 1) for d in a.shape[batch : batch + length]]
    return np.stack(parts, -1)


@operators("GatherND")
def gather_nd(c):
    a = moved(c, 1, 5, zero=0, limit=2000)
    batch = c.int(0, a.ndim - 1) if c.version >= 12 and c.chance(0.5) else 0
    length = c.int(1, a.ndim - batch)
    outer = list(a.shape[:batch]) + c.shape(0, 2, limit=6)
    c.single(c.value(a), c.operand(tuples(c, a, batch, outer, length)), batch_dims=batch or None)


@operators("Scatter", "ScatterElements")
def scatter_elements(c):
    a = moved(c, 1, 4, zero=0)
    axis = c.axis(a.ndim, c.version >= 11)
    s = [c.int(1, d) for d in a.shape]
    reduction = c.pick([None, "add", "mul"] + (["min", "max"] if c.version >= 18 else [])) if c.version >= 16 else None
    if a.dtype.kind not in "iuf":
        reduction = None
    i = indices(c, s, a.shape[axis])
    if reduction is None:  # an index that occurs twice has no defined result
        order = np.argsort(
            c.rng.random([a.shape[axis] if k == axis % a.ndim else d for k, d in enumerate(s)]), axis=axis
        )
        i = np.take(order, range(s[axis]), axis=axis).astype(np.int64)
    c.exact = reduction in (None, "min", "max") or a.dtype.kind != "f"
    c.single(c.value(a), c.operand(i), c.value(c.numbers(a.dtype, s)), axis=axis, reduction=reduction)


@operators("ScatterND")
def scatter_nd(c):
    a = moved(c, 1, 4, zero=0)
    length = c.int(1, a.ndim)
    heads = math.prod(a.shape[:length])
    reduction = c.pick([None, "add", "mul"] + (["min", "max"] if c.version >= 18 else [])) if c.version >= 16 else None
    if a.dtype.kind not in "iuf":
        reduction = None
    n = c.int(0, min(heads, 20))
    flat = c.rng.permutation(heads)[:n] if reduction is None else c.rng.integers(0, heads, n)
    i = np.stack(np.unravel_index(flat, a.shape[:length]), -1).astype(np.int64)
    if c.chance(0.3):
        i -= np.array(a.shape[:length])
    c.exact = reduction in (None, "min", "max") or a.dtype.kind != "f"
    c.single(c.value(a), c.operand(i), c.value(c.numbers(a.dtype, [n, *a.shape[length:]])), reduction=reduction)


@operators("Expand")
def expand(c):
    dtype = c.dtype()
    s, target = c.broadcast(2)
    c.exact = True
    c.single(c.value(c.numbers(dtype, s)), c.ints(*target))


@operators("Tile")
def tile(c):
    a = moved(c, 1, 5, limit=600)
    c.single(c.value(a), c.ints(*(c.pick([1, 1, 2, 3, 0 if c.chance(0.1) else 1]) for _ in a.shape)))


@operators("Pad")
def pad(c):
    dtype, shape_ = c.dtype(), c.shape(1, 5, limit=1500, zero=0)
    modes = ["constant", "constant", "reflect", "edge"] + (["wrap"] if c.version >= 19 else [])
    mode = c.pick(modes)
    if mode == "reflect":
        shape_ = [max(d, 2) if c.chance(0.7) else d for d in shape_]
    limit = {"reflect": [d - 1 for d in shape_], "wrap": shape_}.get(mode, [4] * len(shape_))
    rank = len(shape_)
    chosen = list(range(rank))
    if c.version >= 18 and c.chance(0.4):
        chosen = [int(i) for i in c.sample(chosen, c.int(1, rank))]
    amounts = [[c.pick([0, c.int(0, min(4, limit[i]))]) for i in chosen] for _ in range(2)]
    if mode == "constant" and c.chance(0.2):
        k = c.int(0, len(chosen) - 1)
        amounts[0][k] = -c.int(0, shape_[chosen[k]])
    pads = amounts[0] + amounts[1]
    x = c.value(c.numbers(dtype, shape_))
    c.exact = True
    mode = None if mode == "constant" and c.chance(0.5) else mode
    if c.version < 11:
        c.single(x, pads=pads, mode=mode, value=c.pick([None, 0.0, c.uniform(-1, 1)]))
        return
    fill = c.operand(c.numbers(dtype, [])) if c.chance(0.4) else None
    given = None
    if len(chosen) < rank or c.version >= 18 and c.chance(0.2):
        given = c.ints(*axes(c, chosen, rank))
    c.single(x, c.ints(*pads), fill, given, mode=mode)


@operators("Dropout")
def dropout(c):
    a = c.numbers(c.dtype(), c.shape())
    n = c.pick([1, 1, 2])
    c.exact = True
    if c.version < 12:
        c.single(c.value(a), n=n, ratio=c.pick([None, 0.3]))
        return
    ratio = c.pick([None, c.operand(np.array(0.3, np.float32))])
    mode = c.operand(np.array(False)) if c.chance(0.3) else None
    c.single(c.value(a), ratio, mode, n=n, seed=c.pick([None, 7]))


@operators("Constant")
def constant(c):
    c.exact = True
    a = c.numbers(c.pick([np.float32, np.float64, np.float16, np.int64, np.int32, np.uint8, bool]), c.shape())
    ways = [{"value": numpy_helper.from_array(a)}]
    if c.version >= 12:
        ways += [{"value_float": 2.5}, {"value_int": -7}, {"value_floats": [1.0, -2.0, 0.5]}, {"value_ints": [3, 4]}]
    c.single(**c.pick(ways))


@operators("ConstantOfShape")
def constant_of_shape(c):
    c.exact = True
    fill = c.numbers(c.pick([np.float32, np.float64, np.int64, np.int32, np.uint8, bool]), [1])
    value = None if c.chance(0.3) else numpy_helper.from_array(fill)
    c.single(c.ints(*c.shape(0, 4)), value=value)


@operators("Range")
def range_(c):
    dtype = c.dtype()
    if dtype.kind == "f":
        start, step = c.int(-20, 20) / 4, c.pick([0.25, 0.5, 1, -0.75, 2])
    else:
        start, step = c.int(-9, 9), c.pick([1, 1, 2, -1, -3])
    limit = start + step * c.int(-1, 20) + (step / 2 if dtype.kind == "f" else 0)
    c.exact = True
    c.single(*(c.operand(np.array(v, dtype)) for v in (start, limit, step)))


@operators("DepthToSpace", "SpaceToDepth")
def blocks(c):
    b = c.int(1, 3)
    n, ch, h, w = c.int(1, 3), c.int(1, 4), c.int(1, 5), c.int(1, 5)
    c.exact = True
    if c.op == "SpaceToDepth":
        c.single(c.value(c.numbers(c.dtype(), [n, ch, h * b, w * b])), blocksize=b)
        return
    mode = c.pick([None, "DCR", "CRD"]) if c.version >= 11 else None
    c.single(c.value(c.numbers(c.dtype(), [n, ch * b * b, h, w])), blocksize=b, mode=mode)


@operators("Trilu")
def trilu(c):
    a = moved(c, 2, 4)
    k = None if c.chance(0.3) else c.operand(np.array(c.int(-6, 6)))
    c.single(c.value(a), k, upper=c.pick([None, 0, 1]))


@operators("OneHot")
def one_hot(c):
    depth = c.int(1, 9)
    dtype = c.pick([np.float32, np.int64, np.int32])
    i = c.numbers(c.dtype(among=[np.dtype(np.int64), np.dtype(np.int32)]), c.shape(0, 3, limit=200), 0, depth + 1)
    if c.version >= 11 and c.chance(0.5):
        i = i - i.dtype.type(depth)
    c.exact = True
    rank = i.ndim + 1
    c.single(
        c.value(i),
        c.operand(np.array(c.pick([depth, [depth]]), np.int64)),
        c.value(c.numbers(dtype, [2])),
        axis=c.pick([None, c.int(-rank, rank - 1)]),
    )


@operators("NonZero")
def non_zero(c):
    a = moved(c, 1, 4)
    c.single(c.value(a * (c.rng.random(a.shape) < 0.5) if a.dtype != bool else a))


@operators("Compress")
def compress(c):
    a = moved(c, 1, 4, zero=0)
    axis = None if c.chance(0.3) else c.axis(a.ndim, c.version >= 11)
    n = a.size if axis is None else a.shape[axis]
    c.single(c.value(a), c.operand(c.numbers(bool, [c.int(1, n)])), axis=axis)


@operators("ReverseSequence")
def reverse_sequence(c):
    a = moved(c, 2, 4, zero=0)
    time = c.int(0, 1)
    lens = c.numbers(np.int64, [a.shape[1 - time]], 1, a.shape[time])
    c.single(c.value(a), c.operand(lens), time_axis=time, batch_axis=1 - time)


@operators("EyeLike")
def eye_like(c):
    a = moved(c, 2, 2)
    to = c.pick([None, TensorProto.FLOAT, TensorProto.INT64, TensorProto.DOUBLE])
    c.single(c.value(a), k=c.pick([None, c.int(-4, 4)]), dtype=to)
