"""Makes random models and lets ONNX Runtime answer them, in the form of the official ONNX tests.

    python oracles/peer DIR [--seed N] [--count N] [--only NUMBER] [--known FILE]

A case is a folder DIR/GROUP/NUMBER-NAME with model.onnx and test_data_set_0. The groups tell how results are to be
compared: exact, codes (one step apart at most), float32 (also networks that compute in float16, whose data.json widens the tolerance), float64.
The same seed and number make the same case. --known names the output of nacre devices --ops --json; models with
other operators are left out. It fails if an operator that must be tried has no generator or is not implemented.
left-out.txt says which cases are missing and why, and which operators nobody tries.
"""

import argparse
import collections
import json
import os
import shutil
import sys

import numpy as np
import onnx
from onnx import numpy_helper

import generators
import teacher
from case import Case
from exceptions import excused

# These register their generators, in an order that numbers of cases depend on.
# isort: off
import nets_attention  # noqa: F401
import nets_chain  # noqa: F401
import nets_image  # noqa: F401
import nets_language  # noqa: F401
import nets_sound  # noqa: F401
import ops_fused  # noqa: F401
import ops_learned  # noqa: F401
import ops_math  # noqa: F401
import ops_neural  # noqa: F401
import ops_quant  # noqa: F401
import ops_codes  # noqa: F401
import ops_recent  # noqa: F401
import ops_recurrent  # noqa: F401
import ops_reduce  # noqa: F401
import ops_search  # noqa: F401
import ops_shape  # noqa: F401
import ops_text  # noqa: F401
# isort: on

ONE_NETWORK_IN = 5  # cases
FLOAT_TYPES = ["float32"] * 5 + ["float16", "float64"]  # of networks, in turn


def arguments():
    p = argparse.ArgumentParser(prog="peer", description=__doc__.splitlines()[0])
    p.add_argument("dir")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=600)
    p.add_argument("--only", type=int, help="make the case of this number alone")
    p.add_argument("--name", help="make cases of this operator or network alone")
    p.add_argument("--known", help="JSON of the operators that are implemented")
    return p.parse_args()


def subject(number):
    """The network or the operator that the case of that number is about: they take turns."""
    networks, operators = list(generators.NETWORKS), list(generators.OPERATORS)
    k, rest = divmod(number, ONE_NETWORK_IN)
    if rest == 0:
        return networks[k % len(networks)]
    return operators[(number - k - 1) % len(operators)]


def make(name, seed, number, float_type=None):
    """The case of that number. Networks are the same with every type of their weights."""
    rng = np.random.default_rng([seed, number])
    if name in generators.NETWORKS:
        case = Case(rng, int(rng.integers(7, 22)), None, float_type)
        generators.NETWORKS[name](case)
        return case
    if name in generators.DOMAINS:
        case = Case(rng, int(rng.integers(9, 22)), name, version=int(rng.choice(teacher.versions(name))))
        generators.OPERATORS[name](case)
        return case
    spans = [v for v in teacher.versions(name) if v <= teacher.newest()]
    since = int(rng.choice(spans[max(0, sum(v <= 7 for v in spans) - 1) :]))
    later = min([v - 1 for v in spans if v > since] + [teacher.newest()])
    case = Case(rng, int(rng.integers(max(7, since), max(7, since, later) + 1)), name)
    generators.OPERATORS[name](case)
    return case


def feeds(case):
    """The values to run the case on: networks are run again, on shuffled values and on a batch of twice the size."""
    sets = [case.feeds]
    if case.op is None:
        rng = np.random.default_rng(0)
        sets.append({name: rng.permutation(a.reshape(-1)).reshape(a.shape) for name, a in case.feeds.items()})
        if case.inputs and not any(case.fixed(v) for v in case.inputs):
            sets.append({name: np.concatenate([a, a]) for name, a in case.feeds.items()})
    return sets


