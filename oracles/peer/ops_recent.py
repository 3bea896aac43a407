"""Operators that ONNX Runtime added for recent networks, and some that the standard withdrew."""

import numpy as np

from generators import microsoft, withdrawn


def narrow(c):
    """A type of floats."""
    return c.pick([np.float32, np.float32, np.float16])


def floats(c, dtype, *shape):
    return c.value(c.numbers(np.float32, list(shape)).astype(dtype))


@microsoft("GatedAdd")
def gated_add(c):
    shape, d = c.shape(1, 4, zero=0), narrow(c)
    c.single(floats(c, d, *shape), floats(c, d, *shape), floats(c, d, *shape[:-1], 1))


@microsoft("ScaledSiLU")
def scaled_silu(c):
    d = narrow(c)
    scale = c.value(np.asarray(c.uniform(0.3, 2), np.float32)) if c.chance(0.4) else None
    c.single(floats(c, d, *c.shape(1, 4)), scale, alpha=c.pick([None, 0.5]))


@microsoft("GatedRMSNorm")
def gated_rms_norm(c):
    d, group = narrow(c), c.pick([1, 3, 8, 17, 64])
    shape = [*c.extents(c.int(0, 2), limit=60, zero=0), group * c.int(1, 4)]
    activation = c.pick([None, "silu", "swish", "sigmoid"])
    c.single(
        floats(c, d, *shape),
        floats(c, d, group),
        floats(c, d, *shape),
        activation=activation,
        epsilon=c.pick([None, 1e-3]),
    )


def streams(c):
    """The extents of streams, as grouped or flat axes, and the attribute that says how many."""
    outer, count, n = c.extents(c.int(0, 2), limit=40, zero=0), c.int(1, 5), c.pick([1, 3, 8, 17])
    flat = c.chance(0.5)
    return outer, count, n, [*outer, count * n] if flat else [*outer, count, n], count if flat else None


@microsoft("BranchwiseRMSNorm")
def branch_rms_norm(c):
    _, count, n, shape, branches = streams(c)
    scale = c.pick([None, [count * n], [count, n], [n]])
    c.single(
        floats(c, narrow(c), *shape),
        scale and floats(c, np.float32, *scale),
        num_branches=branches,
        epsilon=c.pick([None, 1e-2]),
    )


@microsoft("HyperConnectionPreMix")
def pre_mix(c):
    outer, count, n, shape, branches = streams(c)
    mix = c.pick([[count], [count, 1], [count, n]] + ([[count * n]] if branches else []))
    c.single(
        floats(c, narrow(c), *shape),
        floats(c, np.float32, *outer, *mix),
        num_branches=branches,
        reduction_scale=c.pick([None, 0.5]),
    )


@microsoft("HyperConnectionPostMix")
def post_mix(c):
    outer, count, n, shape, branches = streams(c)
    d, mix = narrow(c), c.pick([[count], [count, 1], [count, n]])
    rest = [floats(c, np.float32, *outer, count, count)] if c.chance(0.6) else []
    c.single(
        floats(c, d, *shape), floats(c, d, *outer, n), floats(c, np.float32, *outer, *mix), *rest, num_branches=branches
    )


@microsoft("LinearAttentionGate")
def linear_gate(c):
    d, heads = narrow(c), c.int(1, 9)
    shape = [c.int(1, 3), c.int(1, 7), heads]
    ins = [floats(c, d, *shape), floats(c, np.float32, heads), floats(c, np.float32, heads)]
    if c.chance(0.6):
        c.single(*ins, floats(c, d, *shape), n=2)
    else:
        c.single(*ins)


@microsoft("EngramGate")
def engram_gate(c):
    d, batch, rows, count, n = narrow(c), c.int(1, 3), c.int(1, 5), c.int(1, 3), c.pick([1, 4, 8, 17])
    ins = [floats(c, d, batch, rows, count, n), floats(c, d, batch, rows, count, n), floats(c, d, batch, rows, n)]
    ins += [floats(c, d, count, n), floats(c, d, count, n)]
    if c.chance(0.6):
        c.single(*ins, floats(c, d, count, n), n=2, epsilon=c.pick([None, 1e-3]))
    else:
        c.single(*ins)


