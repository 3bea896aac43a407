#!/usr/bin/env python3
"""Draws the pictures of nacre demo: handwritten-looking digits, as strokes.

Every digit is a list of strokes in a unit square (x to the right, y down). A
style slants, narrows and shakes the strokes and chooses a pen; the pen's
distance to the strokes gives anti-aliased ink. Needs numpy; writes the
pictures folder beside this file. The same seed gives the same files.
"""
import pathlib
import struct
import zlib

import numpy as np

SIZE = 64  # pixels a side
SEED = 20


def arc(cx, cy, rx, ry, start, end, n=24):
    """Points of an ellipse from one angle to another, in degrees, clockwise from the right."""
    a = np.radians(np.linspace(start, end, n))
    return np.stack([cx + rx * np.cos(a), cy + ry * np.sin(a)], 1)


def line(*points):
    return np.array(points, float)


def path(*parts):
    return np.concatenate([np.asarray(p, float) for p in parts])


# Two ways of writing each digit.
GLYPHS = {
    0: [
        [arc(0.5, 0.5, 0.30, 0.42, -90, 270, 48)],
        [path(arc(0.52, 0.5, 0.25, 0.42, -60, 285, 48), line((0.62, 0.16)))],
    ],
    1: [
        [line((0.32, 0.26), (0.54, 0.08), (0.54, 0.92))],
        [line((0.5, 0.08), (0.48, 0.92))],
    ],
    2: [
        [path(arc(0.48, 0.32, 0.27, 0.24, 195, 400), line((0.22, 0.92), (0.8, 0.92)))],
        [path(arc(0.48, 0.31, 0.24, 0.22, 180, 395), line((0.42, 0.74), (0.2, 0.9)),
              line((0.5, 0.86), (0.84, 0.9)))],
    ],
    3: [
        [path(arc(0.46, 0.29, 0.25, 0.21, 200, 430), arc(0.46, 0.70, 0.29, 0.22, -80, 160))],
        [path(line((0.24, 0.1), (0.72, 0.1), (0.44, 0.44)), arc(0.46, 0.67, 0.27, 0.24, -85, 155))],
    ],
    4: [
        [line((0.6, 0.08), (0.16, 0.64), (0.86, 0.64)), line((0.62, 0.40), (0.62, 0.94))],
        [line((0.3, 0.08), (0.2, 0.54), (0.8, 0.54)), line((0.68, 0.1), (0.62, 0.94))],
    ],
    5: [
        [path(line((0.76, 0.09), (0.32, 0.09), (0.28, 0.45)), arc(0.46, 0.66, 0.28, 0.26, -120, 150))],
        [path(line((0.28, 0.12), (0.30, 0.46)), arc(0.44, 0.67, 0.28, 0.25, -110, 145)),
         line((0.28, 0.12), (0.74, 0.08))],
    ],
    6: [
        [path(line((0.62, 0.08), (0.38, 0.32), (0.26, 0.58)), arc(0.49, 0.69, 0.24, 0.23, 190, 545, 40))],
        [path(arc(0.62, 0.52, 0.36, 0.43, 260, 175), arc(0.50, 0.70, 0.24, 0.22, 180, 535, 40))],
    ],
    7: [
        [line((0.2, 0.1), (0.78, 0.1), (0.42, 0.92))],
        [line((0.2, 0.12), (0.78, 0.08), (0.44, 0.94)), line((0.32, 0.5), (0.76, 0.48))],
    ],
    8: [
        [arc(0.5, 0.29, 0.21, 0.20, 90, 450, 40), arc(0.5, 0.70, 0.26, 0.22, -90, 270, 40)],
        [arc(0.52, 0.28, 0.20, 0.19, 90, 450, 40), arc(0.48, 0.69, 0.23, 0.23, -90, 270, 40)],
    ],
    9: [
        [path(arc(0.46, 0.32, 0.25, 0.23, 0, 360, 40), line((0.70, 0.36), (0.66, 0.64), (0.54, 0.92)))],
        [path(arc(0.48, 0.31, 0.24, 0.22, -20, 340, 40), line((0.70, 0.26), (0.68, 0.92)))],
    ],
}

# Slant, width, pen radius and shake of each style.
STYLES = [(0.00, 1.00, 0.058, 0.000), (0.10, 0.92, 0.070, 0.008), (-0.06, 1.06, 0.064, 0.010)]


def styled(strokes, style, rng):
    slant, width, _, shake = style
    out = []
    for s in strokes:
        p = s - 0.5
        p = np.stack([p[:, 0] * width - p[:, 1] * slant, p[:, 1]], 1) + 0.5
        # The shake follows two slow waves along the stroke.
        t = np.linspace(0, 1, len(p))[:, None]
        a, b = rng.uniform(-1, 1, (2, 2))
        out.append(p + shake * (a * np.sin(5 * t) + b * np.cos(9 * t)))
    return out


def render(strokes, radius):
    """Grey levels, 255 for full ink."""
    c = (np.arange(SIZE) + 0.5) / SIZE
    x, y = np.meshgrid(c, c)
    near = np.full((SIZE, SIZE), np.inf)
    for s in strokes:
        for (x0, y0), (x1, y1) in zip(s[:-1], s[1:]):
            dx, dy = x1 - x0, y1 - y0
            t = np.clip(((x - x0) * dx + (y - y0) * dy) / max(dx * dx + dy * dy, 1e-12), 0, 1)
            near = np.minimum(near, np.hypot(x - x0 - t * dx, y - y0 - t * dy))
    ink = np.clip((radius - near) * SIZE + 0.5, 0, 1)
    return np.round(ink * 255).astype(np.uint8)


def png(grey):
    h, w = grey.shape
    rows = b"".join(b"\0" + r.tobytes() for r in grey)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", w, h, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def pictures():
    """Yields name, digit and grey levels."""
    rng = np.random.default_rng(SEED)
    for digit, designs in GLYPHS.items():
        for i, style in enumerate(STYLES):
            strokes = styled(designs[i % len(designs)], style, rng)
            yield f"{digit}-{'abc'[i]}.png", digit, render(strokes, style[2])


def main():
    folder = pathlib.Path(__file__).parent / "pictures"
    folder.mkdir(exist_ok=True)
    for name, _, grey in pictures():
        (folder / name).write_bytes(png(grey))


if __name__ == "__main__":
    main()
