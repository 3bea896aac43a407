"""Cases that are left out, because the teacher is wrong or the standard is silent. Each line says why."""

import numpy as np


def text(case, name):
    """An attribute of the node that the case is about, as text."""
    return next((a.s.decode() for a in case.nodes[-1].attribute if a.name == name), "")


def has(case, name):
    return any(a.name == name for a in case.nodes[-1].attribute)


def dilated_same(case):
    return text(case, "auto_pad").startswith("SAME") and has(case, "dilations")


def by_scales(case, mode):
    """Whether a Resize has that transformation, and scales rather than sizes."""
    return text(case, "coordinate_transformation_mode") == mode and len(case.nodes[-1].input) < 4


def interpolates_integers(case):
    return text(case, "mode") in ("linear", "cubic") and case.types[0].kind in "iu"


OVERLOOKED = ("ONNX Runtime overlooks dilations when it derives padding", dilated_same)
TRUNCATED = ("ONNX Runtime truncates interpolated integers, the reference rounds them", interpolates_integers)

EXCEPTIONS = {  # by operator: why, and which cases
    "Dropout": [
        (
            "before opset 12 nobody says what the mask of a run without training holds",
            lambda c: c.version < 12 and len(c.outputs) > 1,
        ),
    ],
    "MaxPool": [OVERLOOKED],
    "AveragePool": [OVERLOOKED],
    "LpPool": [OVERLOOKED],
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
    "Upsample": [TRUNCATED],
}


def excused(case):
    """The reason why a case is left out, or None."""
    return next((reason for reason, test in EXCEPTIONS.get(case.op, []) if test(case)), None)