def write(case, folder, double=None):
    """Writes the case, or its double in float64, or raises Refused. It returns the results."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    case.storage.write(folder, case.model())
    answers = teacher.answers(os.path.join(folder, "model.onnx"), feeds(case), case.shared)
    answers = [a and case.mend(a) for a in answers]
    shown = double or case.shown or case  # ONNX Runtime has convolutions in float32 only: what it computed is close
    names = dict(zip(case.outputs, shown.outputs))
    answers = [a and {names[n]: v for n, v in a.items()} for a in answers]
    expected = answers if double is None else [a and {n: widened(v) for n, v in a.items()} for a in answers]
    shutil.rmtree(folder)
    os.makedirs(folder)
    shown.storage.write(folder, shown.model(expected))
    for k, (given, results) in enumerate(zip(feeds(shown), expected)):
        if results is None:
            continue
        data = os.path.join(folder, f"test_data_set_{k}")
        os.makedirs(data)
        save(data, "input", [given[v.name] for v in shown.inputs])
        save(data, "output", [results[n] for n in shown.outputs])
    return answers[0]


def widened(a):
    return a.astype(np.float64) if isinstance(a, np.ndarray) and a.dtype == np.float32 else a


def maps(list_):
    """A sequence of maps to floats as a message."""
    sequence = onnx.SequenceProto(elem_type=onnx.SequenceProto.MAP)
    for m in list_:
        message = sequence.map_values.add(key_type=onnx.TensorProto.INT64)
        for key, value in m.items():
            if isinstance(key, str):
                message.key_type = onnx.TensorProto.STRING
                message.string_keys.append(key.encode())
            else:
                message.keys.append(key)
            message.values.tensor_values.append(numpy_helper.from_array(np.float32(value).reshape(())))
        message.values.elem_type = onnx.SequenceProto.TENSOR
    return sequence


def save(folder, kind, arrays):
    for k, a in enumerate(arrays):
        message = maps(a) if isinstance(a, list) else numpy_helper.from_array(np.asarray(a))
        with open(os.path.join(folder, f"{kind}_{k}.pb"), "wb") as f:
            f.write(message.SerializeToString())


def half(case, results):
    """Whether the case computes in float16."""
    arrays = [a for a in [*case.feeds.values(), *results.values()] if not isinstance(a, list)]
    return case.float == np.float16 or any(a.dtype == np.float16 for a in arrays)


def tolerance(case, folder, results):
    """Writes what float16 may be off, relative to the largest result: networks add many roundings."""
    share = 2e-3 if case.op else 2e-2
    largest = max(np.abs(a[np.isfinite(a)].astype(np.float64)).max(initial=1) for a in results.values())
    with open(os.path.join(folder, "data.json"), "w") as f:
        json.dump({"rtol": 1e-2, "atol": share * largest}, f)


def group(case, results):
    arrays = [a for a in results.values() if not isinstance(a, list)]
    if case.close:
        return "codes"
    if case.exact or case.op and all(a.dtype.kind != "f" for a in arrays):
        return "exact"
    double = case.op and all(a.dtype == np.float64 for a in arrays)
    return "float64" if double else "float32"


class Run:
    """One run of the command: what became of its cases."""

    def __init__(self, args):
        self.args = args
        self.tally, self.reasons = collections.Counter(), collections.Counter()
        self.known = None
        if args.known:
            with open(args.known) as f:
                domains = {"ai.onnx", *generators.DOMAINS.values()}
                self.known = {row["name"] for row in json.load(f) if row["domain"] in domains}

    def left_out(self, what, why):
        self.tally[what] += 1
        self.reasons[f"{what}: {why}"] += 1

    def case(self, number):
        """Makes the case of that number and puts it into its group, or counts why not."""
        name, seed = self.args.name or subject(number), self.args.seed
        float_type = FLOAT_TYPES[number // ONE_NETWORK_IN % len(FLOAT_TYPES)]
        staging = os.path.join(self.args.dir, "staging")
        try:
            case = make(name, seed, number, "float32" if float_type == "float64" else float_type)
            if self.known is not None and (new := {n.op_type for n in case.nodes} - self.known):
                return self.left_out("not known", f"{name}: {', '.join(sorted(new))}")
            if reason := excused(case):
                return self.left_out("excused", f"{name}: {reason}")
            twin = make(name, seed, number, "float64") if case.op is None and float_type == "float64" else None
            results = write(case, staging, twin)
        except teacher.Refused as e:
            return self.left_out("refused", f"{name}: {e}")
        if half(case, results) and not case.exact:
            tolerance(case, staging, results)
        where = group(case, results)
        self.tally[where] += 1
        folder = os.path.join(self.args.dir, where, f"{number:05d}-{name}-{case.opset}")
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(staging, folder)


def main():
    args = arguments()
    if lacking := generators.missing():
        sys.exit(f"peer: no generator for {', '.join(lacking)}")
    run = Run(args)
    if run.known is not None and (lacking := set(generators.REQUIRED) - run.known):
        sys.exit(f"peer: not implemented: {', '.join(sorted(lacking))}")
    for number in range(args.count) if args.only is None else [args.only]:
        try:
            run.case(number)
        except Exception as e:
            e.add_note(f"peer: case {number} of seed {args.seed}")
            raise
    shutil.rmtree(os.path.join(args.dir, "staging"), ignore_errors=True)
    untried = sorted((run.known or set()) - {generators.bare(n) for n in generators.OPERATORS})
    with open(os.path.join(args.dir, "left-out.txt"), "w") as f:
        f.write(f"no generator: {' '.join(untried)}\n")
        f.writelines(f"{n} {text}\n" for text, n in run.reasons.most_common())
    print(", ".join(f"{n} {what}" for what, n in sorted(run.tally.items())))


main()
