"""Writes runtime/op/standard/testdata/microsoft: small nodes of the domain com.microsoft with ONNX Runtime's answers.

    python oracles/microsoft/cases.py [DIR] [--only OP]

The same script makes the same cases, but for what another version of ONNX Runtime answers. Every operator is a
function here, or in a module that is imported here, that yields (name, attributes, inputs, outputs wanted[, options]);
None stands for what is left out.
"""

import numpy as np

# Modules register their cases.
import copies  # noqa: F401
import experts  # noqa: F401
import quant  # noqa: F401
import recent  # noqa: F401
import stored  # noqa: F401
from answers import ASKED, cases, codes, int32, main, scales


@cases("Gelu")
def gelu(f):
    yield "plain", {}, [f(3, 7)], [1]


@cases("QuickGelu")
def quick_gelu(f):
    yield "plain", {}, [f(3, 7)], [1]
    yield "alpha", {"alpha": 0.5}, [f(3, 7)], [1]


@cases("FastGelu")
def fast_gelu(f):
    yield "no bias", {}, [f(3, 7)], [1]
    yield "bias", {}, [f(2, 3, 7), f(7)], [1]


@cases("BiasGelu")
def bias_gelu(f):
    yield "plain", {}, [f(2, 3, 33), f(33)], [1]


@cases("SkipLayerNormalization")
def skip_norm(f):
    a = {"epsilon": 1e-5}
    yield "plain", a, [f(2, 3, 8), f(2, 3, 8), f(8), f(8)], [1]
    yield "all", a, [f(2, 3, 8), f(2, 3, 8), f(8), f(8), f(8)], [1, 0, 0, 1]
    yield "one batch", a, [f(2, 3, 8), f(1, 3, 8), f(8)], [1, 0, 0, 1]
    yield "two axes", a, [f(2, 3, 8), f(3, 8), f(8), f(8)], [1]
    f.dtype = np.float16
    yield "float16", a, [f(2, 3, 8), f(2, 3, 8), f(8), f(8), f(8)], [1, 0, 0, 1]


@cases("SkipSimplifiedLayerNormalization")
def skip_simplified(f):
    yield "plain", {"epsilon": 1e-5}, [f(2, 3, 8), f(2, 3, 8), f(8)], [1, 0, 0, 1]
    yield "bias", {"epsilon": 1e-5}, [f(2, 3, 8), f(2, 3, 8), f(8), f(8)], [1, 0, 0, 1]


@cases("SimplifiedLayerNormalization", "")
def simplified(f):
    yield "plain", {"epsilon": 1e-5}, [f(2, 3, 8), f(8)], [1]
    yield "axis", {"axis": 1}, [f(2, 3, 8), f(3, 8)], [1]


@cases("EmbedLayerNormalization")
def embed(f):
    words, segments = f.ints(0, 9, 2, 3), f.ints(0, 2, 2, 3)
    tables = f(9, 8), f(5, 8), f(2, 8)
    mask = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    a = {"epsilon": 1e-5}
    yield "all", a, [words, segments, *tables, f(8), f(8), mask], [1, 1, 1]
    yield "no mask", a, [words, segments, *tables, f(8), f(8)], [1, 1]
    yield "no segments", a, [words, None, tables[0], tables[1], None, f(8), f(8), None, f.ints(0, 5, 2, 3)], [1, 1, 1]
    yield (
        "gaps in the mask",
        a,
        [words, segments, *tables, f(8), f(8), np.array([[1, 0, 1], [0, 1, 1]], np.int32)],
        [1, 1],
    )


