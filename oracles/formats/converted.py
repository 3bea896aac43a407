"""Runs converted networks with ONNX Runtime and compares the outputs.

    python oracles/formats/converted.py DIR [--rtol R] [--atol A]

DIR has folders, at any depth, of model.onnx and test_data_set_K with input_*.pb and output_*.pb, whose tensors have
the names of inputs and outputs. Prints a line for each model and exits with 1 if one disagrees or there is none.
"""

import argparse
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper


def tensors(folder, kind):
    named = {}
    for path in sorted(folder.glob(f"{kind}_*.pb")):
        proto = onnx.TensorProto.FromString(path.read_bytes())
        named[proto.name] = numpy_helper.to_array(proto)
    return named


def check(path, rtol, atol):
    """Returns the number of outputs compared, and what is wrong."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    onnx.checker.check_model(str(path))
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    known = {v.name for v in session.get_outputs()}
    compared, wrong = 0, []
    for folder in sorted(path.parent.glob("test_data_set_*")):
        want = {n: x for n, x in tensors(folder, "output").items() if n in known}
        for name, got in zip(want, session.run(list(want), tensors(folder, "input"))):
            compared += 1
            if got.shape != want[name].shape or got.dtype != want[name].dtype:
                wrong.append(f"{name} is {got.dtype}{got.shape}, not {want[name].dtype}{want[name].shape}")
            elif not np.allclose(got, want[name], rtol=rtol, atol=atol, equal_nan=True):
                wrong.append(
                    f"{name} is off by {np.abs(got.astype(np.float64) - want[name].astype(np.float64)).max():g}"
                )
    if not compared:
        wrong.append("nothing to compare")
    return compared, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--rtol", type=float, default=1e-4)
    parser.add_argument("--atol", type=float, default=1e-4)
    args = parser.parse_args()
    models = sorted(args.dir.rglob("model.onnx"))
    failed = 0
    for path in models:
        try:
            compared, wrong = check(path, args.rtol, args.atol)
        except Exception as e:  # whatever keeps a network from being loaded or run is its failure
            compared, wrong = 0, [str(e).splitlines()[0]]
        failed += bool(wrong)
        print(f"{path.parent.relative_to(args.dir)}: {'; '.join(wrong) if wrong else f'ok, {compared} outputs'}")
    print(f"{len(models) - failed} passed, {failed} failed")
    sys.exit(1 if failed or not models else 0)


if __name__ == "__main__":
    main()
