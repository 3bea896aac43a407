"""Cases of cases.py: operators that the standard has as well, or nearly, and small ones."""

import numpy as np

from answers import cases, int32


def int64(*values):
    return np.array(values, np.int64)


def scalar(value, dtype):
    return np.array(value, dtype)


@cases("Pad", seed=200)
def pad(f):
    for mode in "constant", "edge", "reflect":
        yield mode, {"mode": mode}, [f(3, 5), int64(1, 2, 2, 3)], [1]
    yield "value", {}, [f(3, 5), int64(0, 2, 1, 0), np.array([0.5], np.float32)], [1]
    yield "a row of pads", {}, [f(2, 3, 4), int64(0, 1, 0, 2, 0, 1).reshape(1, 6)], [1]
    yield "removes", {}, [f(3, 5), int64(-1, 1, 0, -2)], [1]


@cases("Range", seed=201)
def range_(f):
    for dtype in np.float32, np.float64, np.int16, np.int32, np.int64:
        yield f"{np.dtype(dtype)}, by one", {}, [scalar(2, dtype), scalar(7, dtype)], [1]
        yield f"{np.dtype(dtype)}, down", {}, [np.array([9], dtype), np.array([1], dtype), np.array([-3], dtype)], [1]
    yield "parts", {}, [scalar(0.5, np.float32), scalar(2.1, np.float32), scalar(0.25, np.float32)], [1]
    yield "empty", {}, [scalar(5, np.int64), scalar(2, np.int64)], [1]


@cases("Trilu", seed=202)
def trilu(f):
    yield "upper", {}, [f(2, 3, 4)], [1]
    yield "lower, above", {"upper": 0}, [f(4, 3), scalar(1, np.int64)], [1]
    yield "upper, below", {"upper": 1}, [f.ints(0, 9, 3, 3, dtype=np.int64), scalar(-1, np.int64)], [1]


@cases("Unique", seed=203)
def unique(f):
    yield "some", {}, [f.ints(0, 5, 17).astype(np.float32)], [1, 1, 1]
    yield "one", {}, [np.array([3], np.float32)], [1, 1, 1]


@cases("GridSample", seed=204)
def grid(f):
    for mode in "bilinear", "nearest", "bicubic":
        for padding in "zeros", "border", "reflection":
            a = {"mode": mode, "padding_mode": padding, "align_corners": int(mode == "bicubic")}
            yield f"{mode}, {padding}", a, [f(2, 3, 5, 4), f(2, 3, 2, 2)], [1], {"tol": 1e-5}


@cases("GatherND", seed=205)
def gather(f):
    yield "elements", {}, [f(3, 4), int64(0, 1, 2, 3, 1, 1).reshape(3, 2)], [1]
    yield "slices", {}, [f(3, 4, 2), int32(2, 0).reshape(1, 2, 1)], [1]


@cases("ExpandDims", seed=206)
def expand(f):
    for axis in 0, 1, -1, -3:
        yield f"axis {axis}", {}, [f(3, 4), scalar(axis, np.int32)], [1]


@cases("Inverse", seed=207)
def inverse(f):
    for dtype in np.float32, np.float64:
        f.dtype = dtype
        yield f"{np.dtype(dtype)}", {}, [f(2, 3, 5, 5)], [1], {"tol": 1e-4 if dtype == np.float32 else 1e-10}
        yield f"{np.dtype(dtype)}, permuted", {}, [np.eye(6, dtype=dtype)[f.rng.permutation(6)] * 4], [1]
    f.dtype = np.float16
    yield "float16", {}, [np.eye(3, dtype=np.float16) * 2 + f(2, 3, 3) / 4], [1]


@cases("TransposeMatMul", seed=208)
def transpose_matmul(f):
    yield "A", {"transA": 1, "alpha": 0.5}, [f(2, 4, 3), f(4, 5)], [1]
    yield "B", {"transB": 1}, [f(2, 3, 4), f(5, 4)], [1]


@cases("CDist", seed=209)
def distances(f):
    for dtype in np.float32, np.float64:
        f.dtype = dtype
        for metric in "sqeuclidean", "euclidean":
            yield f"{metric}, {np.dtype(dtype)}", {"metric": metric}, [f(5, 9), f(7, 9)], [1], {"tol": 1e-5}


@cases("NGramRepeatBlock", seed=210)
def repeat(f):
    for n in 1, 2, 3:
        yield f"runs of {n}", {"ngram_size": n}, [f.ints(0, 3, 2, 12, dtype=np.int64), f(2, 5)], [1]
    yield "longer than the row", {"ngram_size": 9}, [f.ints(0, 3, 2, 4, dtype=np.int64), f(2, 5)], [1]


@cases("Tokenizer", seed=211)
def tokenizer(f):
    lines = np.array(["ab cd  e", " x", "", "aé日 b1", "one,two;three"], object)
    base = {"mark": 0, "pad_value": "#", "mincharnum": 1}
    for name, a in {
        "spaces": {"separators": [" "]},
        "separators": {"separators": ["[,;]", " +", "^a"]},
        "characters": {"separators": [""]},
        "words": {"tokenexp": "[a-z]+"},
        "longest": {"tokenexp": "o|on|tw?"},
        "maybe empty": {"tokenexp": "[a-e]*"},
        "both": {"tokenexp": "[a-z]", "separators": [" "]},
        "long words": {"tokenexp": r"\b\w+\b", "mincharnum": 2},
        "long parts": {"separators": [",", " "], "mincharnum": 3},
        "none": {"tokenexp": "[0-9]{3}", "mark": 1},
    }.items():
        for mark in 0, 1:
            yield f"{name}, mark {mark}", {**base, "mark": mark, **a}, [lines], [1]
    yield "matrix", {**base, "pad_value": "", "separators": [" "]}, [lines[:4].reshape(2, 2)], [1]
    yield "no strings", {**base, "separators": [" "]}, [lines[:0]], [1]
    yield "no rows", {**base, "separators": [" "]}, [lines[:0].reshape(0, 2)], [1]
    yield "no columns", {**base, "separators": [" "]}, [lines[:0].reshape(2, 0)], [1]
