"""Cases of cases.py: weights and tables that are stored as codes of few bits."""

import ml_dtypes
import numpy as np

from answers import cases


def blocks(k, block):
    return (k + block - 1) // block


def weights(f, n, k, bits, block, zeros=None):
    """B, scales and zero points of MatMulNBits."""
    count = blocks(k, block)
    list_ = [f.ints(0, 256, n, count, block * bits // 8, dtype=np.uint8), np.abs(f(n, count)) / 2**bits]
    if zeros == "codes":
        list_.append(f.ints(0, 256, n, (count * bits + 7) // 8, dtype=np.uint8))
    elif zeros == "floats":
        list_.append(f.rng.uniform(0, 2**bits, (n, count)).astype(f.dtype))
    else:
        list_.append(None)
    return list_


@cases("MatMulNBits", seed=100)
def nbits(f):
    tol = {"tol": 1e-5}
    for bits in 2, 4, 8:
        for n, k, block in (3, 64, 32), (5, 52, 16), (2, 200, 128):
            for zeros in None, "codes", "floats":
                if bits == 8 and zeros == "floats":
                    continue  # ONNX Runtime lacks it
                a = {"N": n, "K": k, "bits": bits, "block_size": block}
                name = f"{bits} bits, blocks of {block}, zeros {zeros}"
                yield name, a, [f(2, k), *weights(f, n, k, bits, block, zeros)], [1], tol
    a = {"N": 9, "K": 96, "block_size": 32}
    yield "one row", a, [f(1, 96), *weights(f, 9, 96, 4, 32, "codes")], [1], tol
    yield "many rows", a, [f(2, 17, 96), *weights(f, 9, 96, 4, 32, "codes")], [1], tol
    yield "bias", a, [f(2, 3, 96), *weights(f, 9, 96, 4, 32), None, f(9)], [1], tol
    b, scales, zeros = weights(f, 9, 96, 4, 32, "codes")
    yield "flat scales", a, [f(2, 96), b, scales.reshape(-1), zeros.reshape(-1)], [1], tol
    order = f.rng.permutation(np.arange(96) // 32).astype(np.int32)
    yield "groups", a, [f(2, 96), *weights(f, 9, 96, 4, 32), order], [1], tol
    yield "groups, zeros", a, [f(2, 96), *weights(f, 9, 96, 4, 32, "floats"), order], [1], tol
    yield (
        "quantised rows",
        {**a, "accuracy_level": 4},
        [f(2, 96), *weights(f, 9, 96, 4, 32, "codes")],
        [1],
        {"tol": 1e-2},
    )
    for bits in 4, 8:
        for rows in 1, 20:
            for zeros in None, "codes":
                a = {"N": 17, "K": 144, "bits": bits, "block_size": 32, "accuracy_level": 4}
                name = f"quantised {rows} rows, {bits} bits, zeros {zeros}"
                yield name, a, [f(rows, 144), *weights(f, 17, 144, bits, 32, zeros), None, f(17)], [1], {"tol": 1e-2}
    f.dtype = np.float16
    for bits in 2, 4, 8:
        a = {"N": 9, "K": 80, "bits": bits, "block_size": 32}
        yield (
            f"float16, {bits} bits",
            a,
            [f(2, 80), *weights(f, 9, 80, bits, 32, "codes"), None, f(9)],
            [1],
            {"tol": 1e-2},
        )


@cases("MatMulBnb4", seed=101)
def bnb4(f):
    # Without transB ONNX Runtime multiplies as with it.
    for kind in 0, 1:
        for n, k, block in (5, 64, 32), (3, 20, 16), (7, 9, 64):
            a = {"N": n, "K": k, "block_size": block, "quant_type": kind}
            codes = f.ints(0, 256, (n * k + 1) // 2, dtype=np.uint8)
            yield f"type {kind}, {n} by {k}", a, [f(3, k), codes, np.abs(f(blocks(n * k, block)))], [1], {"tol": 1e-5}


@cases("GatherBlockQuantized", seed=102)
def gather(f):
    for bits in 4, 8:
        a = {"bits": bits, "block_size": 16, "quantize_axis": 1}
        table = f.ints(0, 256, 7, 40 * bits // 8, dtype=np.uint8)
        zeros = f.ints(0, 256, 7, (3 * bits + 7) // 8, dtype=np.uint8)
        pick = f.ints(-7, 7, 2, 3, dtype=np.int64)
        yield f"{bits} bits", a, [table, pick, f(7, 3)], [1]
        yield f"{bits} bits, zeros", a, [table, pick, f(7, 3), zeros], [1]
        yield f"{bits} bits, out of range", a, [table, f.ints(-9, 9, 7), f(7, 3)], [1]
    for dtype in ml_dtypes.int4, ml_dtypes.uint4:
        low, high = (-8, 8) if dtype is ml_dtypes.int4 else (0, 16)
        for shape, gather, axis in (
            ((5, 33), 0, 1),
            ((3, 21, 5), 1, 2),
            ((3, 21, 5), 0, 1),
            ((33, 4), 0, 0),
            ((20, 9), 1, 0),
        ):
            scaled = [blocks(x, 16) if i == axis else x for i, x in enumerate(shape)]
            a = {"block_size": 16, "gather_axis": gather, "quantize_axis": axis}
            data, zeros = (f.rng.integers(low, high, s).astype(dtype) for s in (shape, scaled))
            pick = f.ints(-shape[gather], shape[gather], 2, 2, dtype=np.int64)
            yield f"{dtype.__name__} {shape}, {gather}, {axis}", a, [data, pick, f(*scaled)], [1]
            yield f"{dtype.__name__} {shape}, {gather}, {axis}, zeros", a, [data, pick, f(*scaled), zeros], [1]
    f.dtype = np.float16
    yield "float16", {"block_size": 16}, [f.ints(0, 256, 7, 20, dtype=np.uint8), f.ints(0, 7, 3), f(7, 3)], [1]
