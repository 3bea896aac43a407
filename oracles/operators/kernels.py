"""Prints the operators that ONNX Runtime's CPU has kernels for, one "domain operator" per line.

python oracles/operators/kernels.py          prints them
python oracles/operators/kernels.py FILE     fails if the file says otherwise
"""

import sys

import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as state


def kernels():
    found = {
        (k.domain or "ai.onnx", k.op_name) for k in state.get_all_opkernel_def() if k.provider == "CPUExecutionProvider"
    }
    lines = [
        f"# Kernels of the CPU of ONNX Runtime {onnxruntime.__version__}, as oracles/operators/kernels.py prints them."
    ]
    return lines + [" ".join(pair) for pair in sorted(found)]


def main():
    text = "\n".join(kernels()) + "\n"
    if len(sys.argv) < 2:
        sys.stdout.write(text)
        return
    with open(sys.argv[1]) as f:
        if f.read() != text:
            sys.exit(f"{sys.argv[1]} is out of date: oracles/operators/kernels.py prints it anew")


if __name__ == "__main__":
    main()
