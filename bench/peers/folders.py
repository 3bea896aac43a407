"""Runs models in ONNX Runtime, one after the other, on one thread.

Answers each line of standard input with one line on standard output:

    folder PATH    opens PATH/model.onnx with the inputs PATH/test_data_set_0/input_K.pb
    answers PATH   runs it, and writes the tensors that it gives to PATH_K.pb
    run N          the seconds of a run, as the mean of N
    open PATH      the seconds that making a session of a model takes
    first PATH     the same, with a first run on a ramp

Results are made and released in every run, and stay in ONNX Runtime's memory. A request that
fails is answered with "error" and the reason.
"""

import glob
import os
import signal
import sys
import time

sys.path = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper

signal.signal(signal.SIGINT, signal.SIG_IGN)  # which is for the program that asks; it closes the input
ort.set_default_logger_severity(4)

NUMPY = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}


def session(path):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def number(path):
    return int(path.rsplit("_", 1)[1].removesuffix(".pb"))


class Model:
    def __init__(self, folder):
        self.session = session(os.path.join(folder, "model.onnx"))
        paths = sorted(glob.glob(os.path.join(folder, "test_data_set_0", "input_*.pb")), key=number)
        values = [numpy_helper.to_array(onnx.load_tensor(p)) for p in paths]
        self.feeds = {i.name: v for i, v in zip(self.session.get_inputs(), values, strict=True)}
        self.bound = None
        values = self.session.get_inputs() + self.session.get_outputs()
        if all(v.type.startswith("tensor") and v.type != "tensor(string)" for v in values):  # others cannot be bound
            self.bound = self.session.io_binding()
            for name, value in self.feeds.items():
                self.bound.bind_cpu_input(name, value)
            for o in self.session.get_outputs():
                self.bound.bind_output(o.name, "cpu")

    def run(self):
        if self.bound:
            self.session.run_with_iobinding(self.bound)
        else:
            self.session.run(None, self.feeds)

    def answers(self, path):
        arrays = flat(self.session.run(None, self.feeds))
        for k, a in enumerate(arrays):
            onnx.save_tensor(numpy_helper.from_array(np.asarray(a)), f"{path}_{k}.pb")


def flat(value):
    """The arrays of a value: of a map its keys, then its values."""
    if isinstance(value, (list, tuple)):
        return [a for v in value for a in flat(v)]
    if isinstance(value, dict):
        return [named(list(value)), np.asarray(list(value.values()), np.float32)]
    return [] if value is None else [value]


def named(keys):
    return np.asarray(keys, object if isinstance(keys[0], str) else np.int64)


def opened(path, run):
    start = time.perf_counter()
    s = session(path)
    took = time.perf_counter() - start
    if run:
        feeds = {}
        for i in s.get_inputs():
            n = int(np.prod(i.shape))
            ramp = np.arange(n) % 97
            feeds[i.name] = (ramp if i.type == "tensor(int64)" else ramp / 97).astype(NUMPY[i.type]).reshape(i.shape)
        start = time.perf_counter()
        s.run(None, feeds)
        took += time.perf_counter() - start
    return took


model = None


def answer(request, argument):
    global model
    if request == "folder":
        model = None
        model = Model(argument)
        return "opened"
    if request == "answers":
        model.answers(argument)
        return "written"
    if request in ("open", "first"):
        return opened(argument, request == "first")
    if request == "run":
        n = int(argument)
        run = model.run
        begin = time.perf_counter()
        for _ in range(n):
            run()
        return (time.perf_counter() - begin) / n
    raise ValueError(request)


print("ready 0", flush=True)
for line in sys.stdin:
    try:
        result = answer(*line.rstrip("\n").split(" ", 1))
    except Exception as e:  # the request is answered with it
        result = "error " + " ".join(str(e).split())
    print(result, flush=True)
