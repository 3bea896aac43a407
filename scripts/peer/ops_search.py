"""Operators of ONNX Runtime that write texts with a decoder, which is a graph."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from generators import microsoft

PLACES = 24  # that the decoder has positions for


def decoder(c, vocabulary):
    """A small decoder of the kind of GPT-2, with pasts."""
    heads, size, layers = c.int(1, 2), c.pick([2, 4]), c.int(1, 2)
    width = heads * size
    nodes, inputs, outputs = [], [], []

    def weight(name, *shape):
        value = numpy_helper.from_array(c.numbers(np.float32, list(shape)))
        return node("Constant", [], f"decoder_{name}", value=value)

    def node(op, ins, *outs, **attributes):
        nodes.append(helper.make_node(op, ins, list(outs), **attributes))
        return outs[0]

    for name, dims in {"input_ids": ["b", "s"], "position_ids": ["b", "s"], "attention_mask": ["b", "t"]}.items():
        inputs.append(helper.make_tensor_value_info(name, TensorProto.INT32, dims))
    outputs.append(helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", "s", vocabulary]))
    words = node("Gather", [weight("words", vocabulary, width), "input_ids"], "decoder_w")
    x = node("Add", [words, node("Gather", [weight("places", PLACES, width), "position_ids"], "decoder_p")], "decoder_x")
    for i in range(layers):
        inputs.append(helper.make_tensor_value_info(f"past_{i}", TensorProto.FLOAT, [2, "b", heads, "past", size]))
        outputs.append(helper.make_tensor_value_info(f"present_{i}", TensorProto.FLOAT, [2, "b", heads, "t", size]))
        ins = [x, weight(f"qkv{i}", width, 3 * width), weight(f"bias{i}", 3 * width), "attention_mask", f"past_{i}"]
        a = node("Attention", ins, f"decoder_a{i}", f"present_{i}", num_heads=heads, unidirectional=1, domain=c.domain)
        x = node("Add", [x, a], f"decoder_x{i}")
    node("MatMul", [x, weight("head", width, vocabulary)], "logits")
    return helper.make_graph(nodes, "decoder", inputs, outputs)


def prompt(c, vocabulary, pad):
    """Texts that end with words, some with padding before them."""
    batch, tokens = c.int(1, 3), c.int(1, 6)
    ids = c.rng.integers(0, vocabulary, (batch, tokens))
    ids[ids == pad] = (pad + 1) % vocabulary
    for row in ids:
        row[: c.int(0, tokens - 1) if c.chance(0.3) else 0] = pad
    return ids.astype(np.int32), tokens


def one(c, value, d=np.int32):
    return c.input(np.array([value], d), symbolic=False)


def wishes(c, vocabulary, tokens):
    """Ids, lengths and penalties that all searches take."""
    length = tokens + c.int(1, 8)
    least = one(c, c.int(0, length - 1) if c.chance(0.4) else 0)
    penalty = one(c, c.uniform(1.0, 2.0), np.float32) if c.chance(0.4) else None
    mask = c.const((c.rng.random(vocabulary) < 0.8).astype(np.int32)) if c.chance(0.3) else None
    return one(c, length), least, penalty, mask


def settings(c, vocabulary):
    eos = c.int(0, vocabulary - 1)
    return {"eos_token_id": eos, "pad_token_id": (eos + 1) % vocabulary, "no_repeat_ngram_size": c.pick([None, 2, 3])}


@microsoft("GreedySearch", "Sampling")
def greedy(c):
    c.exact = True
    vocabulary = c.int(6, 20)
    more = settings(c, vocabulary)
    ids, tokens = prompt(c, vocabulary, more["pad_token_id"])
    length, least, penalty, _ = wishes(c, vocabulary, tokens)
    first = c.const((c.rng.random((len(ids), vocabulary)) < 0.8).astype(np.int32)) if c.chance(0.3) else None
    # Padding is no word, so that it tells which texts have ended.
    mask = (c.rng.random(vocabulary) < 0.8).astype(np.int32)
    mask[more["pad_token_id"]] = 0
    c.mend = lambda results: {name: ended(texts, tokens, more["pad_token_id"]) for name, texts in results.items()}
    if c.op.endswith("Sampling"):
        # A share that only the likeliest token has, as the generators of random numbers differ.
        more |= {"top_p": c.pick([1e-4, 1e-3]), "temperature": c.pick([0.7, 1.3])}
    c.single(c.input(ids), length, least, penalty, c.const(mask), first, decoder=decoder(c, vocabulary), **more)


def ended(texts, tokens, pad):
    """Texts with padding behind their ends, where the teacher has what was in memory."""
    texts = texts.copy()
    for row in texts:
        ends = np.nonzero(row[tokens:] == pad)[0]
        if len(ends):
            row[tokens + ends[0] :] = pad
    return texts


@microsoft("BeamSearch")
def beam(c):
    vocabulary, beams = c.int(12, 30), c.int(1, 4)
    more = settings(c, vocabulary)
    ids, tokens = prompt(c, vocabulary, more["pad_token_id"])
    length, least, penalty, mask = wishes(c, vocabulary, tokens)
    first = c.const((c.rng.random((len(ids), vocabulary)) < 0.8).astype(np.int32)) if c.chance(0.3) else None
    power = one(c, c.pick([1.0, c.uniform(0.5, 1.5)]), np.float32)
    ins = [c.input(ids), length, least, one(c, beams), one(c, c.int(1, beams)), power, penalty, mask, first]
    results = c.int(1, 3)
    if results == 3:
        more["eos_token_id"] = -1  # the teacher leaves scores of steps after the last text has ended as they are
    c.single(*ins, n=results, early_stopping=c.pick([None, 0, 1]), decoder=decoder(c, vocabulary), **more)
