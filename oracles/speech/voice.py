"""Makes small voices of Piper, with what ONNX Runtime answers.

    .venv/bin/python oracles/speech/voice.py speech/testdata

tiny.onnx has one speaker and tiny3.onnx three. Their inputs, outputs and operators are those of the voices that Piper
exports, with few channels and random weights: a table of phonemes, lengths with noise, a path from frames to
phonemes, noise, and transposed convolutions. Answers are in tiny.answers.json, without noise.
"""

import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

SYMBOLS = list("_^$ !'(),-.:;?abcdefhijklmnopqrstuvwxyzæçðøħŋœɐɑɒɔəɚɛɜɡɪɹɾʃʊʌʒˈˌːθ") + ["\u0303", "\u0329"]
WIDTH, RATE = 8, 16000
STRIDES = (8, 8)
SPEAKERS = ["anna", "ben", "cleo"]


class Net:
    def __init__(self, seed):
        self.nodes, self.weights, self.rng = [], [], np.random.default_rng(seed)

    def op(self, kind, *inputs, **attributes):
        inputs = [self.constant(i) if isinstance(i, np.ndarray) else i for i in inputs]
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def constant(self, value):
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def random(self, *shape, scale=0.4):
        return (self.rng.normal(size=shape) * scale).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def floats(*values):
    return np.array(values, np.float32)


def voice(speakers):
    n = Net(7 + speakers)
    x = n.op("Gather", n.random(len(SYMBOLS), WIDTH, scale=1.0), "input")
    if speakers > 1:
        x = n.op("Add", x, n.op("Unsqueeze", n.op("Gather", n.random(speakers, WIDTH, scale=1.0), "sid"), ints(1)))
    x = n.op("Transpose", x, perm=[0, 2, 1])  # [1,width,phonemes]
    x = n.op("Relu", n.op("Conv", x, n.random(WIDTH, WIDTH, 3), n.random(WIDTH), pads=[1, 1]))
    noise, length, noise_w = (n.op("Slice", "scales", ints(i), ints(i + 1)) for i in range(3))
    log = n.op("Conv", x, n.random(1, WIDTH, 1, scale=0.1), floats(0.7))
    log = n.op("Add", log, n.op("Mul", n.op("RandomNormalLike", log), n.op("Mul", noise_w, floats(0.3))))
    w = n.op("Ceil", n.op("Mul", n.op("Exp", log), length))  # frames of each phoneme, [1,1,phonemes]
    ends = n.op("CumSum", w, np.array(2, np.int32))
    total = n.op("Cast", n.op("ReduceMax", ends, axes=[0, 1, 2], keepdims=0), to=TensorProto.INT64)
    frame = n.op("Range", np.array(0, np.int64), total, np.array(1, np.int64))
    frame = n.op("Unsqueeze", n.op("Cast", frame, to=TensorProto.FLOAT), ints(0, 2))  # [1,frames,1]
    before = n.op("Cast", n.op("Less", frame, ends), to=TensorProto.FLOAT)
    started = n.op("Cast", n.op("Less", frame, n.op("Sub", ends, w)), to=TensorProto.FLOAT)
    path = n.op("Sub", before, started)  # [1,frames,phonemes], 1 where a frame is of a phoneme
    z = n.op("Transpose", n.op("MatMul", path, n.op("Transpose", x, perm=[0, 2, 1])), perm=[0, 2, 1])
    z = n.op("Add", z, n.op("Mul", n.op("RandomNormalLike", z), noise))
    width = WIDTH
    for stride in STRIDES:
        wide = max(1, width // 2)
        z = n.op("LeakyRelu", z, alpha=0.1)
        z = n.op("ConvTranspose", z, n.random(width, wide, 2 * stride), n.random(wide, scale=0.1), strides=[stride],
                 kernel_shape=[2 * stride], pads=[stride // 2, stride // 2])  # fmt: skip
        width = wide
    z = n.op("Conv", n.op("LeakyRelu", z), n.random(1, width, 7), pads=[3, 3])
    z = n.op("Tanh", z)
    n.nodes.append(helper.make_node("Unsqueeze", [z, n.constant(ints(1))], ["output"], name="out"))
    lengths = helper.make_tensor_value_info
    inputs = [
        lengths("input", TensorProto.INT64, ["batch_size", "phonemes"]),
        lengths("input_lengths", TensorProto.INT64, ["batch_size"]),
        lengths("scales", TensorProto.FLOAT, [3]),
    ]
    if speakers > 1:
        inputs.append(lengths("sid", TensorProto.INT64, ["batch_size"]))
    outputs = [lengths("output", TensorProto.FLOAT, ["batch_size", "time", 1, "samples"])]
    graph = helper.make_graph(n.nodes, "tiny", inputs, outputs, n.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8, producer_name="nacre")
    onnx.checker.check_model(model)
    return model


def config(speakers):
    return {
        "audio": {"sample_rate": RATE, "quality": "tiny"},
        "espeak": {"voice": "en-us"},
        "inference": {"noise_scale": 0.667, "length_scale": 1, "noise_w": 0.8},
        "phoneme_type": "espeak",
        "phoneme_map": {},
        "phoneme_id_map": {s: [i] for i, s in enumerate(SYMBOLS)},
        "num_symbols": len(SYMBOLS),
        "num_speakers": speakers,
        "speaker_id_map": {s: i for i, s in enumerate(SPEAKERS)} if speakers > 1 else {},
        "language": {"code": "en_US", "family": "en", "region": "US"},
    }


def numbers(phonemes):
    ids = [1, 0]
    for p in phonemes:
        ids += [SYMBOLS.index(p), 0]
    return ids + [2]


def main():
    to = pathlib.Path(sys.argv[1])
    answers = []
    for name, speakers in (("tiny", 1), ("tiny3", 3)):
        model = voice(speakers)
        onnx.save(model, to / f"{name}.onnx")
        with (to / f"{name}.onnx.json").open("w") as f:
            json.dump(config(speakers), f, ensure_ascii=False, separators=(",", ":"))
        session = onnxruntime.InferenceSession(to / f"{name}.onnx")
        for phonemes, speed, speaker in (("həlˈoʊ.", 1, 0), ("wˈʌn", 2, speakers - 1)):
            ids = numbers(phonemes)
            inputs = {"input": np.array([ids]), "input_lengths": ints(len(ids)), "scales": floats(0, 1 / speed, 0)}
            if speakers > 1:
                inputs["sid"] = ints(speaker)
            (sound,) = session.run(None, inputs)
            answers.append({
                "voice": name, "phonemes": phonemes, "ids": ids, "speed": speed, "speaker": speaker,
                "samples": sound.size, "every": 16, "sound": [round(float(x), 6) for x in sound.ravel()[::16]],
            })  # fmt: skip
    with (to / "tiny.answers.json").open("w") as f:
        json.dump(answers, f, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main()
