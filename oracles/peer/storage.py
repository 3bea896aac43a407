"""How a model file keeps its weights: every way that the format allows."""

import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# The fields that may hold elements instead of raw_data.
TYPED = {"f": "float_data", "d": "double_data"}


class Storage:
    """The weights of one model. One way prevails in a file, as it does with exporters."""

    def __init__(self, case):
        self.case = case
        self.way = case.pick(["raw", "raw", "typed", "node", "external"])
        self.ir = case.pick([3, 4, 6, 8, 10]) if case.opset < 22 else 10
        self.input_share = 1.0 if self.ir < 4 else case.pick([0.0, 0.0, 0.5])
        self.weights_first = case.chance(0.5)
        self.initializers = []
        self.inputs = []  # weights that are also inputs: all of them before IR 4
        self.external = bytearray()

    def place(self, name, array):
        way = self.way if self.case.chance(0.8) else "raw"
        if way == "node" and array.dtype != object:
            self.case.nodes.append(helper.make_node("Constant", [], [name], value=self.tensor(name, array, "raw")))
            return
        self.initializers.append(self.tensor(name, array, way))
        if self.case.rng.random() < self.input_share:
            self.inputs.append(
                helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            )

    def tensor(self, name, array, way):
        if way == "typed" and array.dtype != object:
            return typed(name, array)
        if way == "external" and array.dtype != object and array.size > 8:
            return self.outside(name, array)
        return numpy_helper.from_array(array, name)

    def outside(self, name, array):
        """A tensor whose bytes are in weights.bin, beside the model."""
        self.external += bytes(self.case.pick([0, 0, 4, 60, 4096 - len(self.external) % 4096]))
        raw = array.tobytes()
        t = TensorProto(name=name, data_type=helper.np_dtype_to_tensor_dtype(array.dtype), dims=array.shape)
        t.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "weights.bin"), ("offset", len(self.external)), ("length", len(raw))):
            t.external_data.add(key=key, value=str(value))
        self.external += raw
        return t

    def rank(self, n):
        """Where a weight goes in the list of n inputs."""
        return 0 if self.weights_first else n

    def write(self, folder, model):
        onnx.save(model, os.path.join(folder, "model.onnx"))
        if self.external:
            with open(os.path.join(folder, "weights.bin"), "wb") as f:
                f.write(self.external)


def typed(name, array):
    """A tensor in the repeated field of its type."""
    t = TensorProto(name=name, data_type=helper.np_dtype_to_tensor_dtype(array.dtype), dims=array.shape)
    flat = array.reshape(-1)
    if flat.dtype == np.float16:
        t.int32_data.extend(flat.view(np.uint16).tolist())
    elif flat.dtype in (np.float32, np.float64):
        getattr(t, TYPED[flat.dtype.char]).extend(flat.tolist())
    elif flat.dtype == np.int64:
        t.int64_data.extend(flat.tolist())
    elif flat.dtype in (np.uint32, np.uint64):
        t.uint64_data.extend(flat.tolist())
    else:
        t.int32_data.extend(flat.astype(np.int32).tolist())
    return t
