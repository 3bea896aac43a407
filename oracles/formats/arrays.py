"""Arrays that NumPy wrote, for the tests of package npy.

Usage: arrays.py FOLDER

Every numeric array is k - 6, or k for unsigned types, of its element k in row-major order; floats
are a quarter of it.
"""

import sys
from pathlib import Path

import numpy as np


def main(folder: Path) -> None:
    """Write numpy.npz and compressed.npz."""
    arrays: dict[str, np.ndarray] = {}
    for name, stored in (("i1", "i1"), ("i2", ">i2"), ("i4", "<i4"), ("i8", ">i8")):
        arrays[name] = np.arange(-6, 6).astype(stored).reshape(3, 4)
    for name, stored in (("f2", ">f2"), ("f4", "<f4"), ("f8", ">f8"), ("c8", "<c8"), ("c16", ">c16")):
        arrays[name] = (np.arange(-6, 6) / 4).astype(stored).reshape(3, 4)
    for name, stored in (("u1", "u1"), ("u2", ">u2"), ("u4", "<u4"), ("u8", ">u8")):
        arrays[name] = np.arange(12).astype(stored).reshape(3, 4)
    arrays["bool"] = (np.arange(12) % 3 == 0).reshape(3, 4)
    arrays["text"] = np.array([["a", "ä∂"], ["", "𝄞x"]])
    arrays["scalar"] = np.array(1.5, np.float32)
    arrays["empty"] = np.zeros((0, 4), np.float32)
    arrays["fortran"] = np.asfortranarray(np.arange(24, dtype=">i4").reshape(2, 3, 4))
    arrays["fortran_text"] = np.asfortranarray(np.array([["a", "b", "c"], ["d", "e", "f"]]))
    np.savez(folder / "numpy.npz", **arrays)
    np.savez_compressed(folder / "compressed.npz", x=np.arange(1000, dtype=np.int32), y=np.array(2, np.float32))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
