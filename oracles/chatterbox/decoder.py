"""The graph conditional_decoder: codes of speech to bands by conformer blocks and a flow, and bands to a waveform."""

import numpy as np

from graph import F, Graph
from language import CODES
from vocoder import waveform

BANDS, SPEAKER = 80, 192


def conditional_decoder(size, folder, precision, seed):
    g = Graph(folder, "conditional_decoder", precision, 20, seed)
    tokens = g.input("speech_tokens", np.int64, ["batch_size", "num_speech_tokens"])
    speaker = g.input("speaker_embeddings", F, ["batch_size", SPEAKER])
    features = g.input("speaker_features", F, ["batch_size", "feature_dim", BANDS])
    speaker = g.rounded(speaker)
    features = g.cast(features, g.half)
    prompt = g.extent(features, 1)
    length = g.ReduceL2(speaker, [1], keepdims=1)
    speaker = g.linear(g.Div(speaker, g.Max(length, 1e-6)), SPEAKER, BANDS)

    codes = g.Gather(g.weight(CODES, size.conformer, scale=1), g.Max(tokens, [0]))
    mean = g.turned(g.linear(conformer(g, size, codes), size.conformer, BANDS))
    frames = g.extent(mean, 2)
    silence = g.Concat([0, 0, 0, 0], g.Sub(frames, prompt), [0], axis=0)
    given = g.turned(g.Pad(features, silence, 0.0))
    x = flow(g, size, mean, speaker, given)
    bands = g.Slice(x, prompt, frames, [2])
    g.output(waveform(g, size, bands), "waveform", F, ["batch_size", "num_samples"])
    g.save()


# The conformer.


def conformer(g, size, x):
    """[batch, rows, width] at 25 rows a second to 50 rows a second."""
    width = size.conformer
    scale = float(np.sqrt(width))
    x = g.Mul(g.norm(g.linear(x, width, width), width), scale)
    y = g.LeakyRelu(g.conv(g.turned(x), width, width, 4, pads=(0, 3)), alpha=0.01)
    x = g.Add(x, g.turned(g.conv(y, width, width, 3, pads=(2, 0))))
    table = g.stored(distances(size.frames, width).astype(g.floats))
    places = g.Slice(table, *around(g, size.frames, x), [1])
    for _ in range(6):
        x = block(g, size, x, places)
    twice = g.Resize(g.turned(x), "", np.array([1, 1, 2], F), mode="nearest", nearest_mode="floor")
    x = g.turned(g.conv(twice, width, width, 5, pads=(4, 0)))
    x = g.Mul(g.norm(g.linear(x, width, width), width), scale)
    places = g.Slice(table, *around(g, size.frames, x), [1])
    for _ in range(4):
        x = block(g, size, x, places)
    return g.norm(x, width)


def distances(frames, width):
    """Sines and cosines of the distances frames - 1 to 1 - frames."""
    at = np.arange(frames - 1, -frames, -1)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(at), np.cos(at)], -1).reshape(1, -1, width)


def around(g, frames, x):
    """The part of the distances that x has: from n - 1 to 1 - n."""
    rows = g.extent(x, 1)
    return g.Sub([frames], rows), g.Add(rows, [frames - 1])


def block(g, size, x, places):
    """A block of a conformer without convolution: attention with relative positions, then two layers."""
    width, heads = size.conformer, size.conformer_heads
    wide = width // heads
    y = g.norm(x, width)
    q, k, v = (g.linear(y, width, width) for _ in range(3))
    p = g.linear(places, width, width, bias=False)
    q = g.Reshape(q, [0, 0, heads, wide])
    by_content, by_place = (
        g.Transpose(g.Add(q, g.weight(heads, wide, scale=0.1)), perm=[0, 2, 1, 3]) for _ in range(2)
    )
    content = g.MatMul(by_content, g.heads(k, heads, wide, (0, 2, 3, 1)))
    place = shifted(g, g.MatMul(by_place, g.heads(p, heads, wide, (0, 2, 3, 1))))
    scores = g.Mul(g.Add(content, place), float(wide**-0.5))
    y = g.MatMul(g.Softmax(scores, axis=-1), g.heads(v, heads, wide))
    x = g.Add(x, g.linear(g.joined(y, width), width, width, gain=0.5))
    y = g.linear(g.norm(x, width), width, 4 * width)
    return g.Add(x, g.linear(g.Mul(y, g.Sigmoid(y)), 4 * width, width, gain=0.5))


