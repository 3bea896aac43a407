"""Builds ONNX graphs with random weights, of one of the precisions that Chatterbox is published in."""

import pathlib
import zlib

import numpy as np
from onnx import TensorProto, helper, save

F = np.float32
BLOCK = 32  # elements that share a scale in 4-bit weights
PRECISIONS = {"fp32": "", "fp16": "_fp16", "quantized": "_quantized", "q4": "_q4", "q4f16": "_q4f16"}
TYPES = {
    F: TensorProto.FLOAT,
    np.float16: TensorProto.FLOAT16,
    np.int64: TensorProto.INT64,
    np.int32: TensorProto.INT32,
    np.bool_: TensorProto.BOOL,
}


class Graph:
    """A graph whose nodes are added by methods of the operators' names, as g.Add(x, y).

    Arguments are names of values, or numbers and arrays, which become constants of the graph's float type, or int64.
    Weights are the same numbers in every precision, apart from rounding, and go to the file of external data at once.
    """

    def __init__(self, folder, name, precision, opset, seed):
        self.name, self.precision, self.opset, self.seed = name, precision, opset, seed
        self.half = np.float16 if precision.endswith("f16") or precision == "fp16" else F
        self.floats = F  # the type of the nodes that are being added
        self.path = pathlib.Path(folder, f"{name}{PRECISIONS[precision]}.onnx")
        self.file = open(f"{self.path}_data", "wb")
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []
        self.constants, self.count, self.drawn = {}, 0, 0
        self.recorded, self.replayed = [], None

    # Values.

    def input(self, name, dtype, shape):
        self.inputs.append(helper.make_tensor_value_info(name, TYPES[dtype], shape))
        return name

    def output(self, value, name, dtype, shape):
        self.node("Identity", [value], outputs=[name])
        self.outputs.append(helper.make_tensor_value_info(name, TYPES[dtype], shape))

    def constant(self, value):
        """Returns the name of a constant. Floats of Python are of the graph's type; arrays keep theirs."""
        array = np.asarray(value)
        if array.dtype.kind == "f" and not isinstance(value, np.ndarray):
            array = array.astype(self.floats)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.constants:
            self.constants[key] = self.initializer(array)
        return self.constants[key]

    def stored(self, array):
        """Returns the name of weights with these elements, or of the ones in their place that are used again."""
        if self.replayed is not None:
            return next(self.replayed)
        self.recorded.append(self.initializer(array))
        return self.recorded[-1]

    def record(self):
        """Begins a list of weights, which replay gives again."""
        self.recorded = []
        return self.recorded

    def replay(self, names):
        """Goes through the weights of a list again instead of making new ones. None ends that."""
        self.replayed = names and iter(names)

    def initializer(self, array):
        name = f"{self.name}.{len(self.weights)}"
        array = np.ascontiguousarray(array)
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        tensor = TensorProto(name=name, data_type=kind, dims=array.shape)
        if array.nbytes < 1024:
            tensor.raw_data = array.tobytes()
        else:
            self.file.write(bytes(-self.file.tell() % 64))
            place = {"location": f"{self.path.name}_data", "offset": self.file.tell(), "length": array.nbytes}
            self.file.write(array.data)
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in place.items():
                tensor.external_data.add(key=key, value=str(value))
        self.weights.append(tensor)
        return name

    def random(self, *shape):
        """Returns standard normal numbers; the same for the n-th call in every precision."""
        if self.replayed is not None:
            return np.ones(shape, F)
        self.drawn += 1
        rng = np.random.default_rng([self.seed, zlib.crc32(self.name.encode()), self.drawn])
        return rng.standard_normal(shape, F)

    def weight(self, *shape, scale, mean=0.0):
        return self.stored((self.random(*shape) * F(scale) + F(mean)).astype(self.floats))

    # Nodes.

    def node(self, op, inputs, outputs=1, domain="", **attributes):
        names = [x if isinstance(x, str) else self.constant(x) for x in inputs]
        if isinstance(outputs, int):
            outputs = [f"{op}_{self.count}_{i}" if i else f"{op}_{self.count}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, names, outputs, f"/{op}_{self.count}", domain=domain, **attributes))
        self.count += 1
        return outputs[0] if len(outputs) == 1 else outputs

    def __getattr__(self, op):
        if not op[0].isupper():
            raise AttributeError(op)
        return lambda *inputs, **attributes: self.node(op, inputs, **attributes)

    def microsoft(self, op, *inputs, **attributes):
        return self.node(op, inputs, domain="com.microsoft", **attributes)

    def cast(self, value, dtype):
        return self.Cast(value, to=TYPES[dtype])

    def exact(self, value):
        """Goes on in float32: what follows is not converted to halves. The value is cast."""
        old, self.floats = self.floats, F
        return value if old is F else self.cast(value, F)

    def rounded(self, value):
        """Goes on in the type of the precision."""
        old, self.floats = self.floats, self.half
        return value if old is self.half else self.cast(value, self.half)

    def split(self, value, n, axis=-1):
        return self.node("Split", [value], outputs=n, axis=axis, num_outputs=n)

    def extent(self, value, axis):
        """Returns an extent as int64 [1]."""
        return self.Shape(value, start=axis, end=axis + 1) if axis != -1 else self.Shape(value, start=-1)

    def part(self, value, first, end, axis):
        return self.Slice(value, self.whole(first), self.whole(end), [axis])

    def whole(self, x):
        return x if isinstance(x, str) else [x]

    # Layers.

    def linear(self, x, n_in, n_out, bias=True, gain=1.0):
        y = self.product(x, self.random(n_in, n_out) * F(gain / np.sqrt(n_in)))
        return self.Add(y, self.weight(n_out, scale=0.02)) if bias else y

    def product(self, x, w):
        """The product with a constant matrix, in the codes of the precision."""
        n_in, n_out = w.shape
        if self.precision.startswith("q4") and n_in % BLOCK == 0:
            codes, scales = quantized4(w.T)
            codes = self.stored(codes.reshape(n_out, n_in // BLOCK, BLOCK // 2))
            scales = self.stored(scales.ravel().astype(self.floats))
            return self.microsoft("MatMulNBits", x, codes, scales, K=n_in, N=n_out, bits=4, block_size=BLOCK)
        if self.precision == "quantized":
            codes, scale = quantized8(w)
            q, scale_x, zero = self.DynamicQuantizeLinear(x, outputs=3)
            y = self.cast(self.MatMulInteger(q, self.stored(codes), zero), F)
            return self.Mul(y, self.Mul(scale_x, self.stored(scale)))
        return self.MatMul(x, self.stored(w.astype(self.floats)))

    def table(self, ids, table):
        """Rows of a table of embeddings."""
        width = table.shape[1]
        if self.precision.startswith("q4") and width % BLOCK == 0:
            codes, scales = quantized4(table)
            inputs = self.stored(codes), ids, self.stored(scales.astype(self.floats))
            attributes = {"bits": 4, "block_size": BLOCK, "gather_axis": 0, "quantize_axis": 1}
            return self.microsoft("GatherBlockQuantized", *inputs, **attributes)
        return self.Gather(self.stored(table.astype(self.floats)), ids)

    def conv(self, x, n_in, n_out, kernel, stride=1, pads=(0, 0), dilation=1, groups=1, bias=True, gain=1.0):
        w = self.weight(n_out, n_in // groups, kernel, scale=gain / np.sqrt(n_in // groups * kernel))
        tail = [self.weight(n_out, scale=0.02)] if bias else []
        attributes = {"kernel_shape": [kernel], "strides": [stride], "pads": list(pads), "dilations": [dilation]}
        return self.Conv(x, w, *tail, group=groups, **attributes)

    def norm(self, x, width, epsilon=1e-5):
        scale, bias = self.weight(width, scale=0.02, mean=1), self.weight(width, scale=0.02)
        return self.LayerNormalization(x, scale, bias, axis=-1, epsilon=epsilon)

    def batch_norm(self, x, width):
        scale, bias, mean = (self.weight(width, scale=0.02, mean=m) for m in (1, 0, 0))
        variance = self.stored((1 + 0.02 * np.abs(self.random(width))).astype(self.floats))
        return self.BatchNormalization(x, scale, bias, mean, variance, epsilon=1e-5)

    def heads(self, x, heads, width, order=(0, 2, 1, 3)):
        """[batch, rows, heads * width] as [batch, heads, rows, width]."""
        return self.Transpose(self.Reshape(x, [0, 0, heads, width]), perm=order)

    def joined(self, x, width):
        """The inverse of heads."""
        return self.Reshape(self.Transpose(x, perm=[0, 2, 1, 3]), [0, 0, width])

    def turned(self, x):
        return self.Transpose(x, perm=[0, 2, 1])

    def save(self):
        self.file.close()
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)
        save(helper.make_model(graph, opset_imports=opsets, ir_version=10), self.path)


def quantized4(rows):
    """Codes [n, k / 2] of two elements a byte, and scales [n, k / 32]; the zero point is 8."""
    n, k = rows.shape
    blocks = rows.reshape(n, k // BLOCK, BLOCK)
    most = np.take_along_axis(blocks, np.abs(blocks).argmax(-1)[..., None], -1)
    scales = most / F(-8)
    codes = np.clip(np.round(blocks / np.where(scales == 0, 1, scales)) + 8, 0, 15).astype(np.uint8).reshape(n, k)
    return codes[:, ::2] | codes[:, 1::2] << 4, scales[..., 0]


def quantized8(w):
    """Signed codes of a matrix, and their scale."""
    scale = F(np.abs(w).max() / 127)
    return np.round(w / scale).astype(np.int8), np.array(scale, F)
