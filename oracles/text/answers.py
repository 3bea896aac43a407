"""Writes small encoders with random weights for every task of package text, and what transformers and ONNX Runtime answer.

Usage: answers.py FILE

FILE is a zip with a folder for each model: the network as ONNX and, as transformers names its tensors, as safetensors, with
tokenizer.json, config.json and the files of sentence-transformers. answers.json in each folder has the answers for 100 texts or
pairs. ONNX Runtime computes every text by itself, without padding. The classes of the pipelines of transformers, which need
no torch, turn logits into labels; pooling is as in sentence-transformers.
"""

import json
import os
import sys
import tempfile
import warnings
import zipfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from transformers import PretrainedConfig, PreTrainedTokenizerFast
from transformers.pipelines.text_classification import TextClassificationPipeline
from transformers.pipelines.token_classification import AggregationStrategy, TokenClassificationPipeline
from transformers.pipelines.zero_shot_classification import ZeroShotClassificationPipeline

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tokenizers"))

import corpus  # noqa: E402
import kinds  # noqa: E402

HIDDEN, HEADS, LAYERS, INNER, POSITIONS = 8, 2, 2, 12, 64
COUNT = 100


BERT = [
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "attention.output.LayerNorm",
    "intermediate.dense",
    "output.dense",
    "output.LayerNorm",
]
DISTIL = [
    "attention.q_lin",
    "attention.k_lin",
    "attention.v_lin",
    "attention.out_lin",
    "sa_layer_norm",
    "ffn.lin1",
    "ffn.lin2",
    "output_layer_norm",
]


class Tensor:
    """An array with the method that pipelines call."""

    def __init__(self, array):
        self.array = array
        self.dtype = array.dtype

    def __getitem__(self, i):
        return Tensor(self.array[i])

    def numpy(self):
        return self.array


