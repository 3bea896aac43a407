"""The files of a GPT-2 tokenizer whose merges are learned from a text of our own."""

import json
import pathlib

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from language import CODES, START

TEXT = """
The tide goes out before the sun comes up, and the children walk along the shore to look for shells. Some are white,
some are grey, and a few shine like the inside of a bell. "Did you hear that?" asked the oldest one. "It sounds like
somebody singing far away." They stood still and listened. There was the wind, there was the water, and there was, very
quietly, a voice that said the names of things: stone, feather, rope, lantern, door. On Monday the 24th of March at
half past seven they came back with their grandmother, who had been a sailor for thirty years and was not afraid of
voices. She laughed, she coughed, she sighed, and then she answered: who are you, and what would you like us to bring
you tomorrow? Nobody knew what to say. In the evening everyone talked about it over bread, butter and tea; the baker
thought it was a joke, the teacher wrote everything down in a blue book, and the doctor went to see for himself.
"""
TAGS = ["[laugh]", "[chuckle]", "[cough]", "[sigh]", "[gasp]", "[groan]", "[sniff]", "[shush]", "[clear throat]"]
END, BEGIN = "<|endoftext|>", "<|startofspeech|>"
TEXTS = 400  # at most as many tokens, without tags


def write(folder):
    """Writes the files. Ids of text begin at CODES, and a text ends with the token that starts speech."""
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    options = {"vocab_size": TEXTS - 1, "min_frequency": 2, "initial_alphabet": alphabet, "show_progress": False}
    learner.train_from_iterator([TEXT], trainers.BpeTrainer(**options))
    model = json.loads(learner.to_str())["model"]
    merges = [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]
    order = sorted(model["vocab"], key=model["vocab"].get) + [END, *TAGS]
    vocab = {BEGIN: START} | {token: CODES + i for i, token in enumerate(order)}

    def added(token, i, special):
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": special}
        return {"id": i, "content": token} | flags

    extra = [added(token, vocab[token], token not in TAGS) for token in (BEGIN, END, *TAGS)]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    template = {
        "type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": BEGIN, "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {BEGIN: {"id": BEGIN, "ids": [START], "tokens": [BEGIN]}},
    }
    bpe = {"dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": ""}
    bpe |= {"type": "BPE", "fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
    document = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": extra, "normalizer": None}
    document |= {"pre_tokenizer": level, "decoder": level, "model": bpe | {"vocab": vocab, "merges": merges}}
    document["post_processor"] = {"type": "Sequence", "processors": [level, template]}
    config = {"tokenizer_class": "GPT2Tokenizer", "model_max_length": 1024, "add_prefix_space": False}
    specials = {"bos_token": END, "eos_token": END, "unk_token": END}
    config |= specials | {"added_tokens_decoder": {str(t["id"]): {k: t[k] for k in t if k != "id"} for t in extra}}
    files = {
        "tokenizer.json": document,
        "vocab.json": vocab,
        "tokenizer_config.json": config,
        "special_tokens_map.json": specials,
    }
    for name, value in files.items():
        pathlib.Path(folder, name).write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")
    lines = ["#version: 0.2", *merges, ""]
    pathlib.Path(folder, "merges.txt").write_text("\n".join(lines), encoding="utf-8")
