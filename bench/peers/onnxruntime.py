"""Runs a model in ONNX Runtime for the benchmarks of this folder.

    onnxruntime.py MODEL THREADS [SYMBOL=SIZE ...] [INPUT:=NUMBER[,NUMBER ...] ...]

Answers each line of standard input with one line on standard output:

    run [N]     the seconds of a run, as the mean of N, one if N is left out
    bound [N]   the same of runs whose inputs and outputs stay where they are
    save PATH   writes the outputs to a file, as float32 one after the other
    memory      the bytes that the process holds, and the most that it held, beyond
                what it held before the session was made
    forget      makes the most that the process held what it holds
    many CALLERS RUNS   the seconds of RUNS runs, shared by CALLERS threads

Inputs are the model's, filled with a fixed ramp or with the numbers that are given, again and
again; a symbol gives open extents their size.
"""

import os
import signal
import sys
import threading
import time

sys.path = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]

import numpy as np
import onnxruntime as ort

signal.signal(signal.SIGINT, signal.SIG_IGN)  # which is for the program that asks; it closes the input

NUMPY = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64, "tensor(uint8)": np.uint8}


def held(field):
    try:
        with open("/proc/self/status") as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith(field + ":"))
    except OSError:
        return 0


model, threads = sys.argv[1], int(sys.argv[2])
numbers = dict(a.split(":=") for a in sys.argv[3:] if ":=" in a)
sizes = dict(a.split("=") for a in sys.argv[3:] if ":=" not in a)
before = held("VmRSS")
options = ort.SessionOptions()
options.intra_op_num_threads = threads
options.inter_op_num_threads = 1
# Its threads would go on looking for work while the other side is timed.
options.add_session_config_entry("session.force_spinning_stop", "1")
start = time.perf_counter()
session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
opened = time.perf_counter() - start
feeds = {}
for i in session.get_inputs():
    shape = [int(sizes.get(d, d)) for d in i.shape]
    n = int(np.prod(shape))
    ramp = np.arange(n) % 97
    values = ramp if "int" in i.type else ramp / 97
    if i.name in numbers:
        values = np.resize([float(x) for x in numbers[i.name].split(",")], n)
    feeds[i.name] = values.astype(NUMPY[i.type]).reshape(shape)


def mean(run, n):
    begin = time.perf_counter()
    for _ in range(n):
        run()
    return (time.perf_counter() - begin) / n


binding = None


def bound():
    global binding
    if binding:
        return lambda: session.run_with_iobinding(binding)
    binding = session.io_binding()
    for name, value in feeds.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(value))
    for out, value in zip(session.get_outputs(), session.run(None, feeds)):
        binding.bind_ortvalue_output(out.name, ort.OrtValue.ortvalue_from_numpy(value))
    return lambda: session.run_with_iobinding(binding)


def many(callers, runs):
    left = iter(range(runs))
    lock = threading.Lock()

    def call():
        while True:
            with lock:
                if next(left, None) is None:
                    return
            session.run(None, feeds)

    list_ = [threading.Thread(target=call) for _ in range(callers)]
    for t in list_:
        t.start()
    for t in list_:
        t.join()


def answer(request, args):
    if request in ("run", "bound"):
        run = bound() if request == "bound" else lambda: session.run(None, feeds)
        return mean(run, int(args[0]) if args else 1)
    if request == "save":
        with open(args[0], "wb") as f:
            for a in session.run(None, feeds):
                f.write(a.astype("<f4").tobytes())
        return "saved"
    if request == "memory":
        return f"{held('VmRSS') - before} {held('VmHWM') - before}"
    if request == "forget":
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
        return "forgotten"
    if request == "many":
        return mean(lambda: many(int(args[0]), int(args[1])), 1)
    raise ValueError(request)


print("ready", opened, flush=True)
for line in sys.stdin:
    request, *args = line.split()
    print(answer(request, args), flush=True)
