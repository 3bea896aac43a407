"""What ONNX Runtime answers to small nodes, and how it is stored. oracles/microsoft/cases.py is the command."""

import argparse
import base64
import itertools
import json
import pathlib

import numpy as np
import onnxruntime as ort
from onnx import helper, numpy_helper

MICROSOFT = "com.microsoft"
ASKED = 2  # an output that is asked for and not stored, as part of it is left open
CASES = {}  # domain, seed and generator by operator
NUMBERS = itertools.count()
TOLERANCE = {"float64": 1e-10, "float32": 2e-6, "float16": 2e-3}  # of numbers; codes are exact


def cases(op, domain=MICROSOFT, seed=None):
    """Registers a generator of the cases of an operator; its values come from the seed.

    A case that ONNX Runtime does not run on CPUs, or not as documented, brings its outputs in the option "reference",
    and says so in its name.
    """

    def register(f):
        CASES[op] = (domain, next(NUMBERS) if seed is None else seed, f)
        return f

    return register


def answers(op, domain, attrs, inputs, wanted):
    """What ONNX Runtime computes; None for outputs that are not wanted."""
    ins = ["" if x is None else f"i{k}" for k, x in enumerate(inputs)]
    outs = [f"o{k}" if w else "" for k, w in enumerate(wanted)]
    node = helper.make_node(op, ins, outs, domain=domain, **attrs)
    given = {n: x for n, x in zip(ins, inputs) if x is not None}
    fed = {n: x for n, x in given.items() if x.dtype.isbuiltin == 1}  # types that numpy lacks are part of the model
    values = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in fed.items()
    ]
    constants = [numpy_helper.from_array(x, n) for n, x in given.items() if n not in fed]
    results = [helper.make_empty_tensor_value_info(n) for n in outs if n]
    graph = helper.make_graph([node], op, values, results, constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    got = iter(session.run(None, fed))
    list_ = [next(got) if w else None for w in wanted]
    return [None if w == ASKED else x for w, x in zip(wanted, list_)]


def stored(x):
    if x is None:
        return None
    if x.dtype == object:
        return {"type": "string", "shape": list(x.shape), "texts": x.ravel().tolist()}
    data = np.ascontiguousarray(x).tobytes() if x.dtype.isbuiltin == 1 else numpy_helper.from_array(x).raw_data
    name = str(x.dtype).replace("_", "").replace("e2m1fn", "e2m1")
    return {"type": name, "shape": list(x.shape), "data": base64.b64encode(data).decode()}


def attribute(v):
    if isinstance(v, str):
        return {"s": v}
    if isinstance(v, (list, tuple)):
        if any(isinstance(x, str) for x in v):
            return {"ss": list(v)}
        return {"fs": list(v)} if any(isinstance(x, float) for x in v) else {"is": list(v)}
    return {"f": v} if isinstance(v, float) else {"i": int(v)}


class Source:
    """Random values of a type."""

    def __init__(self, seed, dtype=np.float32):
        self.rng = np.random.default_rng(seed)
        self.dtype = dtype

    def __call__(self, *shape):
        return self.rng.standard_normal(shape).astype(self.dtype)

    def ints(self, low, high, *shape, dtype=np.int32):
        return self.rng.integers(low, high, shape).astype(dtype)


def codes(f, dtype, *shape):
    """Random codes of all values that the type has."""
    limits = np.iinfo(dtype)
    return np.array(f.rng.integers(limits.min, limits.max + 1, shape), dtype)


def scales(f, *shape):
    return np.array(f.rng.uniform(0.01, 0.03, shape), f.dtype)


def int32(*values):
    return np.array(values, np.int32)


def main():
    p = argparse.ArgumentParser(description="Writes small nodes with ONNX Runtime's answers.")
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    p.add_argument("dir", nargs="?", default=root / "runtime" / "op" / "standard" / "testdata" / "microsoft")
    p.add_argument("--only", help="write the cases of this operator alone")
    args = p.parse_args()
    ort.set_default_logger_severity(4)
    folder = pathlib.Path(args.dir)
    folder.mkdir(parents=True, exist_ok=True)
    for op, (domain, seed, generate) in CASES.items():
        if args.only and op != args.only:
            continue
        rows = []
        for case in generate(Source(seed)):
            name, attrs, inputs, wanted = case[:4]
            options = case[4] if len(case) > 4 else {}
            try:
                got = options["reference"] if "reference" in options else answers(op, domain, attrs, inputs, wanted)
            except Exception as e:
                raise SystemExit(f"{op}, {name}: {e}") from e
            tolerance = options.get("tol", TOLERANCE.get(str(next(x for x in got if x is not None).dtype), 0))
            rows.append({
                "name": name, "op": op, "domain": domain, "tol": tolerance,
                "attrs": {k: attribute(v) for k, v in attrs.items()},
                "in": [stored(x) for x in inputs], "out": [stored(x) for x in got],
            })  # fmt: skip
        text = "[\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in rows) + "\n]\n"
        (folder / f"{op.lower()}.json").write_text(text)