@cases("FusedMatMul")
def fused_matmul(f):
    yield "alpha", {"alpha": 0.5}, [f(2, 3, 4), f(4, 5)], [1]
    yield "transposed", {"transA": 1, "transB": 1, "alpha": 2.0}, [f(3, 4, 5), f(3, 6, 4)], [1]
    yield "batch of A", {"transBatchA": 1}, [f(3, 2, 4), f(2, 4, 5)], [1]
    yield "batch of B", {"transBatchB": 1, "transB": 1}, [f(2, 3, 4), f(5, 2, 4)], [1]
    yield "batches", {"transBatchA": 1, "transBatchB": 1, "transA": 1}, [f(4, 2, 3, 5), f(4, 2, 3, 6)], [1]


@cases("FusedGemm")
def fused_gemm(f):
    for name, extra in {
        "Relu": {},
        "LeakyRelu": {"activation_alpha": 0.3},
        "Tanh": {},
        "Sigmoid": {},
        "HardSigmoid": {"activation_alpha": 0.3, "activation_beta": 0.4},
    }.items():
        yield name, {"activation": name, "transB": 1, "alpha": 0.5, **extra}, [f(3, 4), f(5, 4), f(5)], [1]


@cases("FusedConv")
def fused_conv(f):
    for name, extra in {
        "Relu": [],
        "LeakyRelu": [0.3],
        "Clip": [-0.5, 0.7],
        "HardSigmoid": [0.3, 0.4],
        "Tanh": [],
        "Sigmoid": [],
    }.items():
        a = {"activation": name, "pads": [1, 1, 1, 1]}
        if extra:
            a["activation_params"] = extra
        yield name, a, [f(1, 2, 4, 5), f(3, 2, 3, 3), f(3)], [1]
    yield (
        "sum",
        {"activation": "Relu", "kernel_shape": [1, 1]},
        [f(1, 2, 4, 5), f(3, 2, 1, 1), f(3), f(1, 3, 4, 5)],
        [1],
    )


@cases("RotaryEmbedding")
def rotary(f):
    cos, sin = f(9, 4), f(9, 4)
    places = f.ints(0, 9, 2, 3, dtype=np.int64)
    yield "three axes", {}, [f(2, 3, 16), places, cos, sin], [1]
    yield "interleaved", {"interleaved": 1}, [f(2, 3, 16), places, cos, sin], [1]
    yield "offset", {}, [f(2, 3, 16), np.array([4], np.int64), cos, sin], [1]
    yield "four axes", {}, [f(2, 2, 3, 8), places, cos, sin], [1]
    yield "part", {"num_heads": 2, "rotary_embedding_dim": 4}, [f(2, 3, 16), places, f(9, 2), f(9, 2)], [1]


@cases("MultiHeadAttention")
def multi_head(f):
    a = {"num_heads": 2}
    q, k, v = f(2, 3, 8), f(2, 5, 8), f(2, 5, 12)
    bias = f(28)
    yield "plain", a, [q, k, v], [1]
    yield "bias", a, [q, k, v, bias], [1]
    yield "scale", {**a, "scale": 0.3}, [q, k, v, bias], [1]
    yield "many queries", a, [f(1, 21, 8), f(1, 23, 8), f(1, 23, 8)], [1]
    yield "keys with heads", a, [q, f(2, 2, 5, 4), f(2, 2, 5, 4)], [1]
    yield "keys with heads, bias", a, [q, f(2, 2, 5, 4), f(2, 2, 5, 4), f(24)], [1]
    yield "lengths", a, [q, k, v, bias, int32(3, 5)], [1]
    yield "key mask", a, [q, k, v, None, int32(*[1, 1, 1, 0, 0, 0, 0, 1, 1, 1]).reshape(2, 5)], [1]
    yield "empty mask", {**a, "mask_filter_value": -100.0}, [q, k, v, None, np.zeros((2, 5), np.int32)], [1]
    yield "mask per query", a, [q, k, v, None, f.ints(0, 2, 2, 3, 5)], [1]
    yield "scores", a, [q, k, v, None, None, f(1, 2, 3, 5)], [1]
    yield "scores and mask", a, [q, k, v, None, int32(3, 5), f(2, 1, 3, 5)], [1]
    yield "unidirectional", {**a, "unidirectional": 1}, [f(2, 5, 8), f(2, 5, 8), f(2, 5, 8)], [1, 1, 1]
    yield (
        "unidirectional, mask",
        {**a, "unidirectional": 1},
        [f(2, 3, 8), f(2, 3, 8), f(2, 3, 8), None, f.ints(0, 2, 2, 3)],
        [1],
    )
    past = f(2, 2, 4, 4), f(2, 2, 4, 4)
    yield "past", a, [f(2, 3, 8), f(2, 3, 8), f(2, 3, 8), f(24), None, None, *past], [1, 1, 1]
    yield (
        "past, unidirectional",
        {**a, "unidirectional": 1},
        [f(2, 3, 8), f(2, 3, 8), f(2, 3, 8), None, None, None, *past],
        [1, 1, 1],
    )
    yield "past, mask", a, [f(2, 3, 8), f(2, 3, 8), f(2, 3, 8), None, f.ints(0, 2, 2, 7), None, *past], [1, 1, 1]
    yield "present", a, [f(2, 3, 8), f(2, 3, 8), f(2, 3, 8), f(24)], [1, 1, 1]
    f.dtype = np.float16
    yield "float16", a, [f(2, 3, 8), f(2, 5, 8), f(2, 5, 12), f(28)], [1]


