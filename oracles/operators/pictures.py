"""Makes pictures with Pillow, and what it reads of them, as test data of runtime/internal/picture.

    python oracles/operators/pictures.py [DIR] [--seed N] [--count N]

Without DIR the stored set is made anew. For every file NAME.FORMAT there is NAME.png with its pixels, grey or RGB. The
libraries inside Pillow are libjpeg-turbo, libwebp, OpenJPEG and libtiff. Needs: pip install pillow numpy
"""

import argparse
import io
import os

import numpy as np
from PIL import Image

STORED = os.path.join(os.path.dirname(__file__), "..", "..", "runtime", "internal", "picture", "testdata", "pillow")
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 40, 63]


def scene(rng, width, height, channels):
    """Waves, blocks and noise: smooth, sharp and rough parts."""
    y, x = np.mgrid[0:height, 0:width]
    planes = []
    for _ in range(channels):
        a, b, c = rng.uniform(0.02, 0.4, 3)
        p = 128 + 110 * np.sin(a * x + b * y + 7 * c)
        blocks = rng.integers(0, 256, (height // 5 + 1, width // 5 + 1)).repeat(5, 0).repeat(5, 1)[:height, :width]
        p = np.where(rng.random() < 0.5, p, 0.5 * p + 0.5 * blocks) + rng.normal(0, rng.choice([0, 3, 40]), p.shape)
        planes.append(np.clip(np.rint(p), 0, 255).astype(np.uint8))
    return np.stack(planes, axis=-1)


def picture(rng, mode):
    w, h = int(rng.choice(SIZES)), int(rng.choice(SIZES))
    if mode == "I;16":
        return Image.fromarray(scene(rng, w, h, 1)[..., 0].astype(np.uint16) * 257)
    a = scene(rng, w, h, {"1": 1, "L": 1, "P": 3, "LA": 2, "RGB": 3, "RGBA": 4, "CMYK": 4}[mode])
    if mode == "1":
        return Image.fromarray(a[..., 0]).convert("1")
    if mode == "P":
        return Image.fromarray(a).quantize(int(rng.integers(2, 257)))
    return Image.fromarray(a[..., 0] if mode == "L" else a, mode=mode)


def jpeg(rng):
    mode = str(rng.choice(["L", "RGB", "RGB", "RGB", "CMYK"]))
    options = {
        "quality": int(rng.choice([1, 10, 40, 75, 90, 100])),
        "progressive": bool(rng.random() < 0.5),
        "optimize": bool(rng.random() < 0.5),
    }
    if mode == "RGB":
        options["keep_rgb"] = bool(rng.random() < 0.15)
        if not options["keep_rgb"]:
            options["subsampling"] = int(rng.integers(0, 3))
    if rng.random() < 0.3:
        options["restart_marker_blocks"] = int(rng.integers(1, 9))
    return "jpg", mode, options


def relabel(rng, data):
    """Gives the luma of a JPEG other sampling factors with as many blocks, which makes another sound picture."""
    at = max(data.find(b"\xff\xc0\x00\x11\x08"), data.find(b"\xff\xc2\x00\x11\x08"))
    factors = {0x21: [0x12], 0x22: [0x41, 0x14]}.get(data[at + 11])
    if at < 0 or factors is None:
        return data
    old, new = data[at + 11], int(rng.choice(factors))
    height, width = int.from_bytes(data[at + 5 : at + 7], "big"), int.from_bytes(data[at + 7 : at + 9], "big")
    units = -(-height // (8 * (old & 15))), -(-width // (8 * (old >> 4)))
    height, width = (
        units[0] * 8 * (new & 15) - int(rng.integers(0, 8)),
        units[1] * 8 * (new >> 4) - int(rng.integers(0, 8)),
    )
    size = height.to_bytes(2, "big") + width.to_bytes(2, "big")
    return data[: at + 5] + size + data[at + 9 : at + 11] + bytes([new]) + data[at + 12 :]


def webp(rng):
    options = {
        "quality": int(rng.choice([0, 20, 60, 90, 100])),
        "lossless": bool(rng.random() < 0.3),
        "method": int(rng.integers(0, 7)),
    }
    return "webp", str(rng.choice(["RGB", "RGB", "RGBA"])), options


def jp2(rng):
    options = {
        "irreversible": bool(rng.random() < 0.5),
        "progression": str(rng.choice(["LRCP", "RLCP", "RPCL", "PCRL", "CPRL"])),
        "no_jp2": bool(rng.random() < 0.4),
    }
    options["num_resolutions"] = int(rng.integers(1, 5))
    options["codeblock_size"] = tuple(int(2 ** rng.integers(2, 7)) for _ in range(2))
    if rng.random() < 0.4:
        options["precinct_size"] = tuple(max(2 * c, 16) for c in options["codeblock_size"])
    if rng.random() < 0.4:
        options["tile_size"] = (int(rng.choice([8, 16, 20])), int(rng.choice([8, 16, 20])))
    if rng.random() < 0.5:
        options["quality_mode"] = "rates"
        options["quality_layers"] = [
            float(v) for v in sorted(rng.choice([1.5, 2, 4, 8, 16, 30], int(rng.integers(1, 4)), False))[::-1]
        ]
    if rng.random() < 0.2:
        options["plt"] = True
    options["mct"] = int(rng.random() < 0.7)
    return "jp2", str(rng.choice(["L", "RGB", "RGB", "RGBA", "LA"])), options


def tiff(rng):
    mode = str(rng.choice(["1", "L", "RGB", "RGBA", "P", "I;16"]))
    compressions = [None, "tiff_lzw", "packbits", "tiff_adobe_deflate"] + (["group4", "group3"] if mode == "1" else [])
    return "tiff", mode, {"compression": compressions[rng.integers(len(compressions))]}


def bmp(rng):
    return "bmp", str(rng.choice(["1", "L", "P", "RGB", "RGBA"])), {}


def png(rng):
    return "png", str(rng.choice(["1", "L", "P", "LA", "RGB", "RGBA", "I;16"])), {}


def pnm(rng):
    return "ppm", str(rng.choice(["1", "L", "RGB", "I;16"])), {}


FORMATS = {"JPEG": jpeg, "WebP": webp, "JPEG2000": jp2, "TIFF": tiff, "BMP": bmp, "PNG": png, "PPM": pnm}


def pixels(data):
    """What Pillow reads: grey or RGB, the upper 8 of 16 bits."""
    img = Image.open(io.BytesIO(data))
    if img.mode.startswith("I"):
        return Image.fromarray((np.array(img) >> 8).astype(np.uint8))
    return img.convert("L" if img.mode in ("1", "L", "LA") else "RGB")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("dir", nargs="?", default=STORED)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=8, help="pictures of every format")
    p.add_argument("--only", choices=FORMATS)
    a = p.parse_args()
    os.makedirs(a.dir, exist_ok=True)
    for name, choose in FORMATS.items():
        for number in range(a.count):
            rng = np.random.default_rng([a.seed, number, len(name), ord(name[0])])
            extension, mode, options = choose(rng)
            if a.only and name != a.only:
                continue
            f = io.BytesIO()
            try:
                picture(rng, mode).save(f, format=name, **options)
            except (OSError, ValueError) as error:
                print(f"{name} {number} {mode} {options}: {error}")
                continue
            data = f.getvalue()
            if name == "JPEG" and not options["progressive"] and rng.random() < 0.4:
                data = relabel(rng, data)
            base = os.path.join(a.dir, f"{name.lower()}{number:03}")
            with open(f"{base}.{'source.png' if extension == 'png' else extension}", "wb") as out:
                out.write(data)
            pixels(data).save(base + ".png", optimize=True)


if __name__ == "__main__":
    main()
