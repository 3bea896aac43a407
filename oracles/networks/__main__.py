"""Writes networks with inputs and ONNX Runtime's answers, in the form of the official ONNX tests.

    python oracles/networks DIR [--group trained|made] [--only REGEXP] [--again]
    python oracles/networks DIR --table OUTCOMES.json [--page NETWORKS.md]

DIR/NAME holds model.onnx, test_data_set_K and, where the network is compared with a tolerance of its own, data.json. A
folder that is there is left as it is, unless --again. ONNX Runtime answers in one thread, with no optimisation; how far
its answers move when it optimises goes to about.json, and of networks with a tolerance of their own how far they move
when every weight in floating point is perturbed by one ulp: an agreement closer than that means nothing.
Of networks that decide by a threshold, data.json holds the threshold, and a set counts only where all these variants of
the network, and its reference in floating point, decide alike and the score is not near the threshold.
--table prints Markdown from what nacre conformance --json wrote of DIR, or puts it into the block "networks" of a file.
"""

import argparse
import json
import os
import re
import shutil
import tempfile
import zlib

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

# Modules add their rows.
import made_detection  # noqa: F401
import made_genai  # noqa: F401
import made_int8  # noqa: F401
import made_language  # noqa: F401
import made_sight  # noqa: F401
import made_speech  # noqa: F401
import made_trees  # noqa: F401
import table
import trained_sight  # noqa: F401
import trained_speech  # noqa: F401
import trained_tables  # noqa: F401
from network import TABLE


def arguments():
    p = argparse.ArgumentParser(prog="networks", description=__doc__.splitlines()[0])
    p.add_argument("dir")
    p.add_argument("--group", choices=["trained", "made"])
    p.add_argument("--only", default="", help="networks whose name matches this expression")
    p.add_argument("--again", action="store_true", help="also those that are there")
    p.add_argument("--table", metavar="OUTCOMES", help="print what became of the networks")
    p.add_argument("--page", help="the file to put that into")
    return p.parse_args()


LEVELS = onnxruntime.GraphOptimizationLevel


def session(path, level):
    o = onnxruntime.SessionOptions()
    o.graph_optimization_level = level
    o.intra_op_num_threads = o.inter_op_num_threads = 1
    o.log_severity_level = 3
    return onnxruntime.InferenceSession(path, o, providers=["CPUExecutionProvider"])


def save(folder, kind, names, values):
    """Writes the values that there are, numbered by the place of their name."""
    for k, name in enumerate(names):
        if name in values:
            proto = numpy_helper.from_array(np.asarray(values[name]), name)
            onnx.save_tensor(proto, os.path.join(folder, f"{kind}_{k}.pb"))


def distance(got, want):
    """The largest difference, as a share of the largest expected magnitude: what conformance calls the error."""
    if not isinstance(want, np.ndarray) or want.dtype.kind not in "fiu" or got.shape != want.shape or not want.size:
        return 0.0
    got, want = got.astype(np.float64), want.astype(np.float64)
    return float(np.abs(got - want).max() / (np.abs(want).max() or 1))


def graphs(graph):
    yield graph
    for node in graph.node:
        for a in node.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                yield from graphs(a.g)


def nudged(path, seed):
    """The same network, each weight in floating point one step up or down."""
    model, rng = onnx.load(path), np.random.default_rng(seed)
    for graph in graphs(model.graph):
        for tensor in graph.initializer:
            w = numpy_helper.to_array(tensor)
            if w.dtype in (np.float16, np.float32, np.float64):
                to = rng.choice(np.array([-np.inf, np.inf], w.dtype), w.shape)
                tensor.CopyFrom(numpy_helper.from_array(np.where(w == 0, w, np.nextafter(w, to)), tensor.name))
    return model.SerializeToString()


