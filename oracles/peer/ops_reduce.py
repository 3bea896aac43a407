"""Single operators that reduce or normalise along axes."""

import numpy as np
from onnx import TensorProto

import teacher
from generators import operators


@operators(
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceSumSquare",
    "ReduceLogSum",
    "ReduceLogSumExp",
)
def reduction(c):
    dtype = c.dtype()
    shape = c.shape(0, 5, zero=0)
    if c.op == "ReduceProd":
        shape = [min(d, 6) for d in shape]
    positive = c.op == "ReduceLogSum"
    a = c.numbers(
        dtype, shape, 1 if positive and dtype.kind != "f" else 0.5 if positive else None, 3 if positive else None
    )
    if dtype.kind in "iu":
        a = np.clip(a, 1 if positive else a.min(initial=0), 5)
    if c.op == "ReduceProd":  # of integers: without overflow, which ONNX Runtime does not wrap
        few = c.rng.random(shape) < 4 / max(1, a.size)
        a = c.numbers(dtype, shape, 0.5, 1.5) if dtype.kind == "f" else np.where(few, a, 1).astype(dtype)
    c.exact = (
        dtype.kind != "f"
        and c.op not in ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp")
        or c.op in ("ReduceMax", "ReduceMin")
    )
    rank = len(shape)
    axes = None
    if rank and c.chance(0.8):
        chosen = c.sample(range(rank), c.int(1, rank))
        axes = [int(i) - rank if c.version >= 11 and c.chance(0.4) else int(i) for i in chosen]
    keepdims = c.pick([None, 0, 1])
    if c.version < (13 if c.op == "ReduceSum" else 18):
        c.single(c.value(a), axes=axes, keepdims=keepdims)
        return
    noop = c.pick([None, 0, 1])
    given = None if axes is None else c.ints(*axes)
    if axes is None and c.chance(0.4):
        given = c.operand(np.zeros(0, np.int64))
    c.single(c.value(a), given, keepdims=keepdims, noop_with_empty_axes=noop)


@operators("ArgMax", "ArgMin")
def arg(c):
    dtype = c.dtype()
    shape = c.shape(1, 5, zero=0)
    a = c.numbers(dtype, shape)
    if dtype.kind == "f" and c.chance(0.3):
        a = np.round(a)  # so that there are ties
    axis = c.axis(len(shape), c.version >= 11)
    last = c.pick([None, 0, 1]) if c.version >= 12 else None
    c.exact = True
    c.single(c.value(a), axis=c.pick([None, axis, axis]), keepdims=c.pick([None, 0, 1]), select_last_index=last)


@operators("CumSum")
def cum_sum(c):
    a = c.numbers(c.dtype(), c.shape(1, 4))
    c.exact = a.dtype.kind != "f"
    axis = c.operand(np.array(c.axis(a.ndim), c.pick([np.int64, np.int32])))
    c.single(c.value(a), axis, exclusive=c.pick([None, 0, 1]), reverse=c.pick([None, 0, 1]))


@operators("Softmax", "LogSoftmax", "Hardmax")
def softmax(c):
    a = c.numbers(c.dtype(), c.shape(1, 5)) * 3
    axis = c.axis(a.ndim, c.version >= 11)
    default = a.ndim >= 2 or c.version >= 13
    c.exact = c.op == "Hardmax"
    c.single(c.value(a), axis=c.pick([None, axis, axis]) if default else axis)


def channels(c, low=2, high=5):
    """An array of extents N, C, ... and a maker of arrays per channel."""
    dtype = c.dtype()
    n, ch = c.int(1, 3), c.pick([1, 2, 3, 4, 5, 8, 12, 16, 17])
    rest = c.extents(c.int(low, high) - 2, limit=400, zero=0)
    return c.numbers(dtype, [n, ch, *rest]), lambda low=None, high=None: c.numbers(dtype, [ch], low, high)


@operators("BatchNormalization")
def batch_normalization(c):
    x, per = channels(c)
    spatial = 1 if c.version < 9 and c.chance(0.5) else None
    c.single(
        c.value(x),
        *(c.value(v, constant=0.8) for v in (per(0.5, 2), per(), per(), per(0.1, 3))),
        epsilon=c.pick([None, c.uniform(1e-4, 1e-1)]),
        momentum=c.pick([None, 0.5]),
        spatial=spatial,
    )


@operators("InstanceNormalization")
def instance_normalization(c):
    x, per = channels(c, 3)
    c.single(
        c.value(x),
        c.value(per(0.5, 2), constant=0.7),
        c.value(per(), constant=0.7),
        epsilon=c.pick([None, c.uniform(1e-3, 1e-1)]),
    )


@operators("GroupNormalization")
def group_normalization(c):
    dtype = c.dtype()
    groups, each = c.int(1, 4), c.int(1, 5)
    x = c.numbers(dtype, [c.int(1, 3), groups * each, *c.extents(c.int(1, 3), limit=300, zero=0)])
    n = groups if c.version < 21 else groups * each
    own = TensorProto.DOUBLE if dtype == np.float64 else None
    if own and c.version < 21:
        raise teacher.Refused("works in float32")
    c.single(
        c.value(x),
        c.value(c.numbers(dtype, [n])),
        c.value(c.numbers(dtype, [n])),
        num_groups=groups,
        stash_type=own,
        epsilon=c.pick([None, c.uniform(1e-3, 1e-1)]),
    )


@operators("LayerNormalization", "RMSNormalization")
def layer_normalization(c):
    dtype = c.dtype()
    shape = c.shape(1, 4, zero=0)
    axis = c.axis(len(shape))
    tail = shape[axis:] if axis >= 0 else shape[len(shape) + axis :]
    if c.chance(0.3):
        axis, tail = None, shape[-1:]
    scale = c.value(c.numbers(dtype, tail), constant=0.7)
    epsilon = c.pick([None, c.uniform(1e-3, 1e-1)])
    if c.op == "RMSNormalization":
        c.single(c.value(c.numbers(dtype, shape)), scale, axis=axis, epsilon=epsilon)
        return
    bias = c.value(c.numbers(dtype, tail), constant=0.7) if c.chance(0.7) else None
    c.single(
        c.value(c.numbers(dtype, shape)),
        scale,
        bias,
        n=c.pick([1, 1, 1, 3]) if dtype == np.float32 else 1,
        axis=axis,
        epsilon=epsilon,
    )


@operators("LRN")
def lrn(c):
    x, _ = channels(c, 3, 5)
    c.single(
        c.value(x),
        size=c.pick([1, 3, 5, 7]),
        alpha=c.pick([None, c.uniform(1e-3, 1)]),
        beta=c.pick([None, c.uniform(0.3, 1)]),
        bias=c.pick([None, c.uniform(1, 2)]),
    )


@operators("LpNormalization")
def lp_normalization(c):
    a = c.numbers(c.dtype(), c.shape(1, 4, zero=0), 0.1, 3)
    c.single(c.value(a), axis=c.pick([None, c.axis(a.ndim)]), p=c.pick([None, 1, 2]))


@operators("MeanVarianceNormalization")
def mean_variance_normalization(c):
    a = c.numbers(c.dtype(), [c.int(2, 4), c.int(1, 6), c.int(2, 6), c.int(2, 6)])
    c.single(c.value(a), axes=c.pick([None, [0, 2, 3], [2, 3], [1, 2, 3], [0, 1, 2, 3]]))
