"""Writes a voice that an exporter of other habits could have made: the same numbers, with other names and inputs.

    python oracles/chatterbox/renamed.py FOLDER OUT

It takes the graphs of fp32. OUT has no folder for graphs. The outputs of speech_encoder have other names;
embed_tokens has its weights in it, ids of int32, and the inputs position_ids and exaggeration; language_model gives
scores of float64 and takes num_logits_to_keep; conditional_decoder takes its inputs in another order.
"""

import pathlib
import shutil
import sys

import onnx
from onnx import TensorProto, helper


def renamed(graph, old, new, kind=None):
    """Renames an input or an output. With a kind, the graph casts it."""
    for list_, first in ((graph.input, True), (graph.output, False)):
        for value in list_:
            if value.name != old:
                continue
            value.name = new
            ends = (old, new) if not first else (new, old)
            if kind is None:
                graph.node.insert(0 if first else len(graph.node), helper.make_node("Identity", [ends[0]], [ends[1]]))
                continue
            to = value.type.tensor_type.elem_type if first else kind
            cast = helper.make_node("Cast", [ends[0]], [ends[1]], to=to)
            graph.node.insert(0 if first else len(graph.node), cast)
            value.type.tensor_type.elem_type = kind


def added(graph, output, name, kind, shape, axes):
    """Adds an input, of which nothing is added to an output."""
    graph.input.append(helper.make_tensor_value_info(name, kind, shape))
    of = graph.output[0]
    assert of.name == output
    inner = f"{output}_without_{name}"
    for node in graph.node:
        node.output[:] = [inner if x == output else x for x in node.output]
    to = of.type.tensor_type.elem_type
    zero, at = f"zero_{name}", f"axes_{name}"
    graph.initializer.append(helper.make_tensor(zero, to, [], [0.0]))
    graph.initializer.append(helper.make_tensor(at, TensorProto.INT64, [len(axes)], axes))
    graph.node.extend(
        [
            helper.make_node("Cast", [name], [f"cast_{name}"], to=to),
            helper.make_node("Unsqueeze", [f"cast_{name}", at], [f"wide_{name}"]),
            helper.make_node("Mul", [f"wide_{name}", zero], [f"nothing_{name}"]),
            helper.make_node("Add", [inner, f"nothing_{name}"], [output]),
        ]
    )


def main(folder, out):
    source, out = pathlib.Path(folder), pathlib.Path(out)
    out.mkdir()
    shutil.copy(source / "tokenizer.json", out)
    for name in ("speech_encoder", "embed_tokens", "language_model", "conditional_decoder"):
        file = source / "onnx" / f"{name}.onnx"
        model = onnx.load(file, load_external_data=name == "embed_tokens")
        graph = model.graph
        if name == "speech_encoder":
            for value in [v.name for v in graph.output]:
                renamed(graph, value, f"of_{value}")
        elif name == "embed_tokens":
            renamed(graph, "input_ids", "tokens", TensorProto.INT32)
            added(graph, "inputs_embeds", "position_ids", TensorProto.INT64, ["batch", "rows"], [2])
            added(graph, "inputs_embeds", "exaggeration", TensorProto.FLOAT, ["batch"], [1, 2])
        elif name == "language_model":
            renamed(graph, "logits", "scores", TensorProto.DOUBLE)
            added(graph, "scores", "num_logits_to_keep", TensorProto.INT64, [], [0])
        else:
            inputs = list(graph.input)[::-1]
            del graph.input[:]
            graph.input.extend(inputs)
        onnx.save(model, out / file.name)
        if name != "embed_tokens":
            shutil.copy(f"{file}_data", out)


if __name__ == "__main__":
    main(*sys.argv[1:])
