"""Converts the small decoders of the tests to ONNX and runs them in ONNX Runtime.

    .venv/bin/python oracles/hugging/converted.py build/nacre formats/huggingface/testdata build/hugging

Each must give the logits of its answer, with the prompt at once, in chunks and token by
token, and the same tokens behind it. ONNX Runtime must refuse the networks of REFUSED.
"""

import glob
import json
import os
import subprocess
import sys

import numpy as np
import onnxruntime

import weights

TOLERANCE = 1e-4

# What ONNX Runtime says of networks that it does not compute on the CPU, by model_type.
REFUSED = {"gpt_oss": "CPU MoE only supports interleaved SwiGLU"}


class Decoder:
    """A session with its cache of keys and values."""

    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.outputs = [o.name for o in self.session.get_outputs()]
        self.reset()

    def reset(self):
        self.past = {}
        for value in self.session.get_inputs():
            if value.name.startswith("past_key_values."):
                _, heads, _, size = value.shape
                self.past[value.name] = np.zeros((1, heads, 0, size), np.float32)

    def run(self, tokens):
        out = dict(zip(self.outputs, self.session.run(None, {"input_ids": np.array([tokens], np.int64), **self.past})))
        self.past = {name: out[name.replace("past_key_values", "present")] for name in self.past}
        return out["logits"][0]


def check(decoder, case):
    """What is wrong with a decoder, or the largest difference."""
    prompt, largest = case["prompt"], 0
    for key, chunks in (("chunked", case["chunks"]), ("steps", [1] * len(prompt)), ("logits", [len(prompt)])):
        decoder.reset()
        rows, at = [], 0
        for n in chunks:
            rows.append(decoder.run(prompt[at : at + n]))
            at += n
        got, want = np.concatenate(rows).ravel(), np.array(case.get(key) or case["logits"])
        difference = float(np.abs(got - want).max()) if got.shape == want.shape else np.inf
        if not difference <= TOLERANCE:
            raise SystemExit(f"{key}: the logits differ by {difference}")
        largest = max(largest, difference)
    last, tokens = rows[-1][-1], []
    for _ in case["next"]:
        tokens.append(int(last.argmax()))
        last = decoder.run(tokens[-1:])[-1]
    if tokens != case["next"]:
        raise SystemExit(f"tokens {tokens} follow, not {case['next']}")
    return largest


def main(nacre, data, out):
    files = sorted(glob.glob(os.path.join(data, "*.json")))
    if not files:
        raise SystemExit(f"{data} has no answers")
    largest, refused = 0, 0
    for file in files:
        name = os.path.splitext(os.path.basename(file))[0]
        with open(file) as f:
            case = json.load(f)
        folder = os.path.join(out, name)
        weights.folder(folder, case)
        path = os.path.join(out, name + ".onnx")
        subprocess.run([nacre, "convert", folder, path], check=True, capture_output=True)
        reason = REFUSED.get(case["config"]["model_type"])
        try:
            if reason is None:
                largest = max(largest, check(Decoder(path), case))
                continue
            Decoder(path)
            raise SystemExit("ONNX Runtime takes the network")
        except onnxruntime.capi.onnxruntime_pybind11_state.Fail as e:
            if reason is None or reason not in str(e):
                raise
            refused += 1
        except SystemExit as e:
            raise SystemExit(f"{name}: {e}") from e
    print(f"{len(files) - refused} decoders agree in ONNX Runtime, within {largest:.1e}; it refuses {refused}")


if __name__ == "__main__":
    main(*sys.argv[1:])