@cases("Attention")
def attention(f):
    a = {"num_heads": 2}
    x = f(2, 3, 6), f(6, 24), f(24)
    yield "plain", a, x, [1]
    yield "scale", {**a, "scale": 0.3}, x, [1, 1]
    yield "sizes", {**a, "qkv_hidden_sizes": [8, 8, 12]}, [f(2, 3, 6), f(6, 28), f(28)], [1]
    yield "lengths", a, [*x, int32(2, 3)], [1]
    yield "ends and starts", a, [*x, int32(3, 2, 1, 0)], [1]
    yield "key mask", a, [*x, int32(1, 0, 1, 0, 1, 1).reshape(2, 3)], [1]
    yield "empty mask", {**a, "mask_filter_value": -50.0}, [*x, np.zeros((2, 3), np.int32)], [1]
    yield "mask per query", a, [*x, f.ints(0, 2, 2, 3, 3)], [1]
    yield "unidirectional", {**a, "unidirectional": 1}, x, [1, 1]
    yield "unidirectional, mask", {**a, "unidirectional": 1}, [*x, int32(1, 1, 0, 0, 1, 1).reshape(2, 3)], [1, 1]
    lowest = float(np.finfo(np.float32).min)
    yield (
        "unidirectional, lowest",
        {**a, "unidirectional": 1, "mask_filter_value": lowest},
        [*x, int32(1, 1, 0, 0, 1, 1).reshape(2, 3)],
        [1],
    )
    past = f(2, 2, 2, 4, 4)
    yield "past", a, [*x, None, past], [1, 1]
    yield "past, unidirectional", {**a, "unidirectional": 1}, [*x, None, past], [1, 1]
    yield "past, mask", {**a, "unidirectional": 1}, [*x, f.ints(0, 2, 2, 7), past], [1, 1]
    yield "scores", a, [*x, None, None, f(1, 2, 3, 3)], [1]
    yield "scores and mask", a, [*x, int32(2, 3), None, f(2, 2, 3, 3)], [1]
    yield "many tokens", {**a, "unidirectional": 1}, [f(1, 40, 6), f(6, 24), f(24)], [1]


