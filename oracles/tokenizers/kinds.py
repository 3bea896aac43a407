"""The tokenizers of the comparison, by name: every kind of step that a file can name."""

import json
import struct

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import corpus

GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
CL100K = r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
QWEN2 = CL100K.replace("{1,3}", "")
UPPER = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
LOWER = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = UPPER + SHORT + "|" + LOWER + SHORT + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TEKKEN = UPPER + "|" + LOWER + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
MARKS = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
NESTED = r" ?[^(\s|[.,!?…。，、।۔،])]+"

KINDS = {}


def kind(f):
    KINDS[f.__name__] = f
    return f


def train(t, trainer):
    t.train_from_iterator(corpus.corpus(), trainer)
    return t


def byte_bpe(pre, special=("<|endoftext|>",), size=700, **options):
    t = Tokenizer(models.BPE(**options))
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    return train(
        t,
        trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=list(special),
            show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )


def split(text, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(text), behavior, invert)


def patterned(text, **options):
    return byte_bpe(
        pre_tokenizers.Sequence([split(text), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]),
        **options,
    )


@kind
def gpt2():
    t = byte_bpe(pre_tokenizers.ByteLevel(add_prefix_space=False))
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    return t


@kind
def gpt2_prefix():
    return byte_bpe(pre_tokenizers.ByteLevel(add_prefix_space=True))


@kind
def roberta():
    t = byte_bpe(pre_tokenizers.ByteLevel(add_prefix_space=True), special=("<s>", "<pad>", "</s>", "<unk>"))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return t


@kind
def llama3():
    t = patterned(CL100K, special=("<|begin|>",), ignore_merges=True)
    t.add_special_tokens(["<|im_start|>", "<|im_end|>", "<|endoftext|>"])
    t.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(
                single="<|begin|> $A", pair="<|begin|> $A <|begin|> $B", special_tokens=[("<|begin|>", 0)]
            ),
        ]
    )
    return t


@kind
def qwen2():
    t = patterned(QWEN2)
    t.normalizer = normalizers.NFC()
    t.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    t.add_tokens([AddedToken("<extra>", normalized=False)])
    return t


@kind
def o200k():
    return patterned(O200K)


@kind
def tekken():
    return patterned(TEKKEN)


@kind
def gpt2_pattern():
    return patterned(GPT2)


