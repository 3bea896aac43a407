"""Inputs that look like what networks are given: sound, pictures, text."""

import numpy as np

F = np.float32


def speech(rng, samples, rate=16000):
    """Voiced syllables with pauses between them, over faint noise; amplitudes below 1."""
    t = np.arange(samples) / rate
    pitch = rng.uniform(90, 220) * (1 + 0.1 * np.sin(2 * np.pi * rng.uniform(1, 3) * t))
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    voice = sum(
        np.sin(k * phase + rng.uniform(0, 6)) * np.exp(-((k * pitch - rng.uniform(400, 1500)) ** 2) / 6e5)
        for k in range(1, 12)
    )
    envelope = np.clip(np.sin(2 * np.pi * rng.uniform(2, 4) * t + rng.uniform(0, 6)), 0, 1)
    x = envelope * voice + 0.01 * rng.standard_normal(samples)
    return (0.5 * x / np.abs(x).max()).astype(F)


def music(rng, samples, rate):
    """Decaying notes of a piano's range, with overtones."""
    t, x = np.arange(samples) / rate, np.zeros(samples)
    for start in np.arange(0, samples / rate, 0.25):
        f = 27.5 * 2 ** (rng.integers(24, 72) / 12)
        age = np.maximum(t - start, 0)
        x += (t >= start) * np.exp(-4 * age) * sum(np.sin(2 * np.pi * k * f * age) / k**2 for k in range(1, 6))
    return (0.5 * x / np.abs(x).max()).astype(F)


def picture(rng, height, width, channels=3):
    """[channels, height, width] in 0 to 1: a colour gradient, shapes of one colour each, and noise."""
    y, x = np.mgrid[0:height, 0:width].astype(F)
    grad = rng.uniform(-1, 1, (channels, 2))
    p = 0.5 + 0.4 * (grad[:, :1, None] * (y / height - 0.5) + grad[:, 1:, None] * (x / width - 0.5))
    for _ in range(8):
        cy, cx = rng.uniform(0, height), rng.uniform(0, width)
        ry, rx = rng.uniform(0.05, 0.3) * height, rng.uniform(0.05, 0.3) * width
        dy, dx = abs(y - cy) / ry, abs(x - cx) / rx
        inside = np.maximum(dy, dx) < 1 if rng.random() < 0.5 else dy**2 + dx**2 < 1
        p = np.where(inside, rng.uniform(0, 1, (channels, 1, 1)), p)
    return np.clip(p + 0.02 * rng.standard_normal(p.shape), 0, 1).astype(F)


def written(rng, height, width, lines=1):
    """[3, height, width] in 0 to 1: rows of dark strokes on a light ground."""
    p = np.full((height, width), 0.9, F)
    row = height // lines
    for top in range(0, row * lines, row):
        stroke = max(1, row // 12)
        x = row // 3
        while x < width - row:
            for _ in range(3):
                a, b = rng.integers(row // 5, 4 * row // 5, 2) + top
                at = x + rng.integers(0, row // 3 + 1)
                if rng.random() < 0.5:
                    p[min(a, b) : max(a, b) + 1, at : at + stroke] = 0.1
                else:
                    p[a : a + stroke, x : x + row // 2] = 0.1
            x += int(row * rng.uniform(0.6, 0.9))
    noisy = p + 0.02 * rng.standard_normal((3, height, width))
    return np.clip(noisy, 0, 1).astype(F)


def tokens(rng, vocabulary, *shape):
    """Numbers of words, small ones more often."""
    return (vocabulary * rng.random(shape) ** 2).astype(np.int64)


def bands(rng, batch, bins, frames):
    """[batch, bins, frames] around 0: logarithms of powers, with formants that move over time."""
    f, t = np.mgrid[0:bins, 0:frames]
    x = np.zeros((batch, bins, frames))
    for b in range(batch):
        for _ in range(3):
            at = bins * (rng.uniform(0.1, 0.8) + 0.1 * np.sin(rng.uniform(0.02, 0.2) * t + rng.uniform(0, 6)))
            x[b] += np.exp(-(((f - at) / (0.05 * bins)) ** 2))
    return (x - 0.5 + 0.2 * rng.standard_normal(x.shape)).astype(F)


def talk(rng, batch, bins, frames):
    """[batch, bins, frames]: silence, then bands above it for a while, then a short pause or none."""
    x = np.full((batch, bins, frames), -1, F)
    for b in range(batch):
        said, pause = rng.integers(frames // 6, frames // 2), rng.integers(0, frames // 40)
        x[b, :, frames - said - pause : frames - pause] = bands(rng, 1, bins, said)[0] + 0.5
    return x


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(F)
