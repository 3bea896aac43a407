"""Runs a model in ONNX Runtime for bench/models_test.go.

    onnxruntime.py MODEL THREADS

Reads one line per run from standard input. "run" answers with the seconds of the
run on standard output; "save PATH" writes the outputs to a file, as float32 one after
the other, and answers "saved". Inputs are the model's, filled with a fixed ramp.
"""

import os
import sys
import time

sys.path = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]

import numpy as np
import onnxruntime as ort

model, threads = sys.argv[1], int(sys.argv[2])
options = ort.SessionOptions()
options.intra_op_num_threads = threads
options.inter_op_num_threads = 1
# Its threads would go on looking for work while the other side is timed.
options.add_session_config_entry("session.force_spinning_stop", "1")
session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
feeds = {}
for i in session.get_inputs():
    n = int(np.prod(i.shape))
    feeds[i.name] = (np.arange(n, dtype=np.float32) % 97 / 97).reshape(i.shape)
print("ready", ort.__version__, flush=True)
for line in sys.stdin:
    request, _, path = line.strip().partition(" ")
    start = time.perf_counter()
    answers = session.run(None, feeds)
    seconds = time.perf_counter() - start
    if request == "save":
        with open(path, "wb") as f:
            for a in answers:
                f.write(a.astype("<f4").tobytes())
        print("saved", flush=True)
    else:
        print(seconds, flush=True)
