"""Recurrent layers."""

import numpy as np

from case import Case
from generators import operators

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}  # functions of a direction
PARAMETERS = {  # of the functions that layers apply, alpha and beta
    "Relu": 0,
    "Tanh": 0,
    "Sigmoid": 0,
    "Affine": 2,
    "LeakyRelu": 1,
    "ThresholdedRelu": 1,
    "ScaledTanh": 2,
    "HardSigmoid": 2,
    "Elu": 1,
    "Softsign": 0,
    "Softplus": 0,
}
BOUNDED = ["Tanh", "Sigmoid", "ScaledTanh", "HardSigmoid", "Softsign"]


def functions(c, directions, steps):
    """The attributes that name functions; none for the usual ones. With some, many steps overflow."""
    if c.chance(0.5):
        return {}
    names = [c.pick(list(PARAMETERS) if steps < 4 else BOUNDED) for _ in range(directions * FUNCTIONS[c.op])]
    counts = [PARAMETERS[n] for n in names]
    if c.op != "RNN" and c.chance(0.3):
        names = [n.lower() for n in names]
    alphas = [c.uniform(0.1, 0.9) for k in counts if k > 0]
    betas = [c.uniform(0.1, 0.9) for k in counts if k > 1]
    return {"activations": names, "activation_alpha": alphas or None, "activation_beta": betas or None}


@operators("RNN", "GRU", "LSTM")
def recurrent(c):
    """ONNX Runtime refuses layers whose batch axis comes first: it is asked for the same with the axes exchanged."""
    dtype, gates = c.dtype(among=[np.float32, np.float16]), GATES[c.op]  # others are refused
    steps, batch, inputs = c.pick([1, 2, 3, 5, 8]), c.pick([1, 1, 2, 3, 16]), c.pick([1, 2, 3, 8, 17])
    hidden = c.pick([1, 2, 3, 4, 8, 15, 16, 17, 33])
    if c.large:
        steps, batch, inputs, hidden = c.int(5, 60), c.pick([1, 2, 20]), c.pick([16, 40, 65]), c.pick([64, 100, 129])
    direction = c.pick([None, "forward", "reverse", "bidirectional"])
    directions = 2 if direction == "bidirectional" else 1
    attributes = {"direction": direction, "hidden_size": hidden, **functions(c, directions, steps)}
    attributes["clip"] = c.pick([None, None, c.uniform(0.2, 2)])
    if c.op == "GRU":
        attributes["linear_before_reset"] = c.pick([None, 0, 1])
    if c.op == "LSTM":
        attributes["input_forget"] = c.pick([None, None, 0, 1])

    def draw(shape, scale=1.0):
        return (c.numbers(dtype, shape) * dtype.type(scale)).astype(dtype)

    rows, states = gates * hidden, [directions, batch, hidden]
    x = draw([steps, batch, inputs])
    weights = [draw([directions, rows, inputs], inputs**-0.5), draw([directions, rows, hidden], hidden**-0.5)]
    bias = draw([directions, 2 * rows], 0.3) if c.chance(0.6) else None
    # ONNX Runtime gives 0 as the last state of a sequence without steps, this project the first state.
    lengths = c.rng.integers(1, steps + 1, batch).astype(np.int32) if c.chance(0.5) else None
    first = [draw(states) if c.chance(0.5) else None for _ in range(2 if c.op == "LSTM" else 1)]
    peepholes = [draw([directions, 3 * hidden], 0.3)] if c.op == "LSTM" and c.chance(0.4) else []
    count = 3 if c.op == "LSTM" else 2

    def build(case, value, exchanged=lambda a: a, **more):
        """The layer in a case, on operands that value makes, of which some have their axes exchanged; its results."""

        def give(a, constant=0.2):
            return None if a is None else value(case, a, constant)

        share = c.pick([0.1, 0.9])
        outer = [None if a is None else exchanged(a) for a in (x, *first)]
        operands = [give(outer[0]), *(give(w, share) for w in weights), give(bias, share), give(lengths)]
        operands += [*(give(a) for a in outer[1:]), *(give(p, share) for p in peepholes)]
        return case.node(case.op, *operands, n=count, **attributes, **more)

    if c.version < 14 or c.chance(0.5):
        c.output(*build(c, Case.value, layout=c.pick([None, 0]) if c.version >= 14 else None))
        return

    def plain(case, a, constant):
        return case.const(a) if case.chance(constant) else case.input(a)

    c.shown = Case(c.rng, c.opset, c.op)
    c.shown.output(*build(c.shown, plain, lambda a: np.ascontiguousarray(np.swapaxes(a, 0, 1)), layout=1))
    y, *last = build(c, plain)
    c.output(c.node("Transpose", y, perm=[2, 0, 1, 3]), *(c.node("Transpose", s, perm=[1, 0, 2]) for s in last))