@cases("GroupQueryAttention")
def grouped(f):
    a = {"num_heads": 2, "kv_num_heads": 1}
    q, k, v = f(2, 3, 32), f(2, 3, 16), f(2, 3, 16)
    first = [None, None, int32(2, 2), int32(3)]
    four = {"num_heads": 4, "kv_num_heads": 2}
    yield "four heads", four, [f(1, 2, 32), f(1, 2, 16), f(1, 2, 16), None, None, int32(1), int32(2)], [1, 1, 1]
    yield "first", a, [q, k, v, *first], [1, 1, 1]
    yield "packed", a, [f(2, 3, 64), None, None, *first], [1, 1, 1]
    yield "softcap", {**a, "softcap": 2.0, "scale": 0.6}, [q, k, v, *first], [1, 1, 1]
    yield "smooth", {**a, "smooth_softmax": 1}, [q, k, v, *first], [1, 1, 1]
    yield "sink", a, [q, k, v, *first, None, None, None, None, f(2)], [1, 1, 1]
    yield "scores", a, [q, k, v, *first, None, None, None, f(1, 2, 3, 3)], [1, 1, 1]
    caches = f(12, 8), f(12, 8)
    yield "rotary", {**a, "do_rotary": 1}, [q, k, v, *first, *caches], [1, 1, 1]
    yield (
        "rotary, interleaved, packed",
        {**a, "do_rotary": 1, "rotary_interleaved": 1},
        [f(2, 3, 64), None, None, *first, *caches],
        [1, 1, 1],
    )
    part = f(1, 2, 64), f(1, 2, 32), f(1, 2, 32), None, None, int32(1), int32(2), *caches
    yield "rotary of a part", {**a, "do_rotary": 1}, part, [1, 1, 1]
    past = f(2, 1, 4, 16), f(2, 1, 4, 16)
    one = f(2, 1, 32), f(2, 1, 16), f(2, 1, 16)
    yield "next", a, [*one, *past, int32(4, 4), int32(5)], [1, 1, 1]
    yield "next, rotary", {**a, "do_rotary": 1}, [*one, *past, int32(4, 4), int32(5), *caches], [1, 1, 1]
    places = np.array([[7], [2]], np.int64)
    yield "next, positions", {**a, "do_rotary": 1}, [*one, *past, int32(4, 4), int32(5), *caches, places], [1, 1, 1]
    yield "next, unequal", a, [*one, *past, int32(4, 2), int32(5)], [1, ASKED, ASKED]
    roomy = f(2, 1, 9, 16), f(2, 1, 9, 16)
    yield "next, roomy cache", a, [*one, *roomy, int32(4, 4), int32(5)], [1, 1, 1]
    yield "next, window", {**a, "local_window_size": 3}, [*one, *past, int32(4, 4), int32(5)], [1, 1, 1]
    long = f(1, 12, 32), f(1, 12, 16), f(1, 12, 16)
    yield "window", {**a, "local_window_size": 6}, [*long, None, None, int32(11), int32(12)], [1]
    yield (
        "some",
        a,
        [f(1, 3, 32), f(1, 3, 16), f(1, 3, 16), f(1, 1, 4, 16), f(1, 1, 4, 16), int32(6), int32(7)],
        [1, 1, 1],
    )
    yield "bidirectional", {**a, "causal": 0}, [q, k, v, *first], [1, 1, 1]
    yield "products", {**a, "qk_output": 1}, [q, k, v, *first], [1, 0, 0, 1]
    yield "weights", {**a, "qk_output": 2}, [q, k, v, *first], [1, 0, 0, 1]
    f.dtype = np.float16
    h = f(2, 3, 32), f(2, 3, 16), f(2, 3, 16)
    yield "float16", {**a, "do_rotary": 1}, [*h, *first, f(12, 8), f(12, 8)], [1, 1, 1]


@cases("QuantizeLinear")
def quantize(f):
    for t in np.uint8, np.int8, np.uint16, np.int16:
        yield f"{t.__name__}", {}, [3 * f(3, 40), scales(f), codes(f, t)], [1]
        yield f"{t.__name__} by axis", {"axis": 1}, [3 * f(3, 5, 2), scales(f, 5), codes(f, t, 5)], [1]
    yield "no zero point", {}, [3 * f(3, 40), scales(f)], [1]
    f.dtype = np.float16
    yield "float16", {}, [3 * f(3, 400), scales(f), codes(f, np.int8)], [1]