def shifted(g, x):
    """Scores [.., n, 2n - 1] by distance as scores [.., n, n] by row: row i begins i places further left."""
    rows = g.extent(x, 2)
    x = g.Pad(x, [0, 0, 0, 1, 0, 0, 0, 0], 0.0)
    x = g.Reshape(x, g.Concat([0, 0, -1], rows, axis=0))
    x = g.part(x, 1, np.iinfo(np.int64).max, 2)
    x = g.Reshape(x, g.Concat([0, 0], rows, [-1], axis=0))
    return g.Slice(x, [0], rows, [3])


# The flow.


def flow(g, size, mean, speaker, given):
    """Two steps from noise to bands, each along a mean velocity from one time to another. They share their weights."""
    x = g.RandomNormalLike(mean, mean=0.0, scale=size.noise, seed=1.0)
    spread = g.Expand(g.Unsqueeze(speaker, [2]), g.Shape(mean))
    names = g.record()
    for start, end in ((0.0, 0.5), (0.5, 1.0)):
        together = g.Concat(x, mean, spread, given, axis=1)
        x = g.Add(x, g.Mul(velocity(g, size, together, start, end), end - start))
        g.replay(names)
    g.replay(None)
    return x


def velocity(g, size, x, start, end):
    """The velocities of the bands x [batch, 4 * BANDS, frames]: a U-Net of two levels of one length."""
    width = size.flow
    time = g.linear(g.Concat(moment(g, start, 4 * width), moment(g, end, 4 * width), axis=-1), 8 * width, 4 * width)
    x = stage(g, size, x, 4 * BANDS, time, size.flow_blocks)
    skip = x
    x = causal(g, x, width, width)
    for _ in range(size.flow_middle):
        x = stage(g, size, x, width, time, size.flow_blocks)
    x = stage(g, size, g.Concat(x, skip, axis=1), 2 * width, time, size.flow_blocks)
    x = causal_block(g, causal(g, x, width, width), width, width)
    return g.conv(x, width, BANDS, 1)


def moment(g, time, width):
    """The embedding of a time."""
    half = 2 * BANDS
    angles = 1000 * time * np.exp(np.arange(half) * -np.log(10000) / (half - 1))
    y = g.linear(np.concatenate([np.sin(angles), np.cos(angles)])[None].astype(g.floats), 2 * half, width)
    return g.linear(g.Mul(y, g.Sigmoid(y)), width, width)


def causal(g, x, n_in, n_out):
    return g.conv(x, n_in, n_out, 3, pads=(2, 0))


def causal_block(g, x, n_in, n_out):
    return mish(g, g.turned(g.norm(g.turned(causal(g, x, n_in, n_out)), n_out)))


def mish(g, x):
    return g.Mul(x, g.Tanh(g.Softplus(x)))


def stage(g, size, x, n_in, time, blocks):
    """A residual block of convolutions, and blocks of a transformer."""
    width, inner = size.flow, size.flow_heads * size.flow_head
    y = causal_block(g, x, n_in, width)
    y = g.Add(y, g.Unsqueeze(g.linear(mish(g, time), 4 * width, width), [2]))
    y = causal_block(g, y, width, width)
    x = g.turned(g.Add(y, g.conv(x, n_in, width, 1)))
    for _ in range(blocks):
        y = g.norm(x, width)
        q = g.heads(g.linear(y, width, inner, bias=False), size.flow_heads, size.flow_head)
        k = g.heads(g.linear(y, width, inner, bias=False), size.flow_heads, size.flow_head, (0, 2, 3, 1))
        v = g.heads(g.linear(y, width, inner, bias=False), size.flow_heads, size.flow_head)
        scores = g.Mul(g.MatMul(q, k), float(size.flow_head**-0.5))
        y = g.joined(g.MatMul(g.Softmax(scores, axis=-1), v), inner)
        x = g.Add(x, g.linear(y, inner, width, gain=0.5))
        y = g.Gelu(g.linear(g.norm(x, width), width, 4 * width))
        x = g.Add(x, g.linear(y, 4 * width, width, gain=0.5))
    return g.turned(x)
