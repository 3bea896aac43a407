"""Compares programs of OpenInfer, converted to ONNX, with ONNX Runtime.

programs.py NACRE GRAPHS WORK: every run in the folder GRAPHS is converted by the command NACRE,
runs in ONNX Runtime step by step with its states, and must give the stored outputs. Runs whose
operators ONNX lacks are listed and not counted.
"""

import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper


def convert(nacre, *args):
    """Returns why a conversion was refused; empty where it was not."""
    done = subprocess.run([nacre, "convert", *map(str, args)], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def beside(folder, path):
    """Finds a file whose path begins at a folder at or above another."""
    parts = pathlib.PurePosixPath(path).parts
    for at in [folder, *folder.parents]:
        for i in range(len(parts)):
            file = at.joinpath(*parts[i:])
            if file.exists():
                return file
    raise SystemExit(f"{path} is not at or above {folder}")


def tensors(nacre, file, work):
    """Reads the tensors of a file by way of ONNX."""
    out = work / "tensors.onnx"
    why = convert(nacre, file, out, "--drop-metadata")
    if why:
        raise SystemExit(why)
    return {t.name: numpy_helper.to_array(t) for t in onnx.load(out).graph.initializer}


def run(session, case, io):
    """Runs the steps and compares."""
    zeros = {
        "tensor(float)": np.float32,
        "tensor(double)": np.float64,
        "tensor(int32)": np.int32,
        "tensor(int64)": np.int64,
        "tensor(bool)": np.bool_,
        "tensor(float16)": np.float16,
        "tensor(int8)": np.int8,
        "tensor(uint8)": np.uint8,
    }
    state = {i.name: np.zeros(i.shape, zeros[i.type]) for i in session.get_inputs() if i.name.startswith("past.")}
    names = [o.name for o in session.get_outputs()]
    for number, step in enumerate(case["steps"]):
        inputs = state | {name: io[key] for name, key in step["inputs"].items()}
        out = dict(zip(names, session.run(None, inputs)))
        state = {name: out["present." + name.removeprefix("past.")] for name in state}
        for name, key in step["outputs"].items():
            got = out.get(name, out.get(name + ".out", out.get("present." + name)))
            tolerance = case["tolerance"]
            np.testing.assert_allclose(
                got,
                io[key],
                rtol=tolerance["rel"],
                atol=tolerance["abs"],
                err_msg=f"{case['name']}, step {number}, {name}",
            )


def main(nacre, graphs, work):
    work.mkdir(parents=True, exist_ok=True)
    agreed = 0
    for file in sorted(graphs.glob("*.json")):
        case = json.loads(file.read_text())
        if "graph" not in case:
            continue
        out = work / (case["name"] + ".onnx")
        why = convert(nacre, graphs / case["graph"], out, "--model", beside(graphs, case["model"]))
        if "no operators with the meaning" in why:
            print(case["name"], "is not in ONNX:", why.strip().splitlines()[0])
            continue
        if why:
            raise SystemExit(why)
        onnx.checker.check_model(onnx.load(out))
        run(
            onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"]),
            case,
            tensors(nacre, graphs / case["io"], work),
        )
        agreed += 1
    print(agreed, "programs agree with ONNX Runtime")
    if not agreed:
        raise SystemExit("no program was compared")


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]))