@cases("DequantizeLinear")
def dequantize(f):
    for t in np.uint8, np.int8, np.uint16, np.int16:
        yield f"{t.__name__}", {}, [codes(f, t, 3, 40), scales(f), codes(f, t)], [1]
        yield f"{t.__name__} by axis", {"axis": 1}, [codes(f, t, 3, 5, 2), scales(f, 5), codes(f, t, 5)], [1]
    yield "int32", {}, [f.ints(-9999, 9999, 3, 40), scales(f)], [1]
    f.dtype = np.float16
    yield "float16", {}, [codes(f, np.int8, 3, 40), scales(f), codes(f, np.int8)], [1]


BYTES = ((np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8))


@cases("MatMulIntegerToFloat")
def integer_to_float(f):
    for ta, tb in BYTES:
        a, b = codes(f, ta, 5, 37), codes(f, tb, 37, 21)
        name = f"{ta.__name__} {tb.__name__}"
        yield f"{name}", {}, [a, b, scales(f), scales(f)], [1]
        yield f"{name}, zero points", {}, [a, b, scales(f), scales(f), codes(f, ta), codes(f, tb)], [1]
        yield f"{name}, columns", {}, [a, b, scales(f), scales(f, 21), codes(f, ta), codes(f, tb, 21), f(21)], [1]
    a, b = codes(f, np.uint8, 2, 3, 9), codes(f, np.int8, 2, 9, 4)
    yield "batches", {}, [a, b, scales(f), scales(f), codes(f, np.uint8), codes(f, np.int8), f(4)], [1]
    yield (
        "columns of batches",
        {},
        [a, b, scales(f), scales(f, 2, 1, 4), codes(f, np.uint8), codes(f, np.int8, 2, 1, 4)],
        [1],
    )


@cases("DynamicQuantizeMatMul")
def dynamic_matmul(f):
    for t in np.int8, np.uint8:
        a, b = f(5, 37), codes(f, t, 37, 21)
        yield f"{t.__name__}", {}, [a, b, scales(f)], [1]
        yield f"{t.__name__}, zero point", {}, [a, b, scales(f), codes(f, t), f(21)], [1]
        yield f"{t.__name__}, columns", {}, [a, b, scales(f, 21), codes(f, t, 21)], [1]
    yield "one row", {}, [f(1, 37) + 3, codes(f, np.int8, 37, 70), scales(f, 70), None, f(70)], [1]
    yield "batches", {}, [f(2, 3, 9), codes(f, np.int8, 9, 4), scales(f, 4), codes(f, np.int8, 4), f(4)], [1]


@cases("QGemm")
def quantized_gemm(f):
    for ta, tb in BYTES:
        for trans in range(4):
            at, bt = trans & 1, trans >> 1
            a, b = codes(f, ta, *((9, 5) if at else (5, 9))), codes(f, tb, *((7, 9) if bt else (9, 7)))
            n = [] if trans % 2 else [7]
            c = [f.ints(-999, 999, *s) for s in ((5, 7), (7,), (5, 1), ())][trans]
            plain = [a, scales(f), codes(f, ta), b, scales(f, *n), codes(f, tb, *n)]
            attrs = {"transA": at, "transB": bt, "alpha": 1.5}
            name = f"{ta.__name__} {tb.__name__} {at}{bt}"
            yield f"{name}, numbers", attrs, [*plain, c], [1]
            if ta is np.uint8:
                yield f"{name}, codes", attrs, [*plain, c, np.array(0.1, np.float32), codes(f, ta)], [1]
        yield (
            f"{ta.__name__} {tb.__name__}, no C",
            {},
            [codes(f, ta, 5, 9), scales(f), codes(f, ta), codes(f, tb, 9, 7), scales(f), codes(f, tb)],
            [1],
        )


