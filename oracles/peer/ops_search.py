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
    x = node(
        "Add", [words, node("Gather", [weight("places", PLACES, width), "position_ids"], "decoder_p")], "decoder_x"
    )
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
    starts = (c.rng.random((len(ids), vocabulary)) < 0.8).astype(np.int32) if c.chance(0.3) else None
    # Padding is no word, so that it tells which texts have ended.
    mask = (c.rng.random(vocabulary) < 0.8).astype(np.int32)
    mask[more["pad_token_id"]] = 0
    c.mend = lambda results: {name: ended(texts, tokens, more["pad_token_id"]) for name, texts in results.items()}
    if c.op.endswith("Sampling"):
        # A share that only the likeliest token has, as the generators of random numbers differ.
        more |= {"top_p": c.pick([1e-4, 1e-3]), "temperature": c.pick([0.7, 1.3])}
        # Where all words are forbidden, one of them is drawn; of 8 that many repeats fit in no text.
        if (mask if starts is None else mask * starts).sum(-1).min() < 8:
            more["no_repeat_ngram_size"] = None
    first = None if starts is None else c.const(starts)
    c.single(c.input(ids), length, least, penalty, c.const(mask), first, decoder=decoder(c, vocabulary), **more)


def ended(texts, tokens, pad):
    """Texts with padding behind their ends, where the teacher has what was in memory."""
    texts = texts.copy()
    for row in texts:
        ends = np.nonzero(row[tokens:] == pad)[0]
        if len(ends):
            row[tokens + ends[0] :] = pad
    return texts


@microsoft("BeamSearch", "WhisperBeamSearch")
def beam(c):
    vocabulary, beams = c.int(12, 30), c.int(1, 4)
    more = settings(c, vocabulary)
    ids, tokens = prompt(c, vocabulary, more["pad_token_id"])
    kind = 2 if c.op.endswith("WhisperBeamSearch") else c.pick([0, 0, 1, 2])
    source, graph, begin = c.input(ids), None, None
    if kind:
        c.opset = max(c.opset, 17)
        pair = Pair(c, vocabulary, kind == 2)
        more |= {"model_type": kind, "encoder": pair.encoder(), "decoder_start_token_id": c.int(0, vocabulary - 1)}
        graph, tokens = pair.decoder(), 1
    if kind == 2:
        c.inputs.clear()
        c.feeds.clear()
        source = c.input(c.numbers(np.float32, [len(ids), pair.features, c.int(1, 5)]))
        if c.chance(0.6):
            tokens = c.int(1, 4)
            begin = c.input(c.rng.integers(0, vocabulary, (len(ids), tokens)).astype(np.int32))
    length, least, penalty, mask = wishes(c, vocabulary, tokens + (kind > 0))
    first = c.const((c.rng.random((len(ids), vocabulary)) < 0.8).astype(np.int32)) if c.chance(0.3) else None
    power = one(c, c.pick([1.0, c.uniform(0.5, 1.5)]), np.float32)
    ins = [source, length, least, one(c, beams), one(c, c.int(1, beams)), power, penalty, mask, first, None, begin]
    results = c.int(1, 3)
    if c.op.endswith("WhisperBeamSearch"):
        ins += speech(c, vocabulary, more)
    if results == 3:
        more["eos_token_id"] = -1  # the teacher leaves scores of steps after the last text has ended as they are
    # Of several texts the teacher takes the scores of another when it asks whether one can still become better.
    early = c.pick([None, 0, 1]) if len(ids) == 1 or more["eos_token_id"] < 0 else 1
    c.single(*ins, n=results, early_stopping=early, decoder=graph or decoder(c, vocabulary), **more)


def speech(c, vocabulary, more):
    """What WhisperBeamSearch takes behind the beginnings of texts; its attributes go to more."""
    names = ("translate", "transcribe", "start_of_lm", "no_timestamps", "no_speech")
    more |= {f"{name}_token_id": c.int(0, vocabulary - 1) for name in names}
    more["beginning_timestamp_token_id"] = c.int(3, vocabulary - 3)
    times = one(c, c.int(0, 1)) if c.chance(0.7) else None
    return [times, None, None, one(c, c.uniform(0.5, 2.0), np.float32) if c.chance(0.5) else None]


class Net:
    """A graph of an encoder or a decoder under construction; weights of one name are the same in both."""

    def __init__(self, c, name, weights):
        self.c, self.name, self.weights = c, name, weights
        self.nodes, self.inputs, self.outputs = [], [], []

    def node(self, op, ins, out=None, **attributes):
        out = out or f"{self.name}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, ins, [out], **attributes))
        return out

    def constant(self, array):
        return self.node("Constant", [], value=numpy_helper.from_array(array))

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def weight(self, name, *shape):
        if name not in self.weights:
            self.weights[name] = self.c.numbers(np.float32, list(shape))
        return self.constant(self.weights[name])

    def input(self, name, dims, d=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, d, dims))
        return name

    def output(self, name, dims):
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, dims))
        return name

    def graph(self):
        return helper.make_graph(self.nodes, self.name, self.inputs, self.outputs)


