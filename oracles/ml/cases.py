"""Writes runtime/op/standard/testdata/ml: small nodes of the domain ai.onnx.ml with ONNX Runtime's answers.

    python oracles/ml/cases.py [DIR] [--only OP]

The same script makes the same cases, but for what another version of ONNX Runtime answers. Every operator is a
function of operators.py that yields (name, version, attributes, inputs).
"""

import argparse
import base64
import json
import pathlib

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

import operators

TOLERANCE = {"float64": 1e-12, "float32": 2e-6}
STEEP = 1e-4  # ONNX Runtime rounds steps of the probit transform to float32


def answers(op, version, attrs, inputs, outputs):
    names, results = [f"i{k}" for k in range(len(inputs))], [f"o{k}" for k in range(outputs)]
    node = helper.make_node(op, names, results, domain="ai.onnx.ml", **attrs)
    values = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in zip(names, inputs)
    ]
    graph = helper.make_graph([node], op, values, [helper.make_empty_tensor_value_info(n) for n in results])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip(names, inputs)))


def stored(x):
    if x.dtype.kind in "OU":
        return {"type": "string", "shape": list(x.shape), "texts": [str(s) for s in x.reshape(-1)]}
    data = np.ascontiguousarray(x).tobytes()
    return {"type": str(x.dtype), "shape": list(x.shape), "data": base64.b64encode(data).decode()}


def attribute(v):
    if isinstance(v, TensorProto):
        return {"t": stored(numpy_helper.to_array(v))}
    if isinstance(v, str):
        return {"s": v}
    if isinstance(v, list):
        kinds = {str: "ss", float: "fs", int: "is"}
        return {kinds[type(v[0])]: v}
    return {"f": v} if isinstance(v, float) else {"i": v}


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    p.add_argument("dir", nargs="?", default=root / "runtime" / "op" / "standard" / "testdata" / "ml")
    p.add_argument("--only", help="write the cases of this operator alone")
    args = p.parse_args()
    ort.set_default_logger_severity(4)
    folder = pathlib.Path(args.dir)
    folder.mkdir(parents=True, exist_ok=True)
    for number, (op, (outputs, generate)) in enumerate(operators.CASES.items()):
        if args.only and op != args.only:
            continue
        rows = []
        for name, version, attrs, inputs in generate(np.random.default_rng(number)):
            try:
                got = answers(op, version, attrs, inputs, outputs)
            except Exception as e:
                raise SystemExit(f"{op}, {name}: {e}") from e
            tolerance = max(TOLERANCE.get(str(x.dtype), 0) for x in got)
            if attrs.get("post_transform") == "PROBIT":
                tolerance = STEEP
            rows.append({
                "name": name, "op": op, "domain": "ai.onnx.ml", "version": version, "tol": tolerance,
                "attrs": {k: attribute(v) for k, v in attrs.items()},
                "in": [stored(x) for x in inputs], "out": [stored(x) for x in got],
            })  # fmt: skip
        text = "[\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in rows) + "\n]\n"
        (folder / f"{op.lower()}.json").write_text(text)


if __name__ == "__main__":
    main()