def variants(network, path):
    """Sessions of the network in other forms, by the name that about.json has for how far their answers are."""
    others = {"ort_moves": [session(path, LEVELS.ORT_ENABLE_ALL)]}
    if network.tolerance:
        others["weights_move"] = [session(nudged(path, seed), LEVELS.ORT_DISABLE_ALL) for seed in range(4)]
    if network.reference:
        with tempfile.TemporaryDirectory() as scratch:
            to = os.path.join(scratch, "reference.onnx")
            network.reference(path, to)
            others["reference"] = [session(to, LEVELS.ORT_DISABLE_ALL)]
    return others


class Decisions:
    """Which sets of a network with a threshold count."""

    def __init__(self, network):
        self.network, self.threshold, self.counts = network, network.tolerance.get("threshold"), {False: 0, True: 0}

    def clear(self, scores, others):
        """Whether scores are away from the threshold and on the same side of it in all of others."""
        if self.threshold is None:
            return True
        alike = all(((o > self.threshold) == (scores > self.threshold)).all() for o in others)
        if not alike or np.abs(scores - self.threshold).min() < self.network.margin:
            return False
        for score in scores.flat:
            self.counts[bool(score > self.threshold)] += 1
        return True

    def check(self):
        if self.threshold is not None and min(self.counts.values()) < 3:
            raise ValueError(f"{self.network.name}: decisions are {self.counts}; three of each are needed")


def answer(network, path, folder):
    """Writes the network's inputs and ONNX Runtime's answers to them, and returns how far others of it answer."""
    plain, others, decisions = session(path, LEVELS.ORT_DISABLE_ALL), variants(network, path), Decisions(network)
    inputs, outputs = [v.name for v in plain.get_inputs()], [v.name for v in plain.get_outputs()]
    # The numbers depend on the name alone, so that a row more leaves the other networks as they are.
    feeds = network.feeds(np.random.default_rng(zlib.crc32(network.name.encode())))
    answers, moved = None, dict.fromkeys(others, 0.0)
    k = 0
    while True:
        try:
            given = feeds.send(answers)
        except StopIteration:
            decisions.check()
            return moved | {"sets": k}
        answers = dict(zip(outputs, plain.run(outputs, given)))
        for name, v in answers.items():
            if isinstance(v, np.ndarray) and v.dtype.kind == "f" and not np.isfinite(v).all():
                raise ValueError(f"{network.name}: output {name} of ONNX Runtime is not finite")
        theirs = {kind: [s.run(outputs, given) for s in sessions] for kind, sessions in others.items()}
        if not decisions.clear(answers[outputs[0]], [run[0] for runs in theirs.values() for run in runs]):
            continue
        for kind, runs in theirs.items():
            for run in runs:
                moved[kind] = max([moved[kind], *map(distance, run, answers.values())])
        data = os.path.join(folder, f"test_data_set_{k}")
        os.makedirs(data)
        save(data, "input", inputs, given)
        save(data, "output", outputs, answers)
        k += 1


def write(network, folder):
    """Makes the folder of a network."""
    shutil.rmtree(folder, ignore_errors=True)
    staging = folder + ".part"
    shutil.rmtree(staging, ignore_errors=True)
    os.makedirs(staging)
    path = os.path.join(staging, "model.onnx")
    network.model(path)
    about = answer(network, path, staging)
    with open(os.path.join(staging, "about.json"), "w") as f:
        json.dump(about, f)
    if network.tolerance:
        with open(os.path.join(staging, "data.json"), "w") as f:
            json.dump(network.tolerance, f)
    os.rename(staging, folder)


def main():
    args = arguments()
    if args.table:
        text = table.markdown(args.dir, args.table)
        return table.insert(args.page, text) if args.page else print(text, end="")
    for network in TABLE.values():
        folder = os.path.join(args.dir, network.name)
        wanted = args.group in (None, network.group) and re.search(args.only, network.name)
        if not wanted or os.path.exists(folder) and not args.again:
            continue
        print(f"networks: {network.name}", flush=True)
        write(network, folder)


main()
