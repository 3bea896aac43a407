"""Single operators with windows, products and scales."""

import math

import numpy as np

from generators import operators

LARGE = [1, 7, 64, 100, 129, 250, 257, 384, 513]  # extents of products


def window(c, rank, pooling=False):
    """A geometry: extents of the input, attributes of the window."""
    kernel = [c.pick([1, 2, 3, 3, 3, 5, 7 if rank < 3 else 2]) for _ in range(rank)]
    strides = [c.pick([1, 1, 2, 3]) for _ in range(rank)] if c.chance(0.6) else None
    dilated = c.chance(0.3) and (not pooling or c.op == "MaxPool" and c.version >= 10 or c.version >= 19)
    dilations = [c.int(1, 3) for _ in range(rank)] if dilated else None
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations or [1] * rank)]
    attributes = {"kernel_shape": kernel, "strides": strides, "dilations": dilations}
    padded = [0] * rank
    way = c.pick(["none", "pads", "pads", "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
    if way == "pads":
        most = [k - 1 for k in kernel] if pooling else [2 * r for r in reach]
        pads = [[c.int(0, min(m, 3)) for m in most] for _ in range(2)]
        if c.chance(0.5):
            pads[1] = pads[0]
        attributes["pads"] = pads[0] + pads[1]
        padded = [a + b for a, b in zip(*pads)]
    elif way != "none":
        attributes["auto_pad"] = way
    cap = ([900, 60, 16] if c.large else [40, 16, 8])[rank - 1]
    spatial = [max(r - p, 1) + c.int(0, cap) for r, p in zip(reach, padded)]
    return spatial, attributes


def channel_counts(c):
    """Input channels, output channels, groups: dense, grouped, depthwise."""
    way = c.pick(["dense", "dense", "grouped", "depthwise", "multiplier"])
    if way == "dense":
        more = [48, 64, 100] if c.large else []
        return c.pick([1, 2, 3, 4, 7, 8, 16, 17, 24, *more]), c.pick([1, 2, 3, 5, 8, 15, 16, 17, 32, *more]), 1
    groups = c.pick([2, 3, 4, 5, 8, 16, 17])
    if way == "grouped":
        return groups * c.int(1, 4), groups * c.int(1, 4), groups
    return groups, groups * (1 if way == "depthwise" else c.int(2, 3)), groups


def sized(c, spatial, ch):
    return [c.pick([1, 1, 2, 3]), ch, *spatial]


@operators("Conv")
def conv(c):
    dtype, rank = c.dtype(), c.pick([1, 2, 2, 2, 3])
    spatial, attributes = window(c, rank)
    cin, cout, groups = channel_counts(c)
    kernel = attributes["kernel_shape"]
    w = c.numbers(dtype, [cout, cin // groups, *kernel]) / np.sqrt(dtype.type(math.prod(kernel) * cin // groups))
    bias = c.value(c.numbers(dtype, [cout]), constant=0.8) if c.chance(0.6) else None
    if c.chance(0.3):
        del attributes["kernel_shape"]
    c.single(
        c.value(c.numbers(dtype, sized(c, spatial, cin))),
        c.value(w.astype(dtype), constant=0.8),
        bias,
        group=groups if groups > 1 or c.chance(0.5) else None,
        **attributes,
    )


@operators("ConvTranspose")
def conv_transpose(c):
    dtype, rank = c.dtype(), c.pick([1, 2, 2, 3])
    _, attributes = window(c, rank)
    cin, cout, groups = channel_counts(c)
    kernel, strides = attributes["kernel_shape"], attributes["strides"] or [1] * rank
    dilations = attributes["dilations"] or [1] * rank
    spatial = [c.int(1, [12, 7, 4][rank - 1]) for _ in range(rank)]
    extra = [c.int(0, max(s, d) - 1) for s, d in zip(strides, dilations)] if c.chance(0.4) else None
    full = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(spatial, strides, kernel, dilations)]
    if "pads" in attributes:
        attributes["pads"] = [min(p, (f - 1) // 2) for p, f in zip(attributes["pads"], full * 2)]
    output_shape = None
    if c.chance(0.2):
        attributes.pop("pads", None)
        output_shape = [max(1, f - c.int(0, 2)) for f in full]
    w = (
        c.numbers(dtype, [cin, cout // groups, *kernel]) / np.sqrt(dtype.type(math.prod(kernel) * cin // groups))
    ).astype(dtype)
    bias = c.value(c.numbers(dtype, [cout]), constant=0.8) if c.chance(0.6) else None
    if "auto_pad" not in attributes and c.chance(0.3):
        del attributes["kernel_shape"]
    c.single(
        c.value(c.numbers(dtype, sized(c, spatial, cin))),
        c.value(w, constant=0.8),
        bias,
        group=groups if groups > 1 else None,
        output_padding=extra,
        output_shape=output_shape,
        **attributes,
    )


@operators("MaxPool", "AveragePool", "LpPool")
def pool(c):
    dtype, rank = c.dtype(), c.pick([1, 2, 2, 2, 3])
    spatial, attributes = window(c, rank, pooling=True)
    if c.version >= (18 if c.op == "LpPool" else 10):
        attributes["ceil_mode"] = c.pick([None, 0, 1])
    n = 1
    if c.op == "AveragePool" and c.version >= 7:
        attributes["count_include_pad"] = c.pick([None, 0, 1])
    elif c.op == "LpPool":
        attributes["p"] = c.pick([None, 1, 2, 3])
    elif c.op == "MaxPool":
        c.exact = True
        n = 2 if c.version >= 8 and c.chance(0.3) else 1
        attributes["storage_order"] = c.pick([None, 0, 1]) if n == 2 else None
    c.single(c.value(c.numbers(dtype, sized(c, spatial, c.pick([1, 2, 3, 8, 16, 17])))), n=n, **attributes)


@operators("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool")
def global_pool(c):
    shape = [c.int(1, 3), c.pick([1, 3, 8, 17]), *c.extents(c.int(1, 3), limit=500, zero=0)]
    c.exact = c.op == "GlobalMaxPool"
    p = c.pick([None, 1, 2, 3]) if c.op == "GlobalLpPool" else None
    c.single(c.value(c.numbers(c.dtype(), shape)), p=p)


@operators("MatMul")
def matmul(c):
    dtype = c.dtype()
    m, k, n = (c.pick(LARGE if c.large else [1, 1, 2, 3, 5, 8, 13, 16, 17, 31, 32, 33, 50, 64]) for _ in range(3))
    left, right = c.broadcast(2, 0, 3)
    left, right = ([min(d, 4) for d in s] for s in (left, right))
    a, b = [*left, m, k], [*right, k, n]
    if c.chance(0.1):
        a = [k]
    if c.chance(0.1):
        b = [k]
    if c.chance(0.03):
        a[-1] = b[-2 if len(b) > 1 else 0] = 0
    scale = dtype.type(1 / math.sqrt(k)) if dtype.kind == "f" else 1
    c.exact = dtype.kind != "f"
    c.single(c.value((c.numbers(dtype, a) * scale).astype(dtype)), c.value(c.numbers(dtype, b), constant=0.5))


@operators("Gemm")
def gemm(c):
    dtype = c.dtype()
    m, k, n = (c.pick(LARGE if c.large else [1, 2, 3, 5, 8, 14, 16, 17, 31, 32, 40, 65]) for _ in range(3))
    ta, tb = c.pick([None, 0, 1]), c.pick([None, 0, 1])
    a, b = [k, m] if ta else [m, k], [n, k] if tb else [k, n]
    bias = c.pick([[n], [n], [1, n], [m, 1], [m, n], [1], []])
    optional = c.version >= 11 and c.chance(0.2)
    scale = dtype.type(1 / math.sqrt(k))
    c.single(
        c.value((c.numbers(dtype, a) * scale).astype(dtype)),
        c.value(c.numbers(dtype, b), constant=0.6),
        None if optional else c.value(c.numbers(dtype, bias), constant=0.6),
        alpha=c.pick([None, 1.0, 0.5, c.uniform(-1, 1)]),
        beta=c.pick([None, 1.0, 0.0, c.uniform(-1, 1)]),
        transA=ta,
        transB=tb,
    )


def targets(c, shape):
    """Factors of a scaling whose results are whole and do not touch a rounding boundary."""
    factors = [1.0, 1.0, *(c.pick([1.0, 2.0, 2.0, 3.0, 0.5, 1.5]) for _ in shape[2:])]
    return factors, [int(math.floor(d * f)) for d, f in zip(shape, factors)]


@operators("Upsample")
def upsample(c):
    dtype = c.dtype()
    mode = c.pick([None, "nearest", "linear"])
    shape = [c.int(1, 2), c.int(1, 5), *(c.int(1, 7) for _ in range(c.pick([1, 2, 2, 3]) if mode != "linear" else 2))]
    scales = [1.0, 1.0, *(c.pick([1.0, 2.0, 3.0]) for _ in shape[2:])]
    x = c.value(c.numbers(dtype, shape))
    if c.version < 9:
        c.single(x, scales=scales, mode=mode)
    else:
        c.single(x, c.operand(np.array(scales, np.float32)), mode=mode)


@operators("Resize")
def resize(c):
    dtype = c.dtype()
    mode = c.pick(["nearest", "nearest", "linear", "linear"] + (["cubic"] if c.version >= 11 else []))
    rank = 2 if mode == "cubic" else c.pick([1, 2, 2, 2, 3])
    shape = [c.int(1, 2), c.int(1, 5), *(c.int(2, 8) for _ in range(rank))]
    factors, sizes = targets(c, shape)
    sizes = [max(1, s) for s in sizes]
    x = c.value(c.numbers(dtype, shape))
    if c.version < 11:
        c.single(x, c.operand(np.array(factors, np.float32)), mode=c.pick([mode, mode]))
        return
    transforms = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]
    transforms += ["half_pixel_symmetric"] if c.version >= 19 else []
    transform = c.pick([None, *transforms])
    attributes = {"mode": mode, "coordinate_transformation_mode": transform}
    if mode == "nearest":
        attributes["nearest_mode"] = c.pick([None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic":
        attributes["cubic_coeff_a"] = c.pick([None, -0.5])
        attributes["exclude_outside"] = c.pick([None, 0, 1])
    if c.version >= 18 and mode != "nearest" and c.chance(0.3):
        attributes["antialias"] = 1
    axes = None
    if c.version >= 18 and c.chance(0.3):
        axes = list(range(2, len(shape)))
        attributes["axes"] = axes
        factors, sizes = factors[2:], sizes[2:]
        if c.chance(0.3):
            attributes["keep_aspect_ratio_policy"] = c.pick(["stretch", "not_larger", "not_smaller"])
    roi = None
    if transform == "tf_crop_and_resize":
        n = len(sizes)
        lead = 0 if axes else 2
        start = [0.0] * lead + [c.pick([0.0, 0.125, 0.25]) for _ in range(n - lead)]
        end = [1.0] * lead + [c.pick([1.0, 0.875, 0.75]) for _ in range(n - lead)]
        roi = c.const(np.array(start + end, np.float32))
        attributes["extrapolation_value"] = c.pick([None, 0.5])
    elif c.version < 13 or c.chance(0.2):
        roi = c.const(np.zeros(0, np.float32))
    if "keep_aspect_ratio_policy" in attributes or c.chance(0.5):
        scales = None if c.version >= 13 else c.const(np.zeros(0, np.float32))
        c.single(x, roi, scales, c.ints(*sizes), **attributes)
    else:
        c.single(x, roi, c.operand(np.array(factors, np.float32)), **attributes)
