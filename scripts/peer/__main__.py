"""Makes random models and lets ONNX Runtime answer them, in the form of the official ONNX tests.

    python scripts/peer DIR [--seed N] [--count N] [--only NUMBER] [--known FILE]

A case is a folder DIR/GROUP/NUMBER-NAME with model.onnx and test_data_set_0. The groups tell how results are to be
compared: exact, float32 (also networks that compute in float16, whose data.json widens the tolerance), float64.
The same seed and number make the same case. --known names the output of nacre devices --ops --json; models with
other operators are left out. It fails if an operator that must be tried has no generator.
"""

import argparse
import collections
import json
import os
import shutil
import sys

import numpy as np
from onnx import numpy_helper

import generators
import teacher
from case import Case
from exceptions import excused

# These register their generators.
import nets_chain, nets_image, nets_language, nets_sound  # noqa: E401,F401,I001
import ops_math, ops_neural, ops_reduce, ops_shape  # noqa: E401,F401

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


def network(name, rng, float_type):
    """A whole network."""
    case = Case(rng, int(rng.integers(7, 22)), None, float_type)
    generators.NETWORKS[name](case)
    return case


def make(name, seed, number, float_type="float32"):
    """The case of that number. Networks are the same with every type of their weights."""
    rng = np.random.default_rng([seed, number])
    if name in generators.NETWORKS:
        return network(name, rng, float_type)
    spans = [v for v in teacher.versions(name) if v <= teacher.newest()]
    since = int(rng.choice(spans[max(0, sum(v <= 7 for v in spans) - 1) :] or [1]))
    later = min([v - 1 for v in spans if v > since] + [teacher.newest()])
    case = Case(rng, int(rng.integers(max(7, since), max(7, since, later) + 1)), name)
    generators.OPERATORS[name](case)
    return case


def write(case, folder, double=None):
    """Writes the case, or its double in float64, or raises Refused. It returns the results."""
    shutil.rmtree(folder, ignore_errors=True)
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)
    try:
        case.storage.write(folder, case.model())
        results = teacher.answer(os.path.join(folder, "model.onnx"), case.feeds)
    except teacher.Refused:
        shutil.rmtree(folder)
        raise
    if double is not None:  # ONNX Runtime has convolutions in float32 only: what it computed is close
        case, results = double, {k: a.astype(np.float64) if a.dtype == np.float32 else a for k, a in results.items()}
    case.storage.write(folder, case.model(results))
    for kind, arrays in (
        ("input", [case.feeds[v.name] for v in case.inputs]),
        ("output", [results[name] for name in case.outputs]),
    ):
        for k, a in enumerate(arrays):
            with open(os.path.join(data, f"{kind}_{k}.pb"), "wb") as f:
                f.write(numpy_helper.from_array(np.asarray(a)).SerializeToString())
    return results


def half(case, results):
    """Whether the case computes in float16."""
    return case.float == np.float16 or any(a.dtype == np.float16 for a in [*case.feeds.values(), *results.values()])


def tolerance(folder, results):
    """Writes what float16 may be off: a few units of the last place of the largest result."""
    finite = [
        np.abs(a[np.isfinite(a)].astype(np.float64)).max(initial=0) for a in results.values() if a.dtype.kind == "f"
    ]
    with open(os.path.join(folder, "data.json"), "w") as f:
        json.dump({"rtol": 1e-2, "atol": 2e-3 * max([1.0, *finite])}, f)


def group(case, results):
    if case.exact or all(a.dtype.kind != "f" for a in results.values()) and case.op:
        return "exact"
    double = case.op and all(a.dtype == np.float64 for a in results.values())
    return "float64" if double else "float32"


def main():
    args = arguments()
    if lacking := generators.missing():
        sys.exit(f"peer: no generator for {', '.join(lacking)}")
    known = None
    if args.known:
        with open(args.known) as f:
            known = {row["name"] for row in json.load(f) if row["domain"] in ("", "ai.onnx")}
    tally, reasons = collections.Counter(), collections.Counter()
    numbers = [args.only] if args.only is not None else range(args.count)
    for number in numbers:
        name = args.name or subject(number)
        staging = os.path.join(args.dir, "staging")
        try:
            float_type = (
                FLOAT_TYPES[number // ONE_NETWORK_IN % len(FLOAT_TYPES)] if name in generators.NETWORKS else None
            )
            case = make(name, args.seed, number, "float16" if float_type == "float16" else "float32")
            if known is not None and (new := {n.op_type for n in case.nodes} - known):
                tally["not known"] += 1
                reasons[f"{name}: not known: {', '.join(sorted(new))}"] += 1
                continue
            double = make(name, args.seed, number, "float64") if float_type == "float64" else None
            if reason := excused(case):
                tally["excused"] += 1
                reasons[f"{name}: excused: {reason}"] += 1
                continue
            results = write(case, staging, double)
        except teacher.Refused as e:
            tally["refused"] += 1
            reasons[f"{name}: {e}"] += 1
            continue
        except Exception:
            print(f"peer: case {number} of seed {args.seed}, {name}", file=sys.stderr)
            raise
        if half(case, results):
            if not case.exact:
                tolerance(staging, results)
        where = group(case, results)
        tally[where] += 1
        folder = os.path.join(args.dir, where, f"{number:05d}-{name}-{case.opset}")
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(staging, folder)
    with open(os.path.join(args.dir, "left-out.txt"), "w") as f:
        f.writelines(f"{n} {text}\n" for text, n in reasons.most_common())
    print(", ".join(f"{n} {what}" for what, n in sorted(tally.items())))


main()