@kind
def marks():
    return byte_bpe(
        pre_tokenizers.Sequence(
            [
                split(r"\p{N}{1,3}"),
                split("[一-龥぀-ゟ゠-ヿ]+"),
                split(MARKS),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    )


@kind
def nested():
    return patterned(NESTED)


@kind
def neox():
    t = byte_bpe(pre_tokenizers.ByteLevel(add_prefix_space=False))
    t.normalizer = normalizers.NFC()
    t.add_tokens([AddedToken(" " * n, normalized=True) for n in range(2, 9)])
    return t


@kind
def smol():
    return byte_bpe(
        pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
    )


@kind
def byte_normalizer():
    t = byte_bpe(split(r"\s+", "merged_with_next"), size=400)
    t.normalizer = normalizers.ByteLevel()
    return t


@kind
def clip():
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", continuing_subword_prefix=""))
    t.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    t.pre_tokenizer = pre_tokenizers.Sequence(
        [
            split(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", "removed", True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    t.decoder = decoders.Sequence([decoders.BPEDecoder("</w>")])
    return train(
        t,
        trainers.BpeTrainer(
            vocab_size=900,
            special_tokens=["<unk>", "<|endoftext|>"],
            show_progress=False,
            end_of_word_suffix="</w>",
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )


@kind
def word_suffix():
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.BPEDecoder("</w>")
    return train(
        t,
        trainers.BpeTrainer(
            vocab_size=600, special_tokens=["<unk>"], end_of_word_suffix="</w>", limit_alphabet=80, show_progress=False
        ),
    )


@kind
def word_prefix():
    t = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##", fuse_unk=True))
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.decoder = decoders.WordPiece()
    return train(
        t,
        trainers.BpeTrainer(
            vocab_size=600,
            special_tokens=["<unk>"],
            continuing_subword_prefix="##",
            limit_alphabet=80,
            show_progress=False,
        ),
    )


@kind
def no_unknown():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return train(t, trainers.BpeTrainer(vocab_size=300, limit_alphabet=60, show_progress=False))


def bytes_of(prefix=()):
    return list(prefix) + [f"<0x{b:02X}>" for b in range(256)]


def llama(pre, normalizer, decoder, skip=(), **options):
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    t.normalizer, t.pre_tokenizer = normalizer, pre
    train(
        t,
        trainers.BpeTrainer(
            vocab_size=900, special_tokens=bytes_of(["<unk>", "<s>", "</s>"]), limit_alphabet=90, show_progress=False
        ),
    )
    d = json.loads(t.to_str())
    d["model"]["byte_fallback"] = True
    d["model"].update(options)
    for token in skip:
        del d["model"]["vocab"][token]
    d["added_tokens"] = d["added_tokens"][:3]
    t = Tokenizer.from_str(json.dumps(d))
    t.decoder = decoder
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    return t


def fallback():
    return decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )


def prepend():
    return normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])


@kind
def llama2():
    return llama(None, prepend(), fallback())


@kind
def llama2_metaspace():
    return llama(pre_tokenizers.Metaspace("▁", "first", False), None, fallback())


@kind
def llama2_unfused():
    return llama(
        pre_tokenizers.Metaspace("▁", "always", True), None, fallback(), fuse_unk=False, skip=["<0xE2>", "<0xCC>"]
    )


@kind
def gemma():
    t = llama(
        pre_tokenizers.Split(" ", "merged_with_previous"),
        normalizers.Replace(" ", "▁"),
        decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]),
    )
    t.add_tokens([AddedToken("\n" * n, normalized=False) for n in range(2, 5)])
    return t


def charsmap(table):
    """The double array of a map of characters, with room enough for a simple search of bases."""
    texts, values = b"", {}
    for k, v in sorted(table.items()):
        values[k.encode()] = len(texts)
        texts += v.encode() + b"\0"
    units, used = {0: 0}, {0}

    def place(node, prefix):
        below = sorted({k[len(prefix)] for k in values if k.startswith(prefix) and len(k) > len(prefix)})
        leaf = prefix in values
        base = 1
        while any((base ^ c) in used for c in below + ([0] if leaf else [])) or base in used and leaf:
            base += 1
        offset = base ^ node
        assert offset < 1 << 21
        units[node] |= offset << 10 | (1 << 8 if leaf else 0)
        if leaf:
            used.add(base)
            units[base] = 1 << 31 | values[prefix]
        for c in below:
            used.add(base ^ c)
            units[base ^ c] = c
        for c in below:
            place(base ^ c, prefix + bytes([c]))

    place(0, b"")
    size = (max(units) | 0xFF) + 1
    array = b"".join(struct.pack("<I", units.get(i, 0)) for i in range(size))
    return struct.pack("<I", len(array)) + array + texts


MAP = {
    "\u00a0": " ",
    "\u3000": " ",
    "\t": " ",
    "\n": " ",
    "\r": "",
    "\u200b": " ",
    "\u212b": "Å",
    "ﬁ": "fi",
    "½": "1⁄2",
    "①": "1",
    "Ａ": "A",
    "Ｂ": "B",
    "a\u0301": "á",
    "e\u0308": "ë",
    "\u0301": "\u0301",
    "㎒": "MHz",
    "…": "...",
    "\U0001d7d8": "0",
    "ｶﾞ": "ガ",
    "ｶ": "カ",
    "o\u0302\u0323": "ộ",
    "1\ufe0f": "1",
    "\x01": "",
    "ſ": "s",
    "²": "2",
}


@kind
def unigram():
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    train(
        t,
        trainers.UnigramTrainer(
            vocab_size=600, special_tokens=["<unk>", "<pad>", "</s>"], unk_token="<unk>", show_progress=False
        ),
    )
    t.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", t.token_to_id("</s>"))]
    )
    return t


