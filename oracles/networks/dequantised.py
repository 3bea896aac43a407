"""Networks of quantised values, computed in floating point."""

import numpy as np
import onnx
from onnx import numpy_helper


def weights(codes, scale, zero, axis):
    """What DequantizeLinear makes of constants."""
    shape = [1] * codes.ndim
    if scale.size > 1:
        shape[axis] = scale.size
    zero = np.zeros(scale.shape) if zero is None else zero.astype(np.float64)
    return ((codes.astype(np.float64) - zero.reshape(shape)) * scale.reshape(shape)).astype(scale.dtype)


def dequantised(path, to):
    """Writes the network with constants for dequantised constants, and without the pairs of QuantizeLinear and
    DequantizeLinear that round values between its nodes."""
    model = onnx.load(path)
    graph = model.graph
    constants = {t.name: t for t in graph.initializer}
    value = {name: numpy_helper.to_array(t) for name, t in constants.items()}
    coded = {n.output[0]: n.input[0] for n in graph.node if n.op_type == "QuantizeLinear"}
    plain, kept = {}, []
    for node in graph.node:
        if node.op_type == "QuantizeLinear":
            continue
        if node.op_type != "DequantizeLinear":
            kept.append(node)
        elif node.input[0] in coded:
            plain[node.output[0]] = coded[node.input[0]]
        else:
            axis = next((a.i for a in node.attribute if a.name == "axis"), 1)
            zero = value[node.input[2]] if len(node.input) > 2 and node.input[2] else None
            made = weights(value[node.input[0]], value[node.input[1]], zero, axis)
            graph.initializer.append(numpy_helper.from_array(made, node.output[0]))

    def source(name):
        while name in plain:
            name = plain[name]
        return name

    for node in kept:
        for i, name in enumerate(node.input):
            node.input[i] = source(name)
    del graph.node[:]
    graph.node.extend(kept)
    read = {name for node in kept for name in node.input}
    used = [t for t in graph.initializer if t.name in read]
    del graph.initializer[:]
    graph.initializer.extend(used)
    for output in graph.output:
        if output.name in plain:
            raise ValueError(f"output {output.name} of {path} is dequantised itself")
    del graph.value_info[:]
    onnx.checker.check_model(model)
    onnx.save(model, to)