@microsoft("MRotaryEmbedding")
def sections(c):
    d, batch, rows, heads, pairs, most = narrow(c), c.int(1, 3), c.int(1, 6), c.int(1, 4), c.pick([3, 4, 8, 12]), 20
    t = c.int(0, pairs)
    h = c.int(0, pairs - t)
    split = [t, h, pairs - t - h]
    partial = c.chance(0.4)
    size = 2 * pairs + (8 if partial else 0)
    more = {"num_heads": heads, "rotary_embedding_dim": 2 * pairs} if partial else {}
    shape = [batch, heads, rows, size] if c.chance(0.4) else [batch, rows, heads * size]
    if len(shape) == 3 and not partial and c.chance(0.5):
        more["num_heads"] = heads
    layout = c.int(0, 1)
    if layout == 1:
        split = sorted(split, reverse=True)
    angles = c.rng.uniform(0, 6.28, (most, pairs))
    c.single(
        floats(c, d, *shape), c.value(c.numbers(np.int64, [3, batch, rows], low=0, high=most - 1)),
        c.value(np.cos(angles).astype(d)), c.value(np.sin(angles).astype(d)),
        mrope_section=split, mrope_layout=layout, interleaved=c.int(0, 1), **more,
    )  # fmt: skip


@microsoft("UnfoldTensor")
def unfold(c):
    shape = c.shape(1, 4, zero=0)
    axis = c.axis(len(shape))
    x = c.numbers(c.pick([np.float32, np.int64, np.uint8]), shape)
    c.exact = True
    c.single(c.value(x), dim=axis, size=c.int(1, shape[axis]), step=c.pick([None, 1, 2, 3]))


@microsoft("SampleOp")
def sample(c):
    c.exact = True
    c.single(floats(c, np.float32, *c.shape(0, 4)))


@microsoft("MatMulInteger16")
def matmul_integer16(c):
    c.exact = True
    m, k, n, batch = c.int(1, 9), c.int(1, 9), c.int(1, 9), [min(d, 3) for d in c.shape(0, 2, zero=0)]
    c.single(
        c.value(c.numbers(np.int16, [*batch, m, k], low=-300, high=300)),
        c.value(c.numbers(np.int16, [k, n] if c.chance(0.5) else [*batch, k, n], low=-300, high=300)),
    )


@microsoft("MurmurHash3")
def murmur(c):
    c.exact = True
    d = c.pick([np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64, object])
    c.single(
        c.value(c.numbers(d, c.shape(0, 3), low=0 if d in (np.uint32, np.uint64) else None)),
        positive=c.pick([None, 0, 1]),
        seed=c.pick([None, 7, 2**31 + 5]),
    )


def groups(c):
    most, heads = c.int(2, 5), c.int(1, 3)
    return most, heads, c.pick([np.int32, np.int64])


def hashed(c, d, most, heads):
    wide = 2**20 if d == np.int32 else 2**40
    return [
        c.value(c.rng.integers(-wide, wide, most + c.int(0, 2)).astype(d)),
        c.value(c.rng.integers(1, 1000, (most - 1) * heads).astype(d)),
    ]


def history(c, d, most, heads, batch):
    past = c.value(c.numbers(d, [batch, most - 1], low=0, high=6)) if c.chance(0.5) else None
    offsets = c.value(c.numbers(d, [(most - 1) * heads], low=0, high=5000)) if c.chance(0.5) else None
    eos = c.value(np.asarray(c.int(0, 4), d)) if c.chance(0.6) else None
    return [past, offsets, eos]


@microsoft("NGramHashMapping")
def ngrams(c):
    c.exact = True
    most, heads, d = groups(c)
    batch, rows = c.int(1, 3), c.int(1, 8)
    ids = c.value(c.numbers(d, [batch, rows], low=0, high=6))
    segments = c.value(np.sort(c.rng.integers(0, 3, (batch, rows))).astype(np.int32)) if c.chance(0.5) else None
    c.single(
        ids, *hashed(c, d, most, heads), *history(c, d, most, heads, batch), segments, n=2,
        max_ngram_size=most, n_head_per_ngram=heads, pad_id=c.int(0, 9), reset_on_eos=c.pick([None, 1]),
    )  # fmt: skip


@microsoft("VarlenNGramHashMapping")
def varlen_ngrams(c):
    c.exact = True
    most, heads, d = groups(c)
    lengths = c.rng.integers(1, 6, c.int(1, 3))
    batch, total = len(lengths), int(lengths.sum())
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    ids = c.value(c.numbers(d, [total], low=0, high=6))
    capacity = c.pick([None, None, 1, 4])
    rest = [c.value(np.sort(c.rng.integers(0, 3, total)).astype(np.int32)) if c.chance(0.5) else None]
    rest.append(c.value(c.numbers(np.int32, [batch, most - 1], low=0, high=2)) if rest[0] and c.chance(0.5) else None)
    rest.append(c.value(c.numbers(np.int32, [batch], low=0, high=5)) if capacity else None)
    outputs = 4 if capacity else 3 if rest[1] else 2
    names = c.node(
        "VarlenNGramHashMapping", ids, *hashed(c, d, most, heads), c.value(starts), *history(c, d, most, heads, batch), *rest, n=outputs, domain=c.domain,
        max_ngram_size=most, n_head_per_ngram=heads, pad_id=c.int(0, 9), reset_on_eos=c.pick([None, 1]), state_update_capacity=capacity,
    )  # fmt: skip
    if capacity and not rest[1]:
        c.nodes[-1].output[2] = ""
        names = [names[0], names[1], names[3]]
    c.output(*names)


