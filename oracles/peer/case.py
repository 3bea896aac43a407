"""A case under construction: a model, the values of its inputs, and the random choices that make it."""

import math

import numpy as np
import onnx
from onnx import helper

import storage
import teacher
from generators import DOMAINS, bare

# Extents that meet vectors, tails and blocks of kernels.
EXTENTS = [1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 65]
LARGE_EXTENTS = [3, 16, 31, 64, 65, 127, 128, 129, 257, 512]
MAX_ELEMENTS = 6000
MAX_LARGE_ELEMENTS = 200_000


def maps_type(maps):
    """The type of a sequence of maps to floats."""
    text = any(isinstance(k, str) for m in maps for k in m)
    key = onnx.TensorProto.STRING if text else onnx.TensorProto.INT64
    value = helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [])
    return helper.make_sequence_type_proto(helper.make_map_type_proto(key, value))


class Case:
    """One random model. Generators call its methods; __main__ finishes and writes it."""

    def __init__(self, rng, opset, op=None, float_type="float32", version=None):
        self.rng = rng
        self.opset = opset
        self.op = op  # the operator that the case is about; None in networks
        self.domain = DOMAINS.get(op, "")
        # The version of the operator: in another domain than the standard's it is given.
        self.version = version or (teacher.since(op, opset) if op else opset)
        self.float = np.dtype(float_type)  # of a network's weights and activations
        self.exact = False  # no rounding on the way: results must be equal
        self.close = False  # results are codes that a rounding may put on the next one
        self.shapes_at_run_time = self.chance(0.25)
        self.with_subgraph_names = self.chance(0.3)
        self.shown = None  # the case to write, where this is only how the teacher is asked for it
        self.nodes, self.inputs, self.constants, self.outputs = [], [], [], []
        self.feeds = {}
        self.mend = lambda results: results  # what the teacher leaves open of its results is filled in
        self.shared = {}  # by output, the input whose memory the teacher wants it to have
        self.types = {}  # chosen for the operator's inputs, by index
        self.count = 0
        self.large = self.chance(0.04)  # enough for kernels to use blocks and threads
        self.storage = storage.Storage(self)

    # Choices.

    def chance(self, p):
        return self.rng.random() < p

    def int(self, low, high):
        """A number from low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def pick(self, options):
        return options[self.rng.integers(len(options))]

    def sample(self, options, n):
        """n different options, in random order."""
        return [options[i] for i in self.rng.permutation(len(options))[:n]]

    def uniform(self, low, high):
        """A number that float32 holds exactly, as attributes do."""
        return float(np.float32(self.rng.uniform(low, high)))

    def extents(self, rank, limit=MAX_ELEMENTS, zero=0.02):
        """A shape of that rank."""
        shape = [self.pick(LARGE_EXTENTS if self.large else EXTENTS) for _ in range(rank)]
        limit = MAX_LARGE_ELEMENTS if self.large and limit == MAX_ELEMENTS else limit
        while math.prod(shape) > limit:
            i = int(np.argmax(shape))
            shape[i] = max(1, shape[i] // 2)
        if rank and self.chance(zero):
            shape[self.int(0, rank - 1)] = 0
        return shape

    def shape(self, low=0, high=5, **limits):
        """A shape of a rank from low to high."""
        return self.extents(self.int(low, high), **limits)

    def axis(self, rank, negative=True):
        """An axis, perhaps counted from the end."""
        i = self.int(0, rank - 1)
        return i - rank if negative and self.chance(0.4) else i

    def broadcast(self, n, low=0, high=5):
        """n shapes that broadcast with each other."""
        full = self.shape(low, high)
        list_ = []
        for _ in range(n):
            s = [1 if self.chance(0.2) else d for d in full]
            if self.chance(0.4):
                s = s[self.int(0, len(s)) :]
            list_.append(s)
        if self.chance(0.5):
            list_[self.int(0, n - 1)] = full
        return list_

    def dtype(self, index=0, among=None):
        """An element type for the operator's input of that index: float32 half of the time."""
        options = teacher.types(self.op, self.version, index)
        if among is not None:
            options = [d for d in options if d in among]
        if not options:
            raise teacher.Refused(f"no type for input {index}")
        usual = np.dtype("float32") in options and self.chance(0.5)
        self.types[index] = np.dtype("float32") if usual else self.pick(options)
        return self.types[index]

    # Numbers.

    def numbers(self, dtype, shape, low=None, high=None, special=False):
        """Random elements: normal floats, small integers, or those of a range."""
        dtype = np.dtype(dtype)
        if dtype == np.dtype(object):
            words = np.array(["", "a", "b", "nacre", "mother of pearl"], dtype=object)
            return np.asarray(words[self.rng.integers(0, len(words), shape)], dtype=object)
        if dtype == np.dtype(bool):
            return np.asarray(self.rng.random(shape) < 0.5)
        if dtype.kind in "iu":
            low = max(np.iinfo(dtype).min, -20) if low is None else low
            return np.asarray(self.rng.integers(low, (20 if high is None else high) + 1, shape)).astype(dtype)
        if low is None:
            a = self.rng.standard_normal(shape)
        else:
            a = self.rng.uniform(low, high, shape)
        a = np.asarray(a).astype(dtype)
        if special and a.size and self.chance(0.25):
            odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 65000.0, -65000.0]).astype(dtype)
            where = self.rng.random(a.shape) < 0.3
            a = np.where(where, odd[self.rng.integers(0, len(odd), a.shape)], a)
        return a

    # Values.

    def name(self, prefix):
        self.count += 1
        return f"/{prefix}/{self.count}" if self.with_subgraph_names else f"{prefix}{self.count}"

    def input(self, array, symbolic=None):
        """The array as an input of the model, its extents declared in one of many ways."""
        array = np.asarray(array)
        name = self.name("x")
        way = self.rng.random() if symbolic is None else (0.5 if symbolic else 0.0)
        dims = list(array.shape)
        if way > 0.9 and symbolic is None:
            dims = None
        elif way > 0.4:
            p = 0.5 if way > 0.7 else 1.0
            dims = [self.symbol(i, d) if self.chance(p) else d for i, d in enumerate(dims)]
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims))
        self.feeds[name] = array
        return name

    def symbol(self, axis, extent):
        """A name for an extent; equal extents often share one, but not with the batch."""
        if axis == 0:
            return self.pick([f"b{extent}", f"b{self.count}_{extent}", None])
        return self.pick([f"n{extent}", f"n{extent}", f"d{self.count}_{extent}", None])

    def const(self, array):
        """The array as a weight: an initializer, or the result of a Constant node."""
        name = self.name("w")
        self.storage.place(name, np.asarray(array))
        return name

    def value(self, array, constant=0.2):
        """The array as an operand: an input, a weight, or what a node made of an input."""
        if self.chance(constant):
            return self.const(array)
        if self.chance(0.8):
            return self.input(array)
        if array.dtype.kind == "f" and array.dtype.itemsize >= 4 and self.chance(0.5):
            name = self.node("Neg", self.input(-array))
        else:
            name = self.node("Identity", self.input(array))
        if self.chance(0.3):
            self.output(name)
        return name

    def operand(self, array):
        """A shape, axes, indices: known from the model, or only at run time."""
        array = np.asarray(array)
        if not self.shapes_at_run_time:
            return self.const(array)
        return self.input(array) if self.chance(0.8) else self.node("Identity", self.input(array))

    def ints(self, *values):
        """Numbers of type int64 as an operand."""
        return self.operand(np.array(values, dtype=np.int64))

    def node(self, op, *inputs, n=1, **attributes):
        """Adds a node; the name of its result, or their list. Inputs and attributes that are None are left out."""
        names = [self.name(op.lower()) for _ in range(n)]
        inputs = ["" if i is None else i for i in inputs]
        while inputs and inputs[-1] == "":
            inputs.pop()
        attributes = {k: v for k, v in attributes.items() if v is not None}
        self.nodes.append(helper.make_node(op, inputs, names, name=self.name("n"), **attributes))
        return names[0] if n == 1 else names

    def output(self, *names):
        for name in names:
            if name not in self.outputs:
                self.outputs.append(name)

    def single(self, *inputs, n=1, **attributes):
        """The node that the case is about, all its results outputs of the model."""
        names = self.node(bare(self.op), *inputs, n=n, domain=self.domain or None, **attributes)
        self.output(*([names] if n == 1 else names))
        return names

    # The model.

    def model(self, answers=()):
        """The model; answers, results by name, let it declare the types of its outputs."""
        outputs = [self.declare(name, [a[name] for a in answers if a]) for name in self.outputs]
        inputs = list(self.inputs)
        for v in self.storage.inputs:
            inputs.insert(self.storage.rank(len(inputs)), v)
        graph = helper.make_graph(self.nodes, "peer", inputs, outputs, self.storage.initializers)
        opsets = [helper.make_opsetid("", self.opset)]
        if self.domain:
            opsets.append(helper.make_opsetid(self.domain, self.version))
        model = helper.make_model(graph, opset_imports=opsets)
        model.ir_version = self.storage.ir
        return model

    def declare(self, name, results):
        """An output with no type, or with the type that fits all results and extents as far as they agree."""
        if (
            not results or isinstance(results[0], list) and not results[0]
        ):  # an empty list of maps does not show the type of their keys
            return onnx.ValueInfoProto(name=name)
        if isinstance(results[0], list):
            return helper.make_value_info(name, maps_type(results[0]))
        dtype, shapes = results[0].dtype, [r.shape for r in results]
        dims = [d[0] if len(set(d)) == 1 else None for d in zip(*shapes)]
        dims = [dims, [None] * len(dims), None][len(name) % 3]
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), dims)

    @staticmethod
    def fixed(v):
        """Whether the first extent of the input is declared as a number, or there is none."""
        t = v.type.tensor_type
        return t.HasField("shape") and (not t.shape.dim or t.shape.dim[0].HasField("dim_value"))
