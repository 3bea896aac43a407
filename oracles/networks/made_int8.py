"""Networks in integers, as the quantiser of ONNX Runtime writes them from others that are made here."""

import os

import numpy as np

# Modules add their rows.
import made_detection  # noqa: F401
import made_language  # noqa: F401
import made_sight  # noqa: F401
import made_speech  # noqa: F401
from made import made
from network import TABLE

flips = {"tolerance": {"rtol": 1e-2, "atol": 0.05}, "why": "a step of int8 flips"}


def quantised(name, of, what, how, sets=8, **options):
    """A row: another made network in integers of 8 bits, by its inputs as a rule."""
    row = TABLE[of]

    def model(path):
        from onnxruntime import quantization as q
        from onnxruntime.quantization.shape_inference import quant_pre_process

        plain, ready = path + ".plain", path + ".ready"
        row.model(plain)
        quant_pre_process(plain, ready, skip_symbolic_shape=True)
        if how == "dynamic":
            q.quantize_dynamic(ready, path, **options)
        else:
            rng = np.random.default_rng(1)
            samples = [s for _ in range(sets) for s in row.feeds(rng)]

            class Reader(q.CalibrationDataReader):
                def __init__(self):
                    self.left = iter(samples)

                def get_next(self):
                    return next(self.left, None)

            form = q.QuantFormat.QOperator if how == "operators" else q.QuantFormat.QDQ
            q.quantize_static(ready, path, Reader(), quant_format=form, **options)
        os.remove(plain)
        os.remove(ready)

    made(name, "integers", what, "onnxruntime", row.feeds, model, **flips)


quantised("keyword_qdq", "keyword", "keyword spotting, QDQ", "qdq")
quantised("keyword_qdq_channels", "keyword", "keyword spotting, QDQ, a scale for each channel", "qdq", per_channel=True)
quantised("keyword_operators", "keyword", "keyword spotting, operators on codes", "operators")
quantised("keyword_dynamic", "keyword", "keyword spotting, scales found while it runs", "dynamic")
quantised("resnet18_qdq", "resnet18", "residual network, QDQ", "qdq", sets=1)
quantised("mobilenet_v2_qdq", "mobilenet_v2", "inverted residuals, QDQ", "qdq", sets=1)
quantised("resnet18_operators", "resnet18", "residual network, operators on codes", "operators", sets=1)
quantised(
    "mobilenet_v3_operators", "mobilenet_v3", "inverted residuals with gates, operators on codes", "operators", sets=1
)
quantised("bert_dynamic", "bert", "BERT, scales found while it runs", "dynamic")
quantised("bert_qdq", "bert", "BERT, QDQ", "qdq")
quantised("vit_qdq", "vit", "ViT, QDQ", "qdq", sets=2)
quantised("crnn_dynamic", "crnn", "CRNN, scales found while it runs", "dynamic")
quantised("wav2vec2_dynamic", "wav2vec2", "wav2vec 2.0, scales found while it runs", "dynamic")
