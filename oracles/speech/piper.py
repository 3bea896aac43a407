"""Answers as ONNX Runtime does for a voice of Piper.

    python oracles/speech/piper.py VOICE.onnx < requests

A line of requests is JSON with ids, scales and, for a voice of several speakers, sid. The answer is the number of
samples, 4 bytes, and the samples as float32, both in little-endian order.
"""

import json
import sys

import numpy as np
import onnxruntime


def main():
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(sys.argv[1], options)
    for line in sys.stdin:
        request = json.loads(line)
        inputs = {
            "input": np.array([request["ids"]], np.int64),
            "input_lengths": np.array([len(request["ids"])], np.int64),
            "scales": np.array(request["scales"], np.float32),
        }
        if "sid" in request:
            inputs["sid"] = np.array([request["sid"]], np.int64)
        (sound,) = session.run(None, inputs)
        sys.stdout.buffer.write(np.array(sound.size, "<u4").tobytes() + sound.astype("<f4").tobytes())
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
