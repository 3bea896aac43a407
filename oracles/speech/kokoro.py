"""Makes a small voice of Kokoro, with what ONNX Runtime answers.

    .venv/bin/python oracles/speech/kokoro.py speech/testdata/kokoro

Inputs, outputs and files are those of Kokoro; the network is a table of phonemes that a style shifts, and as many
frames of each as the speed leaves. Answers are in answers.json.
"""

import io
import json
import pathlib
import sys
import zipfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

SYMBOLS = {
    "$": 0,
    ";": 1,
    ".": 4,
    "!": 5,
    " ": 16,
    "A": 24,
    "O": 31,
    "a": 43,
    "k": 53,
    "o": 57,
    "ɡ": 92,
    "ɲ": 114,
    "ˈ": 156,
}
WIDTH, STYLE, FRAME, ROWS = 8, 256, 300, 6
random = np.random.default_rng(7)


def numbers(*shape, scale=1.0):
    return (random.standard_normal(shape) * scale).astype(np.float32)


def model():
    weights = {
        "table": numbers(178, WIDTH), "shift": numbers(STYLE, WIDTH, scale=0.1), "out": numbers(WIDTH, FRAME, scale=0.1),
        "four": np.float32([4]), "axis": np.int64([1]), "first": np.int64([0]), "one": np.int64([1]), "all": np.int64([-1]),
    }  # fmt: skip
    node = helper.make_node
    nodes = [
        node("Gather", ["table", "tokens"], ["x"]),
        node("MatMul", ["style", "shift"], ["s"]),
        node("Unsqueeze", ["s", "axis"], ["s1"]),
        node("Add", ["x", "s1"], ["y"]),
        node("Tanh", ["y"], ["z"]),
        node("MatMul", ["z", "out"], ["frames"]),
        node("Div", ["four", "speed"], ["n"]),
        node("Cast", ["n"], ["n1"], to=TensorProto.INT64),
        node("Concat", ["one", "one", "n1"], ["repeats"], axis=0),
        node("Tile", ["frames", "repeats"], ["long"]),
        node("Reshape", ["long", "all"], ["sound"]),
        node("Mul", ["sound", "tenth"], ["audio"]),
    ]
    weights["tenth"] = np.float32([0.1])
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "kokoro",
        [
            value("tokens", TensorProto.INT64, [1, "sequence_length"]),
            value("style", TensorProto.FLOAT, [1, STYLE]),
            value("speed", TensorProto.FLOAT, [1]),
        ],
        [value("audio", TensorProto.FLOAT, ["audio_length"])],
        [numpy_helper.from_array(v, k) for k, v in weights.items() if k != "first"],
    )
    m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="nacre")
    onnx.checker.check_model(m)
    return m


def main():
    to = pathlib.Path(sys.argv[1])
    to.mkdir(parents=True, exist_ok=True)
    onnx.save(model(), to / "tiny.onnx")
    (to / "vocab.json").write_text(json.dumps({"vocab": SYMBOLS}, ensure_ascii=False))
    styles = {"af_one": np.round(numbers(ROWS, 1, STYLE), 1), "jf_two": np.round(numbers(ROWS, 1, STYLE), 1)}
    with zipfile.ZipFile(to / "voices.npz", "w", zipfile.ZIP_DEFLATED) as z:
        for name, rows in styles.items():
            data = io.BytesIO()
            np.save(data, rows)
            z.writestr(zipfile.ZipInfo(name + ".npy"), data.getvalue(), zipfile.ZIP_DEFLATED)
    session = onnxruntime.InferenceSession(to / "tiny.onnx")
    answers = []
    for speaker, phonemes, speed in (("af_one", "kˈO aɲa.", 1), ("jf_two", "ka", 2), ("jf_two", "kakokakakokako", 1)):
        ids = [SYMBOLS[p] for p in phonemes]
        (sound,) = session.run(None, {
            "tokens": np.array([[0, *ids, 0]]), "style": styles[speaker][min(len(ids), ROWS) - 1],
            "speed": np.float32([speed]),
        })  # fmt: skip
        answers.append({
            "speaker": speaker, "phonemes": phonemes, "speed": speed, "samples": sound.size, "every": 64,
            "sound": [round(float(x), 6) for x in sound[::64]],
        })  # fmt: skip
    (to / "answers.json").write_text(json.dumps(answers, ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    main()