@microsoft("BifurcationDetector")
def bifurcation(c):
    c.exact = True
    n, words = c.int(1, 9), c.int(1, 4)
    source = c.numbers(np.int64, [n], low=0, high=words)
    at = c.int(0, n)
    rest = []
    if c.chance(0.7):
        predicted = np.append(source[at:], c.int(0, words))
        predicted[c.int(0, len(predicted) - 1)] = c.int(0, words)
        rest = [c.value(predicted)]
    least = c.int(1, 3)
    c.single(
        c.value(source), c.value(c.numbers(np.int64, [c.int(1, 7)], low=0, high=words)), c.value(np.array([at], np.int64)), *rest,
        n=2, min_ngram_size=least, max_ngram_size=least + c.int(0, 3),
    )  # fmt: skip


@microsoft("DynamicTimeWarping")
def warp(c):
    c.exact = True
    shape = [c.int(1, 9), c.int(1, 9)]
    x = c.rng.integers(-3, 4, shape) if c.chance(0.5) else c.rng.standard_normal(shape)
    c.single(c.value((x if c.chance(0.5) else x[None]).astype(np.float32)))


@microsoft("WordConvEmbedding")
def words(c):
    count, most, window, size, filters, characters = c.int(1, 5), c.int(3, 9), c.int(1, 3), c.int(1, 9), c.int(1, 9), 7
    ids = c.numbers(np.int32, [count, most], low=1, high=characters - 1)
    for row in ids:
        row[c.int(1, most) :] = 0
    ids = c.value(ids)
    c.single(
        ids,
        floats(c, np.float32, filters, 1, window, size),
        floats(c, np.float32, filters),
        floats(c, np.float32, characters, size),
    )


@microsoft("CropAndResize")
def crop_resize(c):
    batch, channels, height, width, count = c.int(1, 3), c.int(1, 3), c.int(2, 9), c.int(2, 9), c.int(1, 4)
    rois = c.rng.uniform(-0.2, 1.2, (count, 4)).astype(np.float32)
    c.single(
        floats(c, np.float32, batch, channels, height, width), c.value(rois), c.value(c.numbers(np.int32, [count], low=0, high=batch - 1)),
        c.operand(np.array([c.int(1, 5), c.int(1, 5)], np.int32)), mode=c.pick([None, "bilinear", "nearest"]), extrapolation_value=c.pick([None, 2.0]),
    )  # fmt: skip


@microsoft("MaxpoolWithMask")
def masked_pool(c):
    batch, channels = c.int(1, 3), c.int(1, 3)
    spatial = [c.int(3, 8) for _ in range(c.int(1, 3))]
    kernel = [c.int(1, 3) for _ in spatial]
    # The mask is the same for all planes, as the teacher reads beyond it otherwise.
    mask = np.broadcast_to(c.numbers(np.int32, [1, 1, *spatial], low=0, high=1), [batch, channels, *spatial]).copy()
    c.single(
        floats(c, np.float32, batch, channels, *spatial),
        c.value(mask),
        kernel_shape=kernel,
        strides=[c.int(1, 2) for _ in spatial],
    )


@microsoft("ConvTransposeWithDynamicPads")
def padded_transpose(c):
    groups, per, filters, axes = c.pick([1, 1, 2]), c.int(1, 3), c.int(1, 3), c.int(1, 2)
    spatial, kernel = [c.int(1, 6) for _ in range(axes)], [c.int(2, 3) for _ in range(axes)]
    x, w = (
        floats(c, np.float32, c.int(1, 2), groups * per, *spatial),
        floats(c, np.float32, groups * per, filters, *kernel),
    )
    pads = c.ints(*[c.int(0, 0 if n == 1 else 1) for n in spatial * 2])
    bias = floats(c, np.float32, groups * filters) if c.chance(0.5) else None
    c.single(x, w, pads, bias, group=groups, kernel_shape=kernel, strides=[c.int(1, 3) for _ in spatial])