class Net:
    """A BERT, RoBERTa or DistilBERT with random weights, as the nodes of a graph and as named tensors."""

    def __init__(self, seed, vocab, roberta, head=None, labels=0, distil=False):
        self.random = np.random.default_rng(seed)
        self.tensors, self.nodes, self.inits, self.count = {}, [], {}, 0
        self.roberta, self.distil = roberta, distil
        self.prefix = ("roberta." if roberta else "distilbert." if distil else "bert.") if head else ""
        self.output(self.encoder(vocab), head, labels)

    def weight(self, name, *shape, scale=1.0, around=0.0):
        w = (around + scale * self.random.standard_normal(shape)).astype(np.float32)
        self.tensors[name] = w
        return self.constant(name, w)

    def constant(self, name, value):
        self.inits[name] = numpy_helper.from_array(np.asarray(value), name)
        return name

    def op(self, kind, *inputs, **attrs):
        self.count += 1
        name = f"v{self.count}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attrs))
        return name

    def linear(self, x, name, out, inner):
        w = self.weight(name + ".weight", out, inner, scale=1.5 / inner**0.5)
        b = self.weight(name + ".bias", out, scale=0.3)
        return self.op("Add", self.op("MatMul", x, self.op("Transpose", w, perm=[1, 0])), b)

    def norm(self, x, name):
        w, b = (
            self.weight(name + ".weight", HIDDEN, scale=0.2, around=1.0),
            self.weight(name + ".bias", HIDDEN, scale=0.2),
        )
        return self.op("LayerNormalization", x, w, b, epsilon=1e-12)

    def heads(self, x):
        x = self.op(
            "Reshape", x, self.constant(f"split{self.count}", np.array([0, 0, HEADS, HIDDEN // HEADS], np.int64))
        )
        return self.op("Transpose", x, perm=[0, 2, 1, 3])

    def embedded(self, vocab):
        p = self.prefix + "embeddings."
        x = self.op("Gather", self.weight(p + "word_embeddings.weight", vocab, HIDDEN), "input_ids")
        table = self.weight(p + "position_embeddings.weight", POSITIONS, HIDDEN)
        one, zero = self.constant("one", np.array(1, np.int64)), self.constant("zero", np.array(0, np.int64))
        if self.roberta:
            pad = self.constant("pad", np.array(1, np.int64))
            real = self.op("Cast", self.op("Not", self.op("Equal", "input_ids", pad)), to=TensorProto.INT64)
            at = self.op("Add", self.op("Mul", self.op("CumSum", real, one), real), pad)
        else:
            length = self.op("Gather", self.op("Shape", "input_ids"), one)
            at = self.op("Range", zero, length, one)
        x = self.op("Add", x, self.op("Gather", table, at))
        if self.distil:
            return self.norm(x, p + "LayerNorm")
        types = self.weight(p + "token_type_embeddings.weight", 1 if self.roberta else 2, HIDDEN)
        kinds_ = self.op("Mul", "input_ids", zero) if self.roberta else "token_type_ids"
        return self.norm(self.op("Add", x, self.op("Gather", types, kinds_)), p + "LayerNorm")

    def encoder(self, vocab):
        x = self.embedded(vocab)
        seen = self.op("Cast", "attention_mask", to=TensorProto.FLOAT)
        seen = self.op("Unsqueeze", seen, self.constant("axes", np.array([1, 2], np.int64)))
        hide = self.op(
            "Mul", self.op("Sub", seen, self.constant("onef", np.float32(1))), self.constant("far", np.float32(1e9))
        )
        merged = self.constant("merged", np.array([0, 0, HIDDEN], np.int64))
        for i in range(LAYERS):
            p = f"{self.prefix}{'transformer' if self.distil else 'encoder'}.layer.{i}."
            parts = [p + n for n in (DISTIL if self.distil else BERT)]
            q, k, v = (self.heads(self.linear(x, n, HIDDEN, HIDDEN)) for n in parts[:3])
            s = self.op("MatMul", q, self.op("Transpose", k, perm=[0, 1, 3, 2]))
            s = self.op("Div", s, self.constant(f"root{i}", np.float32((HIDDEN // HEADS) ** 0.5)))
            y = self.op("MatMul", self.op("Softmax", self.op("Add", s, hide), axis=-1), v)
            y = self.op("Reshape", self.op("Transpose", y, perm=[0, 2, 1, 3]), merged)
            y = self.linear(y, parts[3], HIDDEN, HIDDEN)
            x = self.norm(self.op("Add", x, y), parts[4])
            y = self.gelu(self.linear(x, parts[5], INNER, HIDDEN))
            y = self.linear(y, parts[6], HIDDEN, INNER)
            x = self.norm(self.op("Add", x, y), parts[7])
        return x

    def gelu(self, x):
        half, one = self.constant("half", np.float32(0.5)), self.constant("onef", np.float32(1))
        erf = self.op("Erf", self.op("Div", x, self.constant("root2", np.float32(2**0.5))))
        return self.op("Mul", self.op("Mul", x, half), self.op("Add", erf, one))

    def output(self, x, head, labels):
        self.name, shape = "logits", ["batch", labels]
        if head is None:
            self.name, shape = "last_hidden_state", ["batch", "sequence", HIDDEN]
        elif head == "tokens":
            x, shape = self.linear(x, "classifier", labels, HIDDEN), ["batch", "sequence", labels]
        else:
            x = self.op("Gather", x, "zero", axis=1)
            first, function, last = (
                ("classifier.dense", "Tanh", "classifier.out_proj")
                if self.roberta
                else ("pre_classifier", "Relu", "classifier")
                if self.distil
                else ("bert.pooler.dense", "Tanh", "classifier")
            )
            x = self.linear(self.op(function, self.linear(x, first, HIDDEN, HIDDEN)), last, labels, HIDDEN)
        self.nodes.append(helper.make_node("Identity", [x], [self.name]))
        names = ["input_ids", "attention_mask"] + ([] if self.roberta or self.distil else ["token_type_ids"])
        graph = helper.make_graph(
            self.nodes,
            "encoder",
            [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "sequence"]) for n in names],
            [helper.make_tensor_value_info(self.name, TensorProto.FLOAT, shape)],
            list(self.inits.values()),
        )
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.checker.check_model(self.model)
        self.session = onnxruntime.InferenceSession(self.model.SerializeToString(), providers=["CPUExecutionProvider"])
        self.inputs = names

    def run(self, e):
        rows = {"input_ids": e.ids, "attention_mask": e.attention_mask, "token_type_ids": e.type_ids}
        return self.session.run([self.name], {n: np.array([rows[n]], np.int64) for n in self.inputs})[0][0]


class Folder:
    """The files of a model."""

    def __init__(self, archive, name, kind, seed, head=None, labels=(), distil=False, **config):
        self.archive, self.name = archive, name
        self.roberta = kind == "roberta"
        self.tokenizer = Tokenizer.from_str(kinds.KINDS[kind]().to_str())
        self.add("tokenizer.json", self.tokenizer.to_str())
        pad = 1 if self.roberta else 3
        self.tokenizer.no_padding()
        vocab = self.tokenizer.get_vocab_size()
        self.net = Net(seed, vocab, self.roberta, head, len(labels), distil)
        family = "Roberta" if self.roberta else "DistilBert" if distil else "Bert"
        task = {None: "Model", "texts": "ForSequenceClassification", "tokens": "ForTokenClassification"}[head]
        self.config = {
            "architectures": [family + task],
            "model_type": family.lower(),
            "vocab_size": vocab,
            "hidden_size": HIDDEN,
            "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS,
            "intermediate_size": INNER,
            "hidden_act": "gelu",
            "max_position_embeddings": POSITIONS,
            "type_vocab_size": 1 if self.roberta else 2,
            "layer_norm_eps": 1e-12,
            "pad_token_id": pad,
            **config,
        }
        if distil:
            names = {
                "hidden_size": "dim",
                "num_hidden_layers": "n_layers",
                "num_attention_heads": "n_heads",
                "intermediate_size": "hidden_dim",
                "hidden_act": "activation",
            }
            for old, new in names.items():
                self.config[new] = self.config.pop(old)
            del self.config["type_vocab_size"], self.config["layer_norm_eps"]
        if labels:
            self.config["id2label"] = {str(i): label for i, label in enumerate(labels)}
        self.json("config.json", self.config)
        self.tokenizer.enable_truncation(POSITIONS - (2 if self.roberta else 0))

    def add(self, name, data):
        self.archive.writestr(zipfile.ZipInfo(self.name + "/" + name), data)

    def json(self, name, value):
        self.add(name, json.dumps(value))

    def finish(self, answers, onnx_name="model.onnx"):
        self.add(onnx_name, self.net.model.SerializeToString())
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.safetensors")
            save_file(self.net.tensors, path, metadata={"format": "pt"})
            with open(path, "rb") as f:
                self.add("model.safetensors", f.read())
        self.json("answers.json", answers)

    def pipeline(self, kind):
        p = object.__new__(kind)
        p.framework = "numpy"
        p.tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=self.tokenizer, unk_token="<unk>" if self.roberta else "[UNK]"
        )

        class Model:
            config = PretrainedConfig(**self.config, label2id={v: int(k) for k, v in self.config["id2label"].items()})

        p.model = Model()
        return p


def rounded(x):
    return np.asarray(x, np.float64).round(7).tolist()


def pooled(x, ways):
    n = len(x)
    weights = np.arange(1, n + 1, dtype=np.float64)[:, None]
    parts = {
        "cls_token": x[0],
        "max_tokens": x.max(0),
        "mean_tokens": x.sum(0) / n,
        "mean_sqrt_len_tokens": x.sum(0) / n**0.5,
        "weightedmean_tokens": (x * weights).sum(0) / weights.sum(),
        "lasttoken": x[-1],
    }
    return np.concatenate([parts[w] for w in parts if w in ways])


def modules(f, ways, *more):
    listed = [("", "Transformer"), ("1_Pooling", "Pooling"), *more]
    f.json(
        "modules.json",
        [
            {"idx": i, "name": str(i), "path": path, "type": "sentence_transformers.models." + kind}
            for i, (path, kind) in enumerate(listed)
        ],
    )
    names = ["cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"]
    f.json(
        "1_Pooling/config.json",
        {"word_embedding_dimension": HIDDEN, **{"pooling_mode_" + n: n in ways for n in names}},
    )


def embed(archive, texts):
    f = Folder(archive, "mean", "bert", 1)
    modules(f, ["mean_tokens"], ("2_Normalize", "Normalize"))
    f.json("sentence_bert_config.json", {"max_seq_length": 20, "do_lower_case": False})
    f.tokenizer.enable_truncation(20)
    vectors = [pooled(f.net.run(f.tokenizer.encode(t.strip())), ["mean_tokens"]) for t in texts]
    f.finish([rounded(v / np.linalg.norm(v)) for v in vectors], "onnx/model.onnx")

    f = Folder(archive, "pooled", "roberta", 2)
    ways = ["cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"]
    modules(f, ways, ("2_Dense", "Dense"))
    width = len(ways) * HIDDEN
    f.json(
        "2_Dense/config.json",
        {
            "in_features": width,
            "out_features": 5,
            "bias": True,
            "activation_function": "torch.nn.modules.activation.Tanh",
        },
    )
    r = np.random.default_rng(9)
    w, b = (r.standard_normal((5, width)) / width**0.5).astype(np.float32), r.standard_normal(5).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        save_file({"linear.weight": w, "linear.bias": b}, path)
        with open(path, "rb") as file:
            f.add("2_Dense/model.safetensors", file.read())
    f.finish([rounded(np.tanh(w @ pooled(f.net.run(f.tokenizer.encode(t.strip())), ways) + b)) for t in texts])


def classify(archive, texts):
    for name, kind, problem, labels in [
        ("single", "bert", "single_label_classification", ["bad", "fair", "good"]),
        ("several", "roberta", "multi_label_classification", ["a", "b", "c", "d"]),
        ("number", "bert", "regression", ["stars"]),
        ("distil", "bert", None, ["no", "yes"]),
    ]:
        config = {"problem_type": problem} if problem else {}
        f = Folder(archive, name, kind, len(name), "texts", labels, distil=name == "distil", **config)
        p = f.pipeline(TextClassificationPipeline)
        answers = []
        for t in texts:
            out = {"logits": Tensor(f.net.run(f.tokenizer.encode(t))[None])}
            answers.append([[x["label"], round(x["score"], 7)] for x in p.postprocess(out, top_k=None, _legacy=False)])
        f.finish(answers)


def tokens(archive, texts):
    labels = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    for name, kind in [("words", "bert_cased"), ("bytes", "roberta")]:
        f = Folder(archive, name, kind, len(name), "tokens", labels)
        p = f.pipeline(TokenClassificationPipeline)
        answers = []
        for t in texts:
            e = f.tokenizer.encode(t)
            out = {
                "logits": Tensor(f.net.run(e)[None]),
                "sentence": t,
                "input_ids": np.array([e.ids]),
                "offset_mapping": [e.offsets],
                "special_tokens_mask": [Tensor(np.array(e.special_tokens_mask))],
            }
            row = []
            for strategy in ["simple", "none", "first", "max"]:
                list_ = p.postprocess([out], AggregationStrategy(strategy))
                row.append(
                    [
                        [x.get("entity_group", x.get("entity")), round(float(x["score"]), 7), x["start"], x["end"]]
                        for x in list_
                    ]
                )
            answers.append(row)
        f.finish(answers)


CANDIDATES = ["sports", "the weather", "code"]


def zero_shot(archive, texts):
    f = Folder(archive, "nli", "roberta", 5, "texts", ["CONTRADICTION", "NEUTRAL", "ENTAILMENT"])
    p = f.pipeline(ZeroShotClassificationPipeline)
    f.tokenizer.enable_truncation(POSITIONS - 2, strategy="only_first")
    answers = []
    for t in texts:
        outs = [
            {
                "candidate_label": c,
                "sequence": t,
                "logits": Tensor(f.net.run(f.tokenizer.encode(t, f"This is {c}."))[None]),
            }
            for c in CANDIDATES
        ]
        rows = []
        for several in [False, True]:
            r = p.postprocess(outs, multi_label=several)
            rows.append([[label, round(score, 7)] for label, score in zip(r["labels"], r["scores"])])
        answers.append(rows)
    f.finish(answers)


def rerank(archive, texts):
    f = Folder(archive, "rank", "bert", 6, "texts", ["LABEL_0"])
    scores = []
    for i, t in enumerate(texts):
        x = f.net.run(f.tokenizer.encode(texts[(7 * i + 1) % len(texts)].strip(), t.strip()))
        scores.append(round(float(1 / (1 + np.exp(-x[0].astype(np.float64)))), 7))
    f.finish(scores)


def main():
    warnings.simplefilter("ignore")
    texts = [t for t in corpus.texts(2 * COUNT, 11) if t.strip()][:COUNT]
    with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("texts.json"), json.dumps(texts))
        for task in [embed, classify, tokens, zero_shot, rerank]:
            task(archive, texts)


main()
