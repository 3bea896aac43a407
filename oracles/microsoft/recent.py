"""The cases of operators that oracles/peer makes at random: a few of each."""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "peer"))

from onnx import helper  # noqa: E402

import generators  # noqa: E402

# ops_recent registers its generators.
import ops_recent  # noqa: E402,F401
import teacher  # noqa: E402
from answers import cases  # noqa: E402
from case import Case  # noqa: E402

COUNT = 6  # cases of each
MANY = {"SparseAttention", "DecoderMaskedMultiHeadAttention"}  # whose caches are large: two cases


class Plain(Case):
    """A case of one node, all operands of which are inputs."""

    def input(self, array, symbolic=None):
        name = f"x{len(self.feeds)}"
        self.feeds[name] = np.asarray(array)
        return name

    def value(self, array, constant=0.2):
        return self.input(array)

    def const(self, array):
        return self.input(array)

    def operand(self, array):
        return self.input(array)


def small(case):
    return sum(a.size for a in case.feeds.values()) < 20_000


def register(name, generate):
    """Registers the cases of an operator that oracles/peer has a generator of."""

    @cases(generators.bare(name), generators.DOMAINS.get(name, ""))
    def answers(_):
        made = 0
        for seed in range(100):
            case = Plain(np.random.default_rng([7, seed]), 17, name, version=1)
            case.large = False
            generate(case)
            node = case.nodes[-1]
            if made == (2 if generators.bare(name) in MANY else COUNT) or not small(case):
                continue
            attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            attributes = {k: v.decode() if isinstance(v, bytes) else v for k, v in attributes.items()}
            inputs = [case.feeds[i] if i else None for i in node.input]
            wanted = [1 if o else 0 for o in node.output]
            options = {"tol": 0} if case.exact else {}
            if any(a.dtype == np.float16 for a in case.feeds.values()):
                options = {"tol": 4e-3}
            try:
                options["reference"] = asked(case, node)
            except teacher.Refused:
                continue
            made += 1
            yield f"random {made}", attributes, inputs, wanted, options


def asked(case, node):
    """The answers, also where outputs must have the memory of inputs, and of operators that later opsets lack."""
    values = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in case.feeds.items()
    ]
    results = [helper.make_empty_tensor_value_info(o) for o in node.output if o]
    graph = helper.make_graph([node], "case", values, results)
    opsets = (
        [helper.make_opsetid("", 17), helper.make_opsetid(case.domain, 1)]
        if case.domain
        else [helper.make_opsetid("", 9)]
    )
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    results = iter(teacher.answers(model.SerializeToString(), [case.feeds], case.shared)[0].values())
    return [next(results) if o else None for o in node.output]


for operator, generator in generators.OPERATORS.items():
    register(operator, generator)
