"""ONNX Runtime as the teacher: what it supports and what it answers."""

import functools

import numpy as np
import onnx
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as state

from generators import DOMAINS, MICROSOFT, WITHDRAWN

NUMPY = {
    "float": "float32",
    "double": "float64",
    "float16": "float16",
    "bool": "bool",
    "string": "object",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "uint8": "uint8",
    "uint16": "uint16",
    "uint32": "uint32",
    "uint64": "uint64",
}
FLOATS = [np.dtype(d) for d in ("float32", "float64", "float16")]


class Refused(Exception):
    """The teacher has no answer."""


@functools.cache
def newest():
    """The newest opset that ONNX Runtime has kernels for and onnx has schemas for."""
    onnxruntime.set_default_logger_severity(4)
    return min(onnx.defs.onnx_opset_version(), 25)


@functools.cache
def versions(op):
    """The versions of an operator that are in use, ascending."""
    where, all_ = DOMAINS.get(op, ""), onnx.defs.get_all_schemas_with_history()
    if where == MICROSOFT or op in WITHDRAWN:
        return [1]
    return sorted(s.since_version for s in all_ if s.domain == where and s.name == op and not (where and s.deprecated))


def since(op, opset):
    """The version of the operator that applies in the opset."""
    return max((v for v in versions(op) if v <= opset), default=0)


@functools.cache
def kernels():
    table = {}
    for k in state.get_all_opkernel_def():
        if k.provider == "CPUExecutionProvider" and k.domain == DOMAINS.get(k.op_name, ""):
            table.setdefault(k.op_name, []).append((k.version_range, k.type_constraints))
    return table


def bare(names):
    """The numpy types of names such as tensor(float)."""
    list_ = [n[len("tensor(") : -1] for n in names if n.startswith("tensor(")]
    return [np.dtype(NUMPY[n]) for n in list_ if n in NUMPY]


@functools.cache
def types(op, version, index):
    """Element types that the input of that index may have in ONNX Runtime. It runs float16 as float32 where it has no
    kernel, and operators that the standard defines by others as those."""
    schema = onnx.defs.get_schema(op, version, DOMAINS.get(op, ""))
    formal = schema.inputs[min(index, len(schema.inputs) - 1)]
    known = bare(
        {t for c in schema.type_constraints if c.type_param_str == formal.type_str for t in c.allowed_type_strs}
        or {formal.type_str}
    )
    found = set()
    for (low, high), constraints in kernels().get(op, []):
        if low <= version <= high:
            names = constraints.get(formal.type_str) or constraints.get(formal.name)
            found.update(bare(names) if names else known)
    if not found:
        found = set(FLOATS) & set(known) or set(known)
    if np.dtype("float16") in known and np.dtype("float32") in found:
        found.add(np.dtype("float16"))
    return sorted(found & set(known), key=lambda d: d.str)


def bound(session, names, feeds, shared):
    """The results of a run in which some outputs have the memory of inputs."""
    values = {n: onnxruntime.OrtValue.ortvalue_from_numpy(np.array(a)) for n, a in feeds.items()}
    binding = session.io_binding()
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    for name in names:
        if name in shared:
            binding.bind_ortvalue_output(name, values[shared[name]])
        else:
            binding.bind_output(name)
    session.run_with_iobinding(binding)
    return [np.array(v.numpy()) for v in binding.get_outputs()]


def answers(path, sets, shared):
    """What ONNX Runtime computes of each set of inputs, with no optimisation, in one thread: results by name. Where it
    has none, None; it must have some for the first. Shared has the inputs whose memory outputs must have."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    found = []
    for feeds in sets:
        try:
            if not found:
                session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
                names = [o.name for o in session.get_outputs()]
            run = bound(session, names, feeds, shared) if shared else session.run(names, feeds)
            found.append(dict(zip(names, run)))
        except Exception as e:  # its exceptions share no other base
            if not found:
                raise Refused(str(e).splitlines()[0]) from e
            found.append(None)
    return found
