"""Cases that are left out, because the teacher is wrong or the standard is silent. Each line says why."""

import numpy as np


def text(case, name):
    """An attribute of the node that the case is about, as text."""
    return next((a.s.decode() for a in case.nodes[-1].attribute if a.name == name), "")


def has(case, name):
    return any(a.name == name for a in case.nodes[-1].attribute)


def flag(case, name):
    """Whether the attribute is there and not 0."""
    return any(a.i for a in case.nodes[-1].attribute if a.name == name)


def numbers(case, name):
    """The attribute's numbers; none if it is not there."""
    return next((list(a.ints) for a in case.nodes[-1].attribute if a.name == name), [])


def dilated_same(case):
    return text(case, "auto_pad").startswith("SAME") and has(case, "dilations")


def by_scales(case, mode):
    """Whether a Resize has that transformation, and scales rather than sizes."""
    return text(case, "coordinate_transformation_mode") == mode and len(case.nodes[-1].input) < 4


def interpolates_integers(case):
    return text(case, "mode") in ("linear", "cubic") and case.types[0].kind in "iu"


def valid_rounded_up(case):
    return text(case, "auto_pad") == "VALID" and flag(case, "ceil_mode")


def gaps(case):
    """Whether windows leave gaps, so that SAME would need negative padding."""
    if not text(case, "auto_pad").startswith("SAME") or not has(case, "strides"):
        return False
    rank = len(numbers(case, "strides"))
    dilations = numbers(case, "dilations") or [1] * rank
    reach = [(k - 1) * d + 1 for k, d in zip(numbers(case, "kernel_shape"), dilations)]
    return any(r < s for r, s in zip(reach, numbers(case, "strides")))


def narrow_quotient(case):
    return case.types[0] == np.float16


def multiplies_bytes():
    """Whether this processor adds up products of bytes without saturation: an x86 one with VNNI, or another."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            flags = next((line.split() for line in info if line.startswith("flags")), [])
    except OSError:
        return True
    return not flags or not {"avx512_vnni", "avx_vnni"}.isdisjoint(flags)


def saturates(case):
    return np.dtype("int8") in case.types.values() and not multiplies_bytes()


def one_score(case):
    """Whether a transform is asked for of the only score of a sample."""
    targets = next((a.i for a in case.nodes[-1].attribute if a.name in ("targets", "n_targets")), 1)
    return targets == 1 and text(case, "post_transform") not in ("", "NONE")


def one_class(case):
    return text(case, "post_transform") not in ("", "NONE") and 1 in (
        len(a.ints) for a in case.nodes[-1].attribute if a.name.startswith("classlabels")
    )


UNTRANSFORMED = ("ONNX Runtime leaves the only score of a sample as it is", one_score)
OVERLOOKED = ("ONNX Runtime overlooks dilations when it derives padding", dilated_same)
TRUNCATED = ("ONNX Runtime truncates interpolated integers, the reference rounds them", interpolates_integers)

SATURATED = ("ONNX Runtime saturates the sum of two products with codes that have a sign, without VNNI", saturates)

ROUNDED_UP = ("by the standard's formula VALID rounds down even if asked to round up", valid_rounded_up)

EXCEPTIONS = {  # by operator: why, and which cases
    "ConvInteger": [SATURATED],
    "ConvTranspose": [
        ("ONNX Runtime cuts the result where SAME would need negative padding", gaps),
    ],
    "Dropout": [
        (
            "before opset 12 nobody says what the mask of a run without training holds",
            lambda c: c.version < 12 and len(c.outputs) > 1,
        ),
    ],
    "DynamicQuantizeLinear": [
        (
            "ONNX Runtime says 1 for the scale of zeros, the reference 1/255",
            lambda c: not any(a.any() for a in c.feeds.values()),
        ),
    ],
    "Gather": [
        ("ONNX Runtime leaves strings out", lambda c: c.types[0] == np.dtype(object)),
    ],
    "LinearRegressor": [UNTRANSFORMED],
    "MatMul": [
        ("ONNX Runtime does not clear products of nothing", lambda c: any(0 in a.shape for a in c.feeds.values())),
    ],
    "MatMulInteger": [SATURATED],
    "MaxPool": [OVERLOOKED, ROUNDED_UP],
    "AveragePool": [OVERLOOKED, ROUNDED_UP],
    "LpPool": [
        OVERLOOKED,
        ROUNDED_UP,
        ("ONNX Runtime pads by negative numbers where windows leave gaps", gaps),
    ],
    "com.microsoft.QLinearAveragePool": [
        ("ONNX Runtime pads by negative numbers where windows leave gaps", gaps),
        ROUNDED_UP,
    ],
    "com.microsoft.NhwcMaxPool": [OVERLOOKED, ROUNDED_UP],
    "QLinearConv": [SATURATED],
    "QLinearMatMul": [SATURATED],
    "QuantizeLinear": [
        ("the standard divides in the scale's type, ONNX Runtime float16 in float32", narrow_quotient),
    ],
    "ReduceLogSumExp": [
        ("ONNX Runtime rounds every exponential of integers", lambda c: c.types[0].kind in "iu"),
    ],
    "Resize": [
        TRUNCATED,
        (
            "ONNX Runtime overlooks the region of interest when it derives the extents of the result",
            lambda c: by_scales(c, "tf_crop_and_resize"),
        ),
        (
            "the official tests align corners with the exact product of extent and scale, ONNX Runtime with its floor",
            lambda c: by_scales(c, "align_corners"),
        ),
    ],
    "Shrink": [("ONNX Runtime rounds float64 to float32 on the way", lambda c: c.types[0] == np.float64)],
    "TreeEnsemble": [
        (
            "ONNX Runtime takes the numbers of two transforms for each other, and leaves the only score of a sample as it is",
            lambda c: any(a.i for a in c.nodes[-1].attribute if a.name == "post_transform"),
        ),
    ],
    "TreeEnsembleClassifier": [("ONNX Runtime leaves the score of the only class as it is", one_class)],
    "TreeEnsembleRegressor": [UNTRANSFORMED],
    "Upsample": [TRUNCATED],
}


def excused(case):
    """The reason why a case is left out, or None."""
    return next((reason for reason, test in EXCEPTIONS.get(case.op, []) if test(case)), None)
