"""Writes the encodings that the package tokenizers makes of texts and of pairs.

Usage: encodings.py FOLDER COUNT [SEED]

FOLDER has what answers.py wrote. FOLDER/NAME.encodings.json is a list of COUNT batches of inputs, which are places in the texts, with
settings as tokenizer.json has them and the encodings. Offsets are characters. Of the overflow of an encoding there are the number
and the first few. A batch with an error has no encodings.
"""

import glob
import json
import os
import random
import sys

from tokenizers import Tokenizer

MOST = 4  # encodings of an overflow


def encoding(e):
    return {
        "ids": e.ids,
        "types": e.type_ids,
        "mask": e.attention_mask,
        "offsets": [x for offset in e.offsets for x in offset],
        "specials": e.special_tokens_mask,
    }


def truncation(r, t, pair):
    strategy = r.choice(["longest_first", "longest_first", "only_first", "only_second" if pair else "only_first"])
    room = r.randrange(1, 12)
    t.enable_truncation(
        t.num_special_tokens_to_add(pair) + room,
        stride=r.choice([0, 0, r.randrange(0, (room + 3) // 4)]),
        strategy=strategy,
        direction=r.choice(["right", "right", "left"]),
    )


def padding(r, t):
    t.enable_padding(
        direction=r.choice(["right", "right", "left"]),
        pad_id=r.randrange(5),
        pad_type_id=r.randrange(3),
        pad_token="[PAD]",
        length=r.choice([None, None, r.randrange(20)]),
        pad_to_multiple_of=r.choice([None, None, 4]),
    )


def batch(r, t, texts):
    t.no_truncation()
    t.no_padding()
    pair = r.random() < 0.4
    count = r.choice([1, 1, 1, 3])
    inputs = [[r.randrange(len(texts)) for _ in range(2 if pair else 1)] for _ in range(count)]
    special = r.random() < 0.8
    if r.random() < 0.5:
        truncation(r, t, pair)
    if r.random() < 0.3:
        padding(r, t)
    case = {"inputs": inputs, "special": special, "truncation": t.truncation, "padding": t.padding}
    settings = json.loads(t.to_str())
    case["truncation"], case["padding"] = settings["truncation"], settings["padding"]
    try:
        list_ = t.encode_batch(
            [tuple(texts[i] for i in x) if pair else texts[x[0]] for x in inputs], add_special_tokens=special
        )
    except BaseException as error:  # a panic is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return case
    case["encodings"] = []
    for e in list_:
        out = encoding(e)
        out["overflow"] = [encoding(o) for o in e.overflowing[:MOST]]
        out["more"] = len(e.overflowing)
        case["encodings"].append(out)
    return case


def main():
    folder, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 7
    with open(os.path.join(folder, "texts.json")) as f:
        texts = json.load(f)
    for path in sorted(glob.glob(os.path.join(folder, "*.answers.json"))):
        path = path.removesuffix(".answers.json")
        if not os.path.exists(path + ".json"):
            continue
        t, r = Tokenizer.from_file(path + ".json"), random.Random(f"{seed} {os.path.basename(path)}")
        with open(path + ".encodings.json", "w") as f:
            json.dump([batch(r, t, texts) for _ in range(count)], f, separators=(",", ":"))


main()
