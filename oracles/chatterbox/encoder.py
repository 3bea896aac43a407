"""The graph speech_encoder: a reference voice to the conditions of the other graphs."""

import numpy as np

from decoder import BANDS, SPEAKER
from graph import F, Graph
from language import CODES
from vocoder import RATE, hann

LISTENED = 16000
SECONDS = 10  # of the voice that are used


def speech_encoder(size, folder, precision, seed):
    g = Graph(folder, "speech_encoder", precision, 20, seed)
    sound = g.input("audio_values", F, ["batch_size", "num_samples"])
    sound = g.part(sound, 0, SECONDS * RATE, 1)
    slow = resampled(g, sound)
    codes = tokens(g, size, slow)
    features = g.turned(bands(g, sound, RATE, 1920, 480, BANDS, 0, RATE // 2, (720, 720)))
    rows = g.Min(g.extent(codes, 1), g.Div(g.extent(features, 1), [2]))
    codes = g.Slice(codes, [0], rows, [1])
    features = g.Slice(features, [0], g.Mul(rows, [2]), [1])
    heard = g.Log(g.Add(bands(g, slow, LISTENED, 400, 160, 80, 20, LISTENED // 2, (200, 200)), 1e-6))
    speaker = g.exact(speaker_embedding(g, size, g.rounded(heard)))
    voice = voice_embedding(g, size, heard)
    first = g.Unsqueeze(g.linear(voice, size.voice, size.width), [1])
    said = g.Gather(g.weight(CODES, size.width, scale=1), codes)
    shape = ["batch_size", "sequence_length", size.width]
    g.output(g.Concat(first, said, axis=1), "audio_features", F, shape)
    g.output(codes, "audio_tokens", np.int64, ["batch_size", "audio_sequence_length"])
    g.output(speaker, "speaker_embeddings", F, ["batch_size", SPEAKER])
    g.output(features, "speaker_features", F, ["batch_size", "feature_dim", BANDS])
    g.save()


def resampled(g, x):
    """24 kHz to 16 kHz: filters for the two places of a sample among three."""
    width, scale = 7, 0.99
    at = np.arange(-width, width + 3)[None] / 3 - np.arange(2)[:, None] / 2
    t = np.clip(at * 2 * scale, -6, 6)
    w = np.sinc(t) * np.cos(t * np.pi / 12) ** 2 * scale * 2 / 3
    x = g.Pad(g.Unsqueeze(x, [1]), [0, 0, width, 0, 0, width + 3], 0.0)
    y = g.Conv(x, g.stored(w[:, None].astype(F)), kernel_shape=[w.shape[1]], strides=[3])
    return g.Reshape(g.turned(y), [0, -1])


def bands(g, x, rate, points, hop, count, low, high, pads):
    """Energies of bands, [batch, count, frames]."""
    x = g.Unsqueeze(g.Pad(x, [0, pads[0], 0, pads[1]], mode="reflect"), [2])
    s = g.STFT(x, np.int64(hop), g.stored(hann(points)), onesided=1)
    power = g.ReduceSum(g.Mul(s, s), [3], keepdims=0)
    mel = g.MatMul(g.Sqrt(g.Add(power, 1e-9)), g.stored(filters(rate, points, count, low, high)))
    return g.turned(g.Log(g.Max(mel, 1e-5)) if count == BANDS and points == 1920 else mel)


def filters(rate, points, count, low, high):
    """Triangles on the scale of mel, [points / 2 + 1, count]."""
    mel = np.linspace(*(2595 * np.log10(1 + np.array([low, high]) / 700)), count + 2)
    edges = 700 * (10 ** (mel / 2595) - 1)
    f = np.linspace(0, rate / 2, points // 2 + 1)[:, None]
    up, down = (f - edges[:-2]) / np.diff(edges)[:-1], (edges[2:] - f) / np.diff(edges)[1:]
    return (np.maximum(0, np.minimum(up, down)) * 2 / (edges[2:] - edges[:-2])).astype(F)


def tokens(g, size, x):
    """Codes of sound at 16 kHz, 25 a second, [batch, rows]."""
    width, heads = size.listener, size.listener_heads
    mel = bands(g, x, LISTENED, 400, 160, 128, 0, LISTENED // 2, (200, 200))
    mel = g.part(mel, 0, -1, 2)
    levels = g.Div(g.Log(g.Max(mel, 1e-10)), float(np.log(10)))
    levels = g.Max(levels, g.Sub(g.ReduceMax(levels, [1, 2], keepdims=1), 8.0))
    x = g.rounded(g.Div(g.Add(levels, 4.0), 4.0))
    x = g.Gelu(g.conv(x, 128, width, 3, stride=2, pads=(1, 1)))
    x = g.turned(g.Gelu(g.conv(x, width, width, 3, stride=2, pads=(1, 1))))
    wide = width // heads
    angles = np.arange(2048)[:, None] / 10000 ** (np.arange(0, wide, 2) / wide)
    rows = g.extent(x, 1)
    cos, sin = (
        g.Unsqueeze(g.Slice(g.stored(np.tile(f(angles), 2).astype(g.floats)), [0], rows, [0]), [0, 2])
        for f in (np.cos, np.sin)
    )
    for _ in range(size.listener_layers):
        y = g.norm(x, width, 1e-6)
        q, k, v = (g.linear(y, width, width) for _ in range(3))
        turned = [rotated(g, g.Reshape(z, [0, 0, heads, wide]), cos, sin, wide) for z in (q, k)]
        scores = g.MatMul(g.Transpose(turned[0], perm=[0, 2, 1, 3]), g.Transpose(turned[1], perm=[0, 2, 3, 1]))
        y = g.MatMul(g.Softmax(g.Mul(scores, float(wide**-0.5)), axis=-1), g.heads(v, heads, wide))
        memory = g.turned(g.conv(g.turned(v), width, width, 31, pads=(15, 15), groups=width, bias=False, gain=0.3))
        y = g.linear(g.joined(y, width), width, width, gain=0.5)
        x = g.Add(x, g.Add(y, g.Add(memory, v)))
        y = g.Gelu(g.linear(g.norm(x, width), width, 4 * width))
        x = g.Add(x, g.linear(y, 4 * width, width, gain=0.5))
    # Biases keep most digits away from the places where they are rounded.
    w = g.random(width, 8) * F(0.4 / np.sqrt(width))
    away = g.random(8)
    digits = g.Add(g.MatMul(g.exact(g.norm(x, width)), g.stored(w)), g.stored(np.sign(away) * F(1.2)))
    digits = g.Add(g.Round(g.Mul(g.Tanh(digits), 0.999)), 1.0)
    powers = 3.0 ** np.arange(8)
    return g.cast(g.ReduceSum(g.Mul(digits, powers.astype(F)), [2], keepdims=0), np.int64)


def rotated(g, x, cos, sin, wide):
    a, b = g.split(x, 2)
    return g.Add(g.Mul(x, cos), g.Mul(g.Concat(g.Neg(b), a, axis=-1), sin))


def speaker_embedding(g, size, x):
    """[batch, 80, frames] to [batch, SPEAKER]: dense layers of convolutions with gates, means and deviations."""
    width, growth = size.speaker, size.speaker // 4
    x = g.Sub(x, g.ReduceMean(x, [2], keepdims=1))
    x = g.Relu(g.batch_norm(g.conv(x, 80, width, 5, stride=2, pads=(2, 2)), width))
    for _ in range(size.speaker_layers):
        y = g.conv(g.Relu(g.batch_norm(x, width)), width, 2 * growth, 1)
        y = g.Relu(g.batch_norm(y, 2 * growth))
        local = g.conv(y, 2 * growth, growth, 3, pads=(1, 1))
        context = g.Relu(g.conv(g.ReduceMean(y, [2], keepdims=1), 2 * growth, growth, 1))
        gate = g.Sigmoid(g.conv(context, growth, growth, 1))
        x, width = g.Concat(x, g.Mul(local, gate), axis=1), width + growth
    mean = g.ReduceMean(x, [2], keepdims=1)
    away = g.Sub(x, mean)
    deviation = g.Sqrt(g.Add(g.ReduceMean(g.Mul(away, away), [2], keepdims=0), 1e-5))
    return g.linear(g.Concat(g.Squeeze(mean, [2]), deviation, axis=1), 2 * width, SPEAKER)


def voice_embedding(g, size, x):
    """[batch, 80, frames] to [batch, voice]: the last state of three layers of LSTM, of length 1."""
    n, width = size.voice, 80
    x = g.Transpose(x, perm=[2, 0, 1])
    for _ in range(3):
        w, r = g.weight(1, 4 * n, width, scale=width**-0.5), g.weight(1, 4 * n, n, scale=n**-0.5)
        y, last, _ = g.LSTM(x, w, r, g.weight(1, 8 * n, scale=0.02), hidden_size=n, outputs=3)
        x, width = g.Squeeze(y, [1]), n
    y = g.Relu(g.linear(g.Squeeze(last, [0]), n, n))
    return g.Div(y, g.Max(g.ReduceL2(y, [1], keepdims=1), 1e-6))
