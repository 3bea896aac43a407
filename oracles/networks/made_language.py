"""Networks that read and write."""

import numpy as np

import values
from made_hugging import hugging
from values import F

WORDS = 96
small = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "initializer_range": 0.1,
}


def text(*shapes):
    """Numbers of words, and a mask that hides the end of every second row."""

    def feeds(rng):
        for shape in shapes or ((1, 9), (3, 16)):
            mask = np.ones(shape, np.int64)
            mask[1::2, shape[1] // 2 :] = 0
            yield {"input_ids": 4 + values.tokens(rng, WORDS - 4, *shape), "attention_mask": mask}

    return feeds


readers = "readers of text"
hugging("bert", readers, "BERT", "Bert", small, text())
hugging("bert_export", readers, "BERT, by torch.export", "Bert", small, text((2, 9), (3, 16)), how="export", opset=18)
hugging("bert_masked", readers, "BERT that fills gaps", "Bert:BertForMaskedLM", small, text())
hugging(
    "roberta",
    readers,
    "RoBERTa: positions counted",
    "Roberta:RobertaForSequenceClassification",
    small | {"pad_token_id": 1},
    text(),
)
hugging(
    "distilbert",
    readers,
    "DistilBERT",
    "DistilBert:DistilBertForTokenClassification",
    {"vocab_size": WORDS, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64},
    text(),
)
hugging("albert", readers, "ALBERT: one layer twice", "Albert", small | {"embedding_size": 16}, text())
hugging("electra", readers, "ELECTRA", "Electra:ElectraForPreTraining", small | {"embedding_size": 16}, text())
hugging("mpnet", readers, "MPNet: buckets of distances", "MPNet", small, text())
hugging(
    "deberta_v2",
    readers,
    "DeBERTa v2: disentangled attention",
    "DebertaV2",
    small
    | {"relative_attention": True, "position_buckets": 8, "pos_att_type": "p2c|c2p", "max_relative_positions": 16},
    text(),
)
hugging(
    "squeezebert", readers, "SqueezeBERT: grouped convolutions", "SqueezeBert", small | {"embedding_size": 32}, text()
)
hugging(
    "mobilebert",
    readers,
    "MobileBERT: bottlenecks",
    "MobileBert",
    small | {"embedding_size": 16, "intra_bottleneck_size": 16, "true_hidden_size": 16},
    text(),
)
hugging(
    "modernbert",
    readers,
    "ModernBERT: local and global attention, rotary positions",
    "ModernBert",
    small
    | {
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "cls_token_id": 1,
        "sep_token_id": 2,
        "global_attn_every_n_layers": 2,
        "local_attention": 8,
        "reference_compile": False,
    },
    text(),
)
hugging(
    "xlnet",
    readers,
    "XLNet: two streams",
    "XLNet",
    {"vocab_size": WORDS, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64},
    text(),
)
hugging(
    "layoutlm",
    readers,
    "LayoutLM: words with boxes",
    "LayoutLM",
    small | {"max_2d_position_embeddings": 64},
    lambda rng: (
        {
            "input_ids": values.tokens(rng, WORDS, b, n),
            "bbox": np.sort(rng.integers(0, 60, (b, n, 4)), -1)[..., [0, 1, 2, 3]],
        }
        for b, n in ((1, 7), (2, 12))
    ),
)
hugging(
    "clip_text",
    readers,
    "CLIP, the half that reads",
    "CLIPText:CLIPTextModelWithProjection",
    small | {"projection_dim": 16, "eos_token_id": 2},
    text(),
)


def layers(n, heads, size, dtype):
    return {f"past_{k}_{of}": (heads, size, dtype) for k in range(n) for of in ("key", "value")}


def decoder(name, what, kind, config, heads=4, size=8, layers_=2, half=False, positions=False, **settings):
    """A decoder with its keys and values in and out: first a prompt, then one word after the other."""
    dtype = np.float16 if half else F

    def feeds(rng):
        past = {
            f"past_{k}_{of}": np.zeros((2, heads, 0, size), dtype) for k in range(layers_) for of in ("key", "value")
        }
        for _k, n in enumerate((5, 1, 1, 3)):
            seen = next(iter(past.values())).shape[2]
            mask = np.ones((2, seen + n), np.int64)
            if not half:  # a row that sees nothing is the sum of a rounding there
                mask[1, :2] = 0
            given = {"input_ids": values.tokens(rng, WORDS, 2, n), "attention_mask": mask}
            if positions:
                given["position_ids"] = np.maximum(np.cumsum(mask, 1) - 1, 0)[:, seen:]
            answers = yield given | past
            if answers is None:
                past = {p: values.normal(rng, 2, heads, seen + n, size).astype(dtype) for p in past}
            else:
                past = {p: v for p, v in zip(past, list(answers.values())[1:])}

    def call(module, input_ids, attention_mask, position_ids=None, **past):
        from transformers import DynamicCache

        flat = list(past.values())
        cache = DynamicCache.from_legacy_cache(tuple(zip(flat[::2], flat[1::2])))
        given = {} if position_ids is None else {"position_ids": position_ids}
        out = module(
            input_ids=input_ids,
            attention_mask=attention_mask,
            past_key_values=cache,
            use_cache=True,
            return_dict=True,
            **given,
        )
        return out.logits, out.past_key_values.to_legacy_cache()

    hugging(name, "decoders", what, kind, config, feeds, call=call, half=half, **settings)


gpt2 = {
    "vocab_size": WORDS,
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 64,
    "initializer_range": 0.1,
    "bos_token_id": 1,
    "eos_token_id": 1,
}
loose = {"tolerance": {"rtol": 1e-2, "atol": 5e-3}, "why": "half precision"}
decoder("gpt2", "GPT-2", "GPT2:GPT2LMHeadModel", gpt2)
decoder("gpt2_half", "GPT-2 in half precision", "GPT2:GPT2LMHeadModel", gpt2, half=True, **loose)
decoder("gpt_neox", "GPT-NeoX: rotary positions", "GPTNeoX:GPTNeoXForCausalLM", small | {"rotary_pct": 0.5})
decoder("gptj", "GPT-J: interleaved rotary positions", "GPTJ:GPTJForCausalLM", gpt2 | {"rotary_dim": 4}, positions=True)
decoder(
    "bloom",
    "BLOOM: linear biases",
    "Bloom:BloomForCausalLM",
    {"vocab_size": WORDS, "hidden_size": 32, "n_layer": 2, "n_head": 4, "initializer_range": 0.1},
)
grouped = small | {"num_key_value_heads": 2, "max_position_embeddings": 64, "head_dim": 8}
decoder("llama", "Llama: grouped heads, SwiGLU", "Llama:LlamaForCausalLM", grouped, heads=2)
decoder("mistral", "Mistral: sliding window", "Mistral:MistralForCausalLM", grouped | {"sliding_window": 4}, heads=2)
decoder("qwen2", "Qwen2", "Qwen2:Qwen2ForCausalLM", grouped, heads=2)
decoder("qwen3", "Qwen3: normalised heads", "Qwen3:Qwen3ForCausalLM", grouped, heads=2)
decoder("gemma", "Gemma", "Gemma:GemmaForCausalLM", grouped, heads=2)
decoder(
    "gemma2", "Gemma 2: soft caps, two windows", "Gemma2:Gemma2ForCausalLM", grouped | {"sliding_window": 4}, heads=2
)
decoder(
    "phi",
    "Phi: part of a head turned",
    "Phi:PhiForCausalLM",
    small | {"partial_rotary_factor": 0.5, "max_position_embeddings": 64},
)
decoder("stablelm", "StableLM", "StableLm:StableLmForCausalLM", grouped, heads=2)
decoder(
    "falcon",
    "Falcon: one key for all heads",
    "Falcon:FalconForCausalLM",
    {
        "vocab_size": WORDS,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "initializer_range": 0.1,
    },
    heads=1,
)


def whole(*shapes):
    def feeds(rng):
        for b, n in shapes or ((1, 7), (2, 12)):
            yield {"input_ids": values.tokens(rng, WORDS, b, n)}

    return feeds


def logits(module, **inputs):
    return module(**inputs, use_cache=False, return_dict=True).logits


hugging(
    "mamba",
    "decoders",
    "Mamba: selective state",
    "Mamba:MambaForCausalLM",
    {"vocab_size": WORDS, "hidden_size": 32, "state_size": 4, "num_hidden_layers": 2},
    whole((1, 6), (2, 6)),
    call=logits,
)
hugging(
    "rwkv",
    "decoders",
    "RWKV: a state for attention",
    "Rwkv:RwkvForCausalLM",
    {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "context_length": 32},
    whole((1, 6), (2, 6)),
    call=logits,
)
hugging(
    "lfm2_whole",
    "decoders",
    "LFM2: convolutions and attention",
    "Lfm2:Lfm2ForCausalLM",
    grouped | {"layer_types": ["conv", "full_attention"], "block_ff_dim": 64, "conv_L_cache": 3},
    text((2, 6), (3, 6)),
    call=logits,
)


def pairs(rng):
    for b, n, m in ((1, 7, 4), (3, 12, 6)):
        yield {
            "input_ids": 3 + values.tokens(rng, WORDS - 3, b, n),
            "decoder_input_ids": 3 + values.tokens(rng, WORDS - 3, b, m),
        }


both = {
    "vocab_size": WORDS,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 64,
    "init_std": 0.1,
    "pad_token_id": 1,
    "decoder_start_token_id": 2,
    "eos_token_id": 2,
    "forced_eos_token_id": 2,
}
seq = "from text to text"
hugging(
    "t5",
    seq,
    "T5: buckets of distances",
    "T5:T5ForConditionalGeneration",
    {"vocab_size": WORDS, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4},
    pairs,
    call=logits,
)
hugging(
    "t5_gated",
    seq,
    "T5 1.1: gated",
    "T5:T5ForConditionalGeneration",
    {
        "vocab_size": WORDS,
        "d_model": 32,
        "d_kv": 8,
        "d_ff": 64,
        "num_layers": 2,
        "num_heads": 4,
        "feed_forward_proj": "gated-gelu",
        "tie_word_embeddings": False,
    },
    pairs,
    call=logits,
)
hugging("bart", seq, "BART", "Bart:BartForConditionalGeneration", both, pairs, call=logits)
hugging("marian", seq, "Marian: translation", "Marian:MarianMTModel", both, pairs, call=logits)
hugging("m2m100", seq, "M2M-100: translation", "M2M100:M2M100ForConditionalGeneration", both, pairs, call=logits)
hugging("pegasus", seq, "Pegasus: summaries", "Pegasus:PegasusForConditionalGeneration", both, pairs, call=logits)
