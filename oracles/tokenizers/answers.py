"""Writes tokenizers of every kind and what the package tokenizers answers.

Usage: answers.py FOLDER COUNT [SEED]

FOLDER/NAME.json is a tokenizer, FOLDER/texts.json the COUNT texts, and FOLDER/NAME.answers.json holds, for each text, its ids
without and with special tokens, and for random lists of ids their text without and with special tokens.
"""

import json
import os
import random
import sys

import corpus
import kinds


def main():
    folder, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 7
    os.makedirs(folder, exist_ok=True)
    texts = corpus.texts(count, seed)
    with open(os.path.join(folder, "texts.json"), "w") as f:
        json.dump(texts, f, separators=(",", ":"))
    for name, make in kinds.KINDS.items():
        t = make()
        t.save(os.path.join(folder, name + ".json"), pretty=False)
        r = random.Random(seed)
        plain = [e.ids for e in t.encode_batch(texts, add_special_tokens=False)]
        special = [e.ids for e in t.encode_batch(texts, add_special_tokens=True)]
        size = max(t.get_vocab().values()) + 2
        lists = special + [[r.randrange(size) for _ in range(r.randrange(12))] for _ in range(count)]
        answers = {
            "vocabulary": size - 1,
            "plain": plain,
            "special": [None if a == b else b for a, b in zip(plain, special)],
            "random": lists[count:],
            "decoded": [t.decode(ids, skip_special_tokens=True) for ids in lists],
            "whole": [t.decode(ids, skip_special_tokens=False) for ids in lists],
        }
        with open(os.path.join(folder, name + ".answers.json"), "w") as f:
            json.dump(answers, f, separators=(",", ":"))


main()
