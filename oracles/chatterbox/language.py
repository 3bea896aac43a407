"""The graphs embed_tokens and language_model: a GPT-2 that reads a voice and a text, and writes codes of speech."""

import numpy as np

from graph import F, Graph

START, STOP, CODES = 6561, 6562, 6563  # rows of the table below are codes of speech, rows from CODES on are text


def embed_tokens(size, folder, precision, seed):
    g = Graph(folder, "embed_tokens", precision, 20, seed)
    ids = g.input("input_ids", np.int64, ["batch_size", "sequence_length"])
    g.floats = g.half
    rows = g.table(ids, g.random(CODES + size.texts, size.width))
    g.output(g.exact(rows), "inputs_embeds", F, ["batch_size", "sequence_length", size.width])
    g.save()


def language_model(size, folder, precision, seed):
    """In fp32 and quantized files attention is nodes of ai.onnx, in the others it is GroupQueryAttention."""
    g = Graph(folder, "language_model", precision, 20, seed)
    width, heads = size.width, size.heads
    wide = width // heads
    x = g.input("inputs_embeds", F, ["batch_size", "sequence_length", width])
    mask = g.input("attention_mask", np.int64, ["batch_size", "total_sequence_length"])
    positions = g.input("position_ids", np.int64, ["batch_size", "sequence_length"])
    past = ["batch_size", heads, "past_sequence_length", wide]
    cache = np.float16 if g.half is np.float16 else F
    caches = [
        [g.input(f"past_key_values.{i}.{part}", cache, past) for part in ("key", "value")] for i in range(size.layers)
    ]

    # Towards the end of a text the positions lead away from the codes, to the row that stops.
    away = g.random(width)
    ramp = np.maximum(np.arange(size.window) - size.ends, 0).astype(F) / F(size.ends_within)
    places = g.random(size.window, width) * F(0.1) + ramp[:, None] * away
    x = g.Add(x, g.Gather(g.stored(places), positions))
    x = g.rounded(x)
    grouped = precision not in ("fp32", "quantized")
    rules = lengths(g, mask) if grouped else bias(g, mask, positions)
    presents = []
    for keys, values in caches:
        qkv = g.linear(g.norm(x, width), width, 3 * width)
        q, k, v = g.split(qkv, 3)
        if grouped:
            y, key, value = g.microsoft(
                "GroupQueryAttention",
                *(q, k, v, keys, values, *rules),
                outputs=3,
                num_heads=heads,
                kv_num_heads=heads,
                scale=float(wide**-0.5),
            )
        else:
            q, k, v = (g.heads(part, heads, wide) for part in (q, k, v))
            key, value = g.Concat(keys, k, axis=2), g.Concat(values, v, axis=2)
            scores = g.MatMul(q, g.Transpose(key, perm=[0, 1, 3, 2]))
            scores = g.Add(g.Mul(scores, float(wide**-0.5)), rules)
            y = g.joined(g.MatMul(g.Softmax(scores, axis=-1), value), width)
        presents += [key, value]
        x = g.Add(x, g.linear(y, width, width, gain=0.5))
        y = g.linear(g.norm(x, width), width, 4 * width)
        x = g.Add(x, g.linear(gelu(g, y), 4 * width, width, gain=0.5))
    head = g.random(width, CODES) / F(np.sqrt(width)) * np.exp(0.5 * g.random(CODES))
    head[:, START] = 0
    head[:, STOP] = 4 * away / F(np.sqrt(width))
    logits = g.product(g.norm(x, width), head)
    g.output(g.exact(logits), "logits", F, ["batch_size", "sequence_length", CODES])
    present = ["batch_size", heads, "total_sequence_length", wide]
    for i in range(size.layers):
        for j, part in enumerate(("key", "value")):
            g.output(presents[2 * i + j], f"present.{i}.{part}", cache, present)
    g.save()


def lengths(g, mask):
    """The last inputs of GroupQueryAttention: the last row of each batch, and the number of rows."""
    rows = g.cast(g.Sub(g.ReduceSum(mask, [1], keepdims=0), 1), np.int32)
    total = g.cast(g.Gather(g.Shape(mask), 1), np.int32)
    return rows, total


def bias(g, mask, positions):
    """What is added to scores: nothing for rows up to the position, -3.4e38 for others and where the mask is 0."""
    total = g.Gather(g.Shape(mask), 1)
    columns = g.Range(0, total, 1)
    seen = g.LessOrEqual(g.Unsqueeze(columns, [0, 1]), g.Unsqueeze(positions, [2]))
    seen = g.And(seen, g.cast(g.Unsqueeze(mask, [1]), np.bool_))
    return g.Unsqueeze(g.Where(seen, 0.0, float(np.finfo(F).min)), [1])


def gelu(g, x):
    """The approximation by tanh, as exporters write it out."""
    cube = g.Mul(g.Pow(x, 3.0), 0.044715)
    inner = g.Mul(g.Add(x, cube), float(np.sqrt(2 / np.pi)))
    return g.Mul(g.Mul(x, 0.5), g.Add(g.Tanh(inner), 1.0))