@microsoft("QEmbedLayerNormalization")
def embed(c):
    batch, rows, n, words, d = c.int(1, 3), c.int(1, 6), c.pick([1, 3, 8, 17]), 9, c.pick([np.uint8, np.int8])
    segments = c.chance(0.6)

    def table(*shape):
        return c.const(c.rng.integers(np.iinfo(d).min, np.iinfo(d).max + 1, shape).astype(d))

    def ids(most):
        return c.input(c.numbers(np.int32, [batch, rows], low=0, high=most - 1), symbolic=False)

    def scales():
        return [c.value(np.asarray(c.uniform(0.01, 0.1), np.float32)) if segments or i != 2 else None for i in range(5)]

    zeros = [
        c.value(np.asarray(c.int(-5, 5) + (128 if d == np.uint8 else 0), d)) if segments or i != 2 else None
        for i in range(5)
    ]
    mask = c.value(c.numbers(np.int32, [batch, rows], low=0, high=1)) if c.chance(0.6) else None
    c.single(
        ids(words), segments and ids(2) or None, table(words, n), table(rows + c.int(0, 3), n), table(2, n) if segments else None, table(n), table(n), mask,
        *scales(), *zeros, n=2, epsilon=c.pick([None, 1e-5]),
    )  # fmt: skip


@microsoft("AttnLSTM")
def attention_lstm(c):
    steps, batch, size, hidden, keys, memory, depth = (c.int(1, 6) for _ in range(7))
    d, project = c.pick([np.float32, np.float64]), c.chance(0.5)
    width = c.int(1, 5) if project else depth
    direction = c.pick([None, "forward", "reverse", "bidirectional"])
    n = 2 if direction == "bidirectional" else 1

    def numbers(*shape):
        return c.value(c.numbers(np.float64, list(shape)).astype(d))

    def lengths(most):
        return c.value(c.numbers(np.int32, [batch], low=1, high=most))

    c.single(
        numbers(steps, batch, size), numbers(n, 4 * hidden, size + width), numbers(n, 4 * hidden, hidden), numbers(n, 8 * hidden), lengths(steps),
        numbers(n, batch, hidden), numbers(n, batch, hidden), numbers(n, 3 * hidden), numbers(n, hidden, keys), numbers(n, depth, keys), numbers(n, keys),
        numbers(batch, memory, depth), lengths(memory), numbers(n, depth + hidden, width) if project else None, n=3, hidden_size=hidden, direction=direction,
    )  # fmt: skip


def block_layouts(c, blocks, layouts):
    """Blocks that each row of blocks sees, at least those of its own, as compressed rows."""
    seen = np.tril(c.rng.integers(0, 2, (layouts, blocks, blocks))) | np.eye(blocks, dtype=int)
    rows = np.concatenate([np.zeros((layouts, 1), int), np.cumsum(seen.sum(2), 1)], 1)
    columns = [np.nonzero(layout)[1] for layout in seen]
    most = max(len(list_) for list_ in columns)
    return rows.astype(np.int32), np.array(
        [np.append(list_, [-1] * (most - len(list_))) for list_ in columns], np.int32
    )