class Pair:
    """A small encoder and a small decoder, of the kinds of T5 and Whisper."""

    def __init__(self, c, vocabulary, speech):
        self.c, self.vocabulary, self.speech = c, vocabulary, speech
        self.heads, self.size, self.layers = c.int(1, 2), c.pick([2, 4]), c.int(1, 2)
        self.width, self.features = self.heads * self.size, c.int(2, 5)
        # The newer encoder of text leaves the first step to the decoder.
        self.newer = not speech and c.chance(0.4)
        self.hidden = not self.newer and c.chance(0.3)
        self.weights = {}

    def split(self, net, x, name):
        x = net.node("MatMul", [x, net.weight(name, self.width, self.width)])
        x = net.node("Reshape", [x, net.ints(0, 0, self.heads, self.size)])
        return net.node("Transpose", [x], perm=[0, 2, 1, 3])

    def attend(self, net, x, name, keys, values, bias=None):
        q = self.split(net, x, name)
        scores = net.node("MatMul", [q, net.node("Transpose", [keys], perm=[0, 1, 3, 2])])
        if bias is not None:
            scores = net.node("Add", [scores, bias])
        a = net.node("MatMul", [net.node("Softmax", [scores], axis=-1), values])
        a = net.node("Transpose", [a], perm=[0, 2, 1, 3])
        return net.node("Add", [x, net.node("Reshape", [a, net.ints(0, 0, self.width)])])

    def mask(self, net):
        """What the mask of the source adds to scores."""
        if self.speech:
            return None
        m = net.node("Cast", ["encoder_attention_mask"], to=TensorProto.FLOAT)
        m = net.node("Mul", [net.node("Sub", [m, net.constant(np.float32(1))]), net.constant(np.float32(1e4))])
        return net.node("Unsqueeze", [m, net.ints(1, 2)])

    def write(self, net, ids, pasts, cross):
        """The decoder: it names its outputs."""
        x = net.node("Gather", [net.weight("words", self.vocabulary, self.width), ids])
        # Places of tokens: without them texts of the same words would have the same scores.
        before = net.node("Shape", [pasts[0]], start=2, end=3) if pasts else net.ints(0)
        ends = net.node("Add", [before, net.node("Shape", [ids], start=1, end=2)])
        first, last = (net.node("Squeeze", [a, net.ints(0)]) for a in (before, ends))
        places = net.node("Range", [first, last, net.constant(np.int64(1))])
        places = net.node("Mod", [places, net.constant(np.int64(PLACES))])
        x = net.node("Add", [x, net.node("Gather", [net.weight("places", PLACES, self.width), places])])
        net.output("logits", ["b", "s", self.vocabulary])
        mask, caches = self.mask(net), []
        for i in range(self.layers):
            pair = []
            for k, kind in enumerate(("key", "value")):
                new = self.split(net, x, f"own{kind}{i}")
                name = f"present_{kind}_self_{i}"
                pair.append(
                    net.node("Concat", [pasts[2 * i + k], new], name, axis=2)
                    if pasts
                    else net.node("Identity", [new], name)
                )
            caches += pair
            bias = None
            if not pasts:
                # A token does not see those behind it.
                n = net.node("Shape", [ids], start=1, end=2)
                square = net.node("Expand", [net.constant(np.float32(-1e4)), net.node("Concat", [n, n], axis=0)])
                bias = net.node("Trilu", [square, net.constant(np.int64(1))], upper=1)
            x = self.attend(net, x, f"own{i}", *pair, bias)
            x = self.attend(net, x, f"cross{i}", *cross[2 * i : 2 * i + 2], mask)
        net.node("MatMul", [x, net.weight("head", self.width, self.vocabulary)], "logits")
        return caches

    def encoder(self):
        net = Net(self.c, "encoder", self.weights)
        if self.speech:
            source = net.input("encoder_input_ids", ["b", self.features, "t"])
            x = net.node("Transpose", [source], perm=[0, 2, 1])
            x = net.node("MatMul", [x, net.weight("sound", self.features, self.width)])
        else:
            source = net.input("encoder_input_ids", ["b", "t"], TensorProto.INT32)
            net.input("encoder_attention_mask", ["b", "t"], TensorProto.INT32)
            x = net.node("Gather", [net.weight("read", self.vocabulary, self.width), source])
        if not self.newer:
            net.input("decoder_input_ids", ["b", "s"], TensorProto.INT32)
        x = self.attend(net, x, "sees", self.split(net, x, "keys"), self.split(net, x, "values"), self.mask(net))
        cross = []
        for i in range(self.layers):
            for kind in ("key", "value"):
                cross.append(net.node("Identity", [self.split(net, x, f"cross{kind}{i}")], f"present_{kind}_cross_{i}"))
        if self.newer:
            for name in cross:
                net.output(name, ["b", self.heads, "t", self.size])
            return net.graph()
        caches = self.write(net, "decoder_input_ids", None, cross)
        net.node("Identity", [x], "encoder_hidden_states")
        net.output("encoder_hidden_states", ["b", "t", self.width])
        for name in caches:
            net.output(name, ["b", self.heads, "s", self.size])
        for name in cross:
            net.output(name, ["b", self.heads, "t", self.size])
        return net.graph()

    def decoder(self):
        net = Net(self.c, "decoder", self.weights)
        # Where the extent is open the decoder takes whole texts.
        whole = not self.speech and self.c.chance(0.3)
        net.input("input_ids", ["b", "s" if whole else 1], TensorProto.INT32)
        if not self.speech:
            net.input("encoder_attention_mask", ["b", "t"], TensorProto.INT32)
        if self.hidden:
            net.input("encoder_hidden_states", ["b", "t", self.width])
        names = [
            [f"past_{kind}_{of}_{i}" for i in range(self.layers) for kind in ("key", "value")]
            for of in ("self", "cross")
        ]
        for name in names[0] + names[1]:
            net.input(name, ["b", self.heads, f"n_{name}", self.size])
        for name in self.write(net, "input_ids", *names):
            net.output(name, ["b", self.heads, "n", self.size])
        return net.graph()