@cases("QLinearConv")
def quantized_conv(f):
    for tx, tw in ((np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)):
        for group, last in ((1, 0), (2, 0), (1, 1), (4, 1)):
            x, w = codes(f, tx, *((2, 6, 7, 4) if last else (2, 4, 6, 7))), codes(f, tw, 8, 4 // group, 3, 3)
            attrs = {"group": group, "pads": [1, 0, 1, 2], "strides": [1, 2], "channels_last": last}
            name = f"{tx.__name__} {tw.__name__}, {group} groups{', channels last' if last else ''}"
            zero = np.array([0 if tw is np.int8 else 131] * 8, tw)
            y = np.array(0.1, np.float32), codes(f, tx)
            yield name, attrs, [x, scales(f), codes(f, tx), w, scales(f), zero[:1], *y, f.ints(-999, 999, 8)], [1]
            yield f"{name}, filters", attrs, [x, scales(f), codes(f, tx), w, scales(f, 8), zero, *y], [1]


@cases("QAttention")
def quantized_attention(f):
    a = {"num_heads": 2}
    for ti, tw in BYTES[:2]:
        x = codes(f, ti, 2, 3, 6), codes(f, tw, 6, 24), f(24), scales(f), scales(f)
        zeros = codes(f, ti), codes(f, tw)
        name = f"{ti.__name__} {tw.__name__}"
        yield f"{name}", a, x, [1]
        yield f"{name}, zero points", a, [*x, None, *zeros], [1]
        yield f"{name}, columns", a, [*x[:4], scales(f, 24), None, zeros[0], codes(f, tw, 24)], [1]
        yield f"{name}, lengths", a, [*x, int32(2, 3), *zeros], [1]
        yield f"{name}, unidirectional", {**a, "unidirectional": 1}, [*x, None, *zeros], [1, 1]
        yield f"{name}, past", {**a, "unidirectional": 1}, [*x, None, *zeros, f(2, 2, 2, 4, 4)], [1, 1]
        yield f"{name}, scale", {**a, "scale": 0.3}, x, [1]


@cases("DynamicQuantizeLSTM")
def quantized_lstm(f):
    # A state that another rounding puts on the next code shows in what follows.
    close = {"tol": 2e-3}
    for t in np.int8, np.uint8:
        for direction in "forward", "reverse", "bidirectional":
            d = 2 if direction == "bidirectional" else 1
            x, w, r = f(4, 2, 5), codes(f, t, d, 5, 32), codes(f, t, d, 8, 32)
            a = {"hidden_size": 8, "direction": direction}
            n = [d] if direction == "forward" else [d, 32]
            zero = codes(f, t, d) if direction == "forward" else np.zeros(n, t)  # ONNX Runtime wants it for columns
            weights = [f.dtype(0.1) * scales(f, *n), zero, f.dtype(0.1) * scales(f, *n), zero]
            name = f"{t.__name__} {direction}"
            yield f"{name}", a, [x, w, r, None, None, None, None, None, *weights], [1, 1, 1], close
            rest = [f(d, 64), int32(4, 2), f(d, 2, 8), f(d, 2, 8), f(d, 24)]
            yield f"{name}, all", {**a, "clip": 0.7}, [x, w, r, *rest, *weights], [1, 1, 1], close
    functions = {
        "activations": ["HardSigmoid", "Softsign", "Relu"],
        "activation_alpha": [0.3],
        "activation_beta": [0.4],
        "input_forget": 1,
    }
    weights = [f.dtype(0.1) * scales(f, 1), codes(f, np.int8, 1), f.dtype(0.1) * scales(f, 1), codes(f, np.int8, 1)]
    x, w, r = f(4, 2, 5), codes(f, np.int8, 1, 5, 32), codes(f, np.int8, 1, 8, 32)
    yield (
        "functions",
        {"hidden_size": 8, **functions},
        [x, w, r, None, None, None, None, None, *weights],
        [1, 1, 1],
        close,
    )


if __name__ == "__main__":
    main()