@microsoft("SparseAttention")
def sparse_attention(c):
    batch, kv, share, size, block, room = c.int(1, 2), c.int(1, 2), c.int(1, 2), 16, 16, 64
    heads = kv * share
    rows, columns = block_layouts(c, room // block, c.pick([1, heads]))
    # The teacher reads scores of shorter sequences from the wrong places, so all are equally long.
    total = c.int(2, 40)
    tokens = total if c.chance(0.5) else 1
    packed, rotary = c.chance(0.4), c.int(0, 1)

    def numbers(*shape):
        return c.input(c.numbers(np.float32, list(shape)), symbolic=False)

    kinds = (
        [numbers(batch, tokens, (heads + 2 * kv) * size), None, None]
        if packed
        else [numbers(batch, tokens, n * size) for n in (heads, kv, kv)]
    )
    past = [numbers(batch, kv, room, size) for _ in range(2)]
    angles = c.rng.uniform(0, 6.28, (room, size // 2)).astype(np.float32)
    caches = [c.const(np.cos(angles)), c.const(np.sin(angles))] if rotary else []
    names = c.single(
        *kinds, *past, c.const(rows), c.const(columns), c.input(np.array(total, np.int32)), c.input(np.full(batch, total, np.int32)), *caches,
        n=3, num_heads=heads, kv_num_heads=kv, sparse_block_size=block, do_rotary=rotary, rotary_interleaved=c.int(0, 1),
    )  # fmt: skip
    c.shared = dict(zip(names[1:], past))


@microsoft("MatMulFpQ4")
def matmul_fpq4(c):
    m, k, n, kind = c.int(1, 9), c.int(1, 80), c.int(1, 9), c.int(0, 1)
    blocks = -(-k // 32)
    data = c.rng.integers(0, 256, (n, blocks, 20 + kind)).astype(np.uint8)
    if kind:
        data[:, :, 4] %= 16  # the teacher subtracts zero points in eight bits
    data[:, :, :4] = c.rng.uniform(0.01, 0.1, (n, blocks, 1)).astype(np.float32).view(np.uint8)
    c.single(
        floats(c, np.float32, *c.pick([[m, k], [2, m, k]])),
        c.const(data.ravel()),
        c.const(np.array([k, n], np.int64)),
        blk_quant_type=kind,
    )


@microsoft("DecoderMaskedMultiHeadAttention")
def decoder_attention(c):
    # Without beams: the teacher's CPU reads other places than those that cache_indirection names.
    batch, heads, size, room = c.int(1, 3), c.int(1, 3), c.pick([4, 8]), c.int(4, 12)
    hidden, past = heads * size, c.int(1, room - 1)

    def numbers(*shape):
        return c.input(c.numbers(np.float32, list(shape)), symbolic=False)

    def mask(total):
        m = c.numbers(np.int32, [batch, total], low=0, high=1)
        m[:, 0] = 1
        return c.input(m, symbolic=False)

    scores = c.pick([None, 1])
    if c.chance(0.3):  # over an encoder
        keys = [numbers(batch, heads, past, size) for _ in range(2)]
        ins = [numbers(batch, 1, hidden), *keys, mask(past) if c.chance(0.5) else None]
        names = c.node(
            "DecoderMaskedMultiHeadAttention",
            *ins,
            n=4 if scores else 1,
            domain=c.domain,
            num_heads=heads,
            output_qk=scores,
        )
        if scores:
            c.nodes[-1].output[1] = c.nodes[-1].output[2] = ""
            names = [names[0], names[3]]
        c.output(*([names] if isinstance(names, str) else names))
        return
    total = past + 1
    pasts = [numbers(batch, heads, room, size) for _ in range(2)]
    rest = [None, None, numbers(3 * hidden) if c.chance(0.5) else None]
    masked, biased = c.chance(0.5), c.chance(0.4)
    ins = [
        mask(total) if masked else None,
        numbers(batch, heads, 1, total) if biased else None,
        *pasts,
        c.input(np.array([past], np.int32)),
        *rest,
    ]
    names = c.single(
        *[numbers(batch, 1, hidden) for _ in range(3)], *ins, n=4 if scores else 3, num_heads=heads, past_present_share_buffer=1, output_qk=scores,
        mask_filter_value=c.pick([None, -1000.0]),
    )  # fmt: skip
    c.shared = dict(zip(names[1:], pasts))


@withdrawn("Affine", "ParametricSoftplus", "ScaledTanh")
def two_numbers(c):
    c.single(floats(c, np.float32, *c.shape(1, 4)), alpha=c.uniform(0.3, 2), beta=c.uniform(0.3, 2))


@withdrawn("Scale")
def scale(c):
    c.single(floats(c, np.float32, *c.shape(1, 4)), scale=c.pick([None, 0.5]))


@withdrawn("ImageScaler")
def image_scaler(c):
    channels = c.int(1, 4)
    c.single(
        floats(c, np.float32, c.int(1, 2), channels, c.int(1, 5), c.int(1, 5)),
        scale=c.pick([None, 0.5]),
        bias=[c.uniform(-1, 1) for _ in range(channels)],
    )


@withdrawn("Crop")
def crop(c):
    height, width, border = c.int(4, 9), c.int(4, 9), [c.int(0, 2) for _ in range(4)]
    scale = [c.int(1, height - border[1]), c.int(1, width - border[0])] if c.chance(0.5) else None
    c.exact = True
    c.single(floats(c, np.float32, c.int(1, 2), c.int(1, 3), height, width), border=border, scale=scale)


@withdrawn("DynamicSlice")
def dynamic_slice(c):
    shape = c.shape(1, 4, zero=0)
    axes = c.sample(list(range(len(shape))), c.int(1, len(shape)))
    starts, ends = (
        [c.int(-d, d) for d in (shape[a] for a in axes)],
        [c.int(-d, d + 3) for d in (shape[a] for a in axes)],
    )
    c.exact = True
    c.single(floats(c, np.float32, *shape), c.ints(*starts), c.ints(*ends), c.ints(*axes))