@kind
def unigram_map():
    t = unigram()
    t.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(charsmap(MAP)),
            normalizers.Strip(False, True),
            normalizers.Replace(Regex(" {2,}"), "▁"),
        ]
    )
    t.pre_tokenizer = pre_tokenizers.Metaspace("▁", "always")
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    return t


@kind
def unigram_bytes():
    d = json.loads(unigram().to_str())
    d["model"]["byte_fallback"] = True
    d["model"]["vocab"] += [[b, -20.0] for b in bytes_of()]
    d["normalizer"], d["pre_tokenizer"] = (
        None,
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False},
    )
    t = Tokenizer.from_str(json.dumps(d))
    t.decoder = fallback()
    return t


def word_piece(normalizer, **options):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", **options))
    t.normalizer = normalizer
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    train(
        t,
        trainers.WordPieceTrainer(
            vocab_size=700, special_tokens=["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"], show_progress=False
        ),
    )
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return t


@kind
def bert():
    return word_piece(normalizers.BertNormalizer())


@kind
def bert_cased():
    t = word_piece(normalizers.BertNormalizer(lowercase=False, strip_accents=True, handle_chinese_chars=False))
    t.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    t.decoder = decoders.WordPiece(cleanup=False)
    return t


@kind
def bert_short():
    t = word_piece(normalizers.BertNormalizer(clean_text=False, strip_accents=False), max_input_chars_per_word=6)
    t.add_tokens(
        [
            AddedToken("word", single_word=True),
            AddedToken("<extra>", rstrip=True),
            AddedToken("<nl>", lstrip=True, rstrip=True),
        ]
    )
    return t


def word_level(pre, normalizer=None):
    t = Tokenizer(models.WordLevel(unk_token="<unk>"))
    t.normalizer, t.pre_tokenizer = normalizer, pre
    return train(t, trainers.WordLevelTrainer(vocab_size=900, special_tokens=["<unk>", "<pad>"], show_progress=False))


@kind
def words_space():
    return word_level(
        pre_tokenizers.WhitespaceSplit(),
        normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]),
    )


@kind
def words_plain():
    return word_level(pre_tokenizers.Whitespace(), normalizers.Strip())


@kind
def words_digits():
    t = word_level(
        pre_tokenizers.Sequence(
            [
                pre_tokenizers.CharDelimiterSplit(" "),
                pre_tokenizers.Digits(False),
                pre_tokenizers.Punctuation("contiguous"),
            ]
        ),
        normalizers.NFD(),
    )
    t.decoder = decoders.CTC(pad_token="<pad>", word_delimiter_token="|")
    return t


def letters(pre):
    """Words of every kind are few; characters show where a text is split if each piece has its own token."""
    t = Tokenizer(models.WordPiece(unk_token="<unk>", max_input_chars_per_word=1000))
    t.pre_tokenizer = pre
    return train(
        t, trainers.WordPieceTrainer(vocab_size=900, special_tokens=["<unk>"], limit_alphabet=400, show_progress=False)
    )


@kind
def scripts():
    return letters(pre_tokenizers.UnicodeScripts())


@kind
def fixed_length():
    return letters(pre_tokenizers.FixedLength(3))


for BEHAVIOR in ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]:
    for INVERT in [False, True]:

        def f(behavior=BEHAVIOR, invert=INVERT):
            return letters(pre_tokenizers.Split(Regex(r"[\s\p{P}]"), behavior, invert))

        KINDS["split_" + BEHAVIOR + ("_inverted" if INVERT else "")] = f

    def g(behavior=BEHAVIOR):
        return letters(
            pre_tokenizers.Sequence([pre_tokenizers.Split("o", behavior), pre_tokenizers.Punctuation(behavior)])
        )

    KINDS["text_" + BEHAVIOR] = g
