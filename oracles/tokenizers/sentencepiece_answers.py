"""Trains SentencePiece models and writes what the package sentencepiece answers.

Usage: sentencepiece_answers.py FOLDER [COUNT]

FOLDER/texts.json is there. FOLDER/NAME.model is a model and FOLDER/NAME.answers.json as answers.py writes it. Texts that name a
control piece have no answer: nacre matches them, as the tokenizers of Hugging Face do. Texts with unknown characters have no
decoded text, for which SentencePiece writes a sign of its own.
"""

import io
import json
import os
import sys

import sentencepiece

import corpus

KINDS = {
    "sp_bpe": dict(
        model_type="bpe",
        byte_fallback=True,
        vocab_size=900,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        character_coverage=0.98,
        split_digits=True,
        allow_whitespace_only_pieces=True,
    ),
    "sp_bpe_nmt": dict(model_type="bpe", vocab_size=700, user_defined_symbols=["<|im_start|>", "word", "..."]),
    "sp_bpe_nodummy": dict(
        model_type="bpe",
        vocab_size=700,
        add_dummy_prefix=False,
        normalization_rule_name="nfkc",
        remove_extra_whitespaces=False,
    ),
    "sp_unigram": dict(model_type="unigram", vocab_size=700, bos_id=-1, pad_id=0, eos_id=1, unk_id=2),
    "sp_unigram_user": dict(
        model_type="unigram",
        vocab_size=600,
        normalization_rule_name="nmt_nfkc_cf",
        user_defined_symbols=["<extra>", "[MASK]", "://"],
    ),
    "sp_unigram_bytes": dict(
        model_type="unigram",
        vocab_size=900,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        character_coverage=0.98,
    ),
}


def main():
    folder = sys.argv[1]
    with open(os.path.join(folder, "texts.json")) as f:
        texts = json.load(f)
    for name, options in KINDS.items():
        out = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(corpus.corpus()),
            model_writer=out,
            minloglevel=2,
            hard_vocab_limit=False,
            num_threads=1,
            **options,
        )
        with open(os.path.join(folder, name + ".model"), "wb") as f:
            f.write(out.getvalue())
        sp = sentencepiece.SentencePieceProcessor(model_proto=out.getvalue())
        control = [sp.id_to_piece(i) for i in range(sp.vocab_size()) if sp.is_control(i) or sp.is_unknown(i)]
        before = [sp.bos_id()] if sp.bos_id() >= 0 else []
        after = [] if before else [sp.eos_id()]
        plain, special, decoded = [], [], []
        for text in texts:
            ids = None if any(c in text for c in control) else sp.encode(text)
            plain.append(ids)
            special.append(None if ids is None else before + ids + after)
            decoded.append(None if ids is None or sp.unk_id() in ids else sp.decode(ids))
        answers = {
            "vocabulary": sp.vocab_size(),
            "plain": plain,
            "special": special,
            "random": [],
            "decoded": decoded,
            "whole": [None] * len(texts),
        }
        with open(os.path.join(folder, name + ".answers.json"), "w") as f:
            json.dump(answers, f, separators=(",", ":"))


main()
