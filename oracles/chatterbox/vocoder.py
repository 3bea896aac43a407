"""The vocoder of conditional_decoder, HiFT: bands at 50 Hz to samples at 24 kHz."""

import numpy as np

from graph import F

RATE, HOP, POINTS = 24000, 4, 16
UPS = ((8, 16), (5, 11), (3, 7))  # strides and kernels that lengthen
DOWNS = ((15, 30, 7), (3, 6, 1), (1, 1, 0))  # strides, kernels and padding that shorten the source
DILATIONS = (1, 3, 5)
FRAME = HOP * 8 * 5 * 3  # samples of a frame of bands
HARMONICS = 9


def waveform(g, size, bands):
    """[batch, 80, frames] to [batch, samples]."""
    source = g.rounded(spectrum(g, g.exact(source_of(g, size, bands))))
    width = size.vocoder
    x = g.conv(bands, 80, width, 7, pads=(3, 3))
    for i, ((stride, kernel), down) in enumerate(zip(UPS, DOWNS)):
        x = g.LeakyRelu(x, alpha=0.1)
        pad = (kernel - stride) // 2
        w = g.weight(width, width // 2, kernel, scale=np.sqrt(stride / (kernel * width)))
        x = g.ConvTranspose(
            x, w, g.weight(width // 2, scale=0.02), kernel_shape=[kernel], strides=[stride], pads=[pad, pad]
        )
        width //= 2
        if i == len(UPS) - 1:
            x = g.Pad(x, [0, 0, 1, 0, 0, 0], mode="reflect")
        s = g.conv(source, POINTS + 2, width, down[1], stride=down[0], pads=(down[2], down[2]))
        x = g.Add(x, residual(g, s, width, 7 if i < 2 else 11))
        branches = [residual(g, x, width, kernel) for kernel in (3, 7, 11)]
        x = g.Div(g.Add(g.Add(branches[0], branches[1]), branches[2]), 3.0)
    x = g.conv(g.LeakyRelu(x, alpha=0.01), width, POINTS + 2, 7, pads=(3, 3), gain=0.3)
    return faded(g, samples(g, g.exact(x)))


def residual(g, x, width, kernel):
    for d in DILATIONS:
        pad = d * (kernel - 1) // 2
        y = g.conv(snake(g, x, width), width, width, kernel, pads=(pad, pad), dilation=d)
        pad = (kernel - 1) // 2
        x = g.Add(x, g.conv(snake(g, y, width), width, width, kernel, pads=(pad, pad), gain=0.3))
    return x


def snake(g, x, width):
    """x + sin(a x)^2 / a, with an a of each channel."""
    a = g.stored((1 + 0.1 * g.random(1, width, 1)).clip(0.5, 2).astype(g.floats))
    return g.Add(x, g.Mul(g.Div(1.0, g.Add(a, 1e-6)), g.Pow(g.Sin(g.Mul(x, a)), 2.0)))


def source_of(g, size, bands):
    """The tones of the voice, [batch, samples]: the pitch of each frame, and harmonics of it."""
    width = size.pitch
    x, n_in = bands, 80
    for _ in range(5):
        x, n_in = g.Elu(g.conv(x, n_in, width, 3, pads=(1, 1))), width
    pitch = g.Abs(g.Add(g.linear(g.turned(g.exact(x)), width, 1, gain=0.03), 1.2))
    pitch = g.Mul(g.turned(pitch), 100.0)
    pitch = g.turned(g.Resize(pitch, "", np.array([1, 1, FRAME], F), mode="nearest", nearest_mode="floor"))
    turns = g.CumSum(g.Mul(pitch, (np.arange(1, HARMONICS + 1, dtype=F) / RATE).reshape(1, 1, -1)), 1)
    turns = g.Sub(turns, g.Floor(turns))
    phases = g.RandomUniformLike(turns, low=0.0, high=0.0, seed=2.0)
    tones = g.Mul(g.Sin(g.Add(g.Mul(turns, float(2 * np.pi)), phases)), 0.1)
    voiced = g.cast(g.Greater(pitch, 10.0), F)
    noise = g.RandomNormalLike(tones, mean=0.0, scale=size.noise, seed=3.0)
    loud = g.Add(g.Mul(voiced, 0.003), g.Mul(g.Sub(1.0, voiced), 0.1 / 3))
    tones = g.Add(g.Mul(tones, voiced), g.Mul(noise, loud))
    merged = g.Tanh(g.Add(g.MatMul(tones, g.weight(HARMONICS, 1, scale=0.3)), g.weight(1, scale=0.02)))
    return g.Squeeze(merged, [2])


def hann(n):
    return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n)).astype(F)


def spectrum(g, x):
    """Short spectra of samples: real parts, then imaginary ones, [batch, POINTS + 2, frames]."""
    half = POINTS // 2
    x = g.Unsqueeze(g.Pad(x, [0, half, 0, half], mode="reflect"), [2])
    s = g.STFT(x, np.int64(HOP), g.stored(hann(POINTS)), onesided=1)
    parts = [g.Squeeze(p, [3]) for p in g.split(s, 2, axis=3)]
    return g.Concat(*(g.turned(p) for p in parts), axis=1)


def samples(g, x):
    """The inverse, of logarithms of magnitudes and of phases, by convolutions."""
    bins = POINTS // 2 + 1
    magnitude = g.Min(g.Exp(g.part(x, 0, bins, 1)), 100.0)
    phase = g.Sin(g.part(x, bins, POINTS + 2, 1))
    x = g.Concat(g.Mul(magnitude, g.Cos(phase)), g.Mul(magnitude, g.Sin(phase)), axis=1)
    basis = np.fft.fft(np.eye(POINTS))[:bins]
    basis = np.linalg.pinv(POINTS / HOP * np.vstack([basis.real, basis.imag])).T[:, None] * hann(POINTS)
    shape = {"kernel_shape": [POINTS], "strides": [HOP]}
    y = g.ConvTranspose(x, g.stored(basis.astype(F)), **shape)
    ones = g.ConstantOfShape(g.Concat([1, 1], g.extent(x, 2), axis=0), value=one())
    windows = g.ConvTranspose(ones, g.stored(hann(POINTS)[None, None] ** 2), **shape)
    y = g.Mul(g.Div(y, g.Where(g.Greater(windows, 1e-30), windows, 1.0)), POINTS / HOP)
    y = g.part(g.Squeeze(y, [1]), POINTS // 2, -(POINTS // 2), 1)
    return y


def one():
    from onnx import numpy_helper

    return numpy_helper.from_array(np.ones(1, F))


def faded(g, x):
    """Sound that begins with 20 ms of silence and 20 ms of rising loudness, and stays within -1 and 1."""
    n = RATE // 50
    rise = np.concatenate([np.zeros(n), (np.cos(np.linspace(np.pi, 0, n)) + 1) / 2]).astype(F)
    rest = g.Sub(g.extent(x, 1), [2 * n])
    gains = g.Concat(g.stored(rise), g.ConstantOfShape(rest, value=one()), axis=0)
    return g.Clip(g.Mul(x, gains), -0.99, 0.99)
