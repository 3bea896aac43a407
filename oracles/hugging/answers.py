"""Writes what the package transformers answers for small decoders of each family.

    .cache/tools/bin/python oracles/hugging/answers.py formats/huggingface/testdata [NAME]...

Each case is a file of JSON with the configuration, the extents of the tensors, whose
numbers weights.py gives, and the answers: the logits of a prompt, those of the prompt in
chunks and token by token where they differ, and the tokens that follow greedily.
"""

import json
import os
import sys

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache

import weights

PROMPT = [3, 17, 8, 1, 22, 9, 14, 2, 25, 11, 6, 19]
CHUNKS = [5, 1, 4, 2]
NEXT = 10

BASE = dict(
    hidden_size=16,
    intermediate_size=24,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    vocab_size=29,
    max_position_embeddings=64,
)


def case(name, model_type, dtype="F32", shards=1, **settings):
    return name, dtype, shards, {"model_type": model_type, **BASE, **settings}


LLAMA3 = dict(
    rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32
)
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16)
AROUND = dict(head_dim=8, query_pre_attn_scalar=12)


def longrope(pairs):
    return dict(
        type="longrope",
        short_factor=[1 + 0.1 * i for i in range(pairs)],
        long_factor=[2 + 0.5 * i for i in range(pairs)],
    )


CASES = [
    case("llama", "llama"),
    case("llama_one_kv_head", "llama", num_key_value_heads=1, num_hidden_layers=3),
    case(
        "llama_odd_heads",
        "llama",
        hidden_size=18,
        num_attention_heads=3,
        num_key_value_heads=3,
        intermediate_size=10,
        tie_word_embeddings=True,
    ),
    case("llama_head_dim", "llama", head_dim=10, attention_bias=True, mlp_bias=True, shards=3),
    case("llama3", "llama", rope_scaling=LLAMA3, rope_theta=500000.0, rms_norm_eps=1e-5),
    case("llama_linear", "llama", rope_scaling=dict(rope_type="linear", factor=4.0)),
    case("llama_dynamic", "llama", rope_scaling=dict(rope_type="dynamic", factor=2.0), max_position_embeddings=8),
    case("llama_yarn", "llama", rope_scaling=YARN),
    case(
        "llama_yarn_scales",
        "llama",
        rope_scaling=dict(YARN, mscale=0.8, mscale_all_dim=0.5, beta_fast=16.0, beta_slow=2.0, truncate=False),
    ),
    case("llama_f16", "llama", dtype="F16"),
    case("llama_bf16", "llama", dtype="BF16", tie_word_embeddings=True),
    case(
        "smollm",
        "llama",
        num_attention_heads=3,
        num_key_value_heads=1,
        hidden_size=24,
        tie_word_embeddings=True,
        hidden_act="silu",
    ),
    case("mistral", "mistral", sliding_window=5),
    case("mistral_head_dim", "mistral", sliding_window=None, head_dim=6, shards=2),
    case("qwen2", "qwen2"),
    case(
        "qwen2_windows",
        "qwen2",
        use_sliding_window=True,
        sliding_window=4,
        max_window_layers=1,
        tie_word_embeddings=True,
    ),
    case("qwen3", "qwen3", head_dim=8),
    case(
        "qwen3_windows",
        "qwen3",
        head_dim=12,
        attention_bias=True,
        layer_types=["sliding_attention", "full_attention"],
        use_sliding_window=True,
        sliding_window=3,
    ),
    case("gemma", "gemma", head_dim=8, num_key_value_heads=1),
    case("gemma2", "gemma2", sliding_window=5, **AROUND),
    case(
        "gemma2_caps",
        "gemma2",
        sliding_window=32,
        attn_logit_softcapping=2.0,
        final_logit_softcapping=1.5,
        num_hidden_layers=3,
        **AROUND,
    ),
    case(
        "gemma2_head_dim", "gemma2", sliding_window=3, attn_logit_softcapping=1.0, head_dim=6, query_pre_attn_scalar=3
    ),
    case(
        "gemma3_text",
        "gemma3_text",
        sliding_window=4,
        num_hidden_layers=4,
        layer_types=["sliding_attention", "full_attention"] * 2,
        **AROUND,
    ),
    case(
        "gemma3_text_scaled",
        "gemma3_text",
        sliding_window=6,
        num_hidden_layers=7,
        rope_scaling=dict(rope_type="linear", factor=8.0),
        **AROUND,
    ),
    case("phi3", "phi3", pad_token_id=0),
    case(
        "phi3_long",
        "phi3",
        pad_token_id=0,
        rope_scaling=longrope(2),
        original_max_position_embeddings=16,
        sliding_window=7,
    ),
    case(
        "phi3_beyond",
        "phi3",
        pad_token_id=0,
        rope_scaling=longrope(2),
        original_max_position_embeddings=9,
        tie_word_embeddings=True,
    ),
    case(
        "phi4_mini",
        "phi3",
        pad_token_id=0,
        hidden_size=32,
        partial_rotary_factor=0.75,
        rope_scaling=longrope(3),
        original_max_position_embeddings=16,
    ),
    case("smollm3", "smollm3", num_hidden_layers=5, pad_token_id=0),
    case(
        "smollm3_layers",
        "smollm3",
        no_rope_layers=[0, 1],
        tie_word_embeddings=False,
        attention_bias=True,
        pad_token_id=0,
    ),
    case(
        "granite",
        "granite",
        embedding_multiplier=3.0,
        logits_scaling=2.0,
        residual_multiplier=0.5,
        attention_multiplier=0.3,
    ),
    case("olmo2", "olmo2", pad_token_id=0),
    case("stablelm", "stablelm", partial_rotary_factor=0.5, use_qkv_bias=True),
    case("starcoder2", "starcoder2", sliding_window=4),
    case(
        "llama_no_bias_yarn",
        "llama",
        attention_bias=False,
        mlp_bias=True,
        head_dim=6,
        rope_scaling=dict(YARN, type="yarn", attention_factor=1.3),
        hidden_act="quick_gelu",
    ),
    case(
        "mistral_yarn",
        "mistral",
        head_dim=4,
        sliding_window=3,
        rope_scaling=YARN,
        hidden_act="gelu_10",
        tie_word_embeddings=True,
    ),
    case(
        "qwen2_dynamic",
        "qwen2",
        rope_scaling=dict(type="dynamic", factor=3.0),
        max_position_embeddings=8,
        layer_types=["full_attention", "sliding_attention"],
        use_sliding_window=True,
        sliding_window=2,
        hidden_act="relu6",
    ),
    case(
        "qwen2_no_windows", "qwen2", use_sliding_window=False, sliding_window=2, max_window_layers=0, hidden_act="mish"
    ),
    case(
        "qwen3_yarn",
        "qwen3",
        head_dim=20,
        hidden_size=14,
        rope_scaling=dict(YARN, beta_fast=8.0),
        hidden_act="leaky_relu",
        shards=2,
    ),
    case(
        "gemma_attention_bias",
        "gemma",
        head_dim=10,
        hidden_size=22,
        attention_bias=True,
        hidden_act="gelu",
        tie_word_embeddings=False,
    ),
    case(
        "gemma2_all_slide",
        "gemma2",
        sliding_window=2,
        layer_types=["sliding_attention"] * 2,
        attn_logit_softcapping=None,
        final_logit_softcapping=None,
        hidden_activation="sigmoid",
        **AROUND,
    ),
    case(
        "gemma3_text_pattern",
        "gemma3_text",
        sliding_window=3,
        num_hidden_layers=3,
        sliding_window_pattern=2,
        final_logit_softcapping=2.0,
        rope_local_base_freq=100.0,
        hidden_activation="tanh",
        **AROUND,
    ),
    case(
        "phi3_heads",
        "phi3",
        pad_token_id=0,
        num_key_value_heads=1,
        hidden_size=24,
        partial_rotary_factor=0.67,
        sliding_window=2,
        hidden_act="relu2",
    ),
    case(
        "smollm3_windows",
        "smollm3",
        num_hidden_layers=3,
        no_rope_layer_interval=2,
        use_sliding_window=True,
        sliding_window=3,
        mlp_bias=True,
        pad_token_id=0,
    ),
    case(
        "smollm3_types",
        "smollm3",
        use_sliding_window=False,
        sliding_window=3,
        layer_types=["sliding_attention", "full_attention"],
        pad_token_id=0,
    ),
    case(
        "granite_llama3",
        "granite",
        attention_multiplier=0.2,
        logits_scaling=0.5,
        attention_bias=True,
        mlp_bias=True,
        rope_scaling=LLAMA3,
        hidden_act="linear",
        tie_word_embeddings=True,
    ),
    case(
        "olmo2_dynamic",
        "olmo2",
        rope_scaling=dict(type="dynamic", factor=2.0),
        max_position_embeddings=8,
        attention_bias=True,
        num_key_value_heads=1,
        pad_token_id=0,
    ),
    case(
        "stablelm_linear",
        "stablelm",
        partial_rotary_factor=1.0,
        rope_scaling=dict(rope_type="linear", factor=2.0),
        layer_norm_eps=1e-3,
        tie_word_embeddings=True,
    ),
    case(
        "starcoder2_no_bias",
        "starcoder2",
        use_bias=False,
        tie_word_embeddings=False,
        norm_epsilon=1e-3,
        hidden_act="gelu_accurate",
    ),
    case(
        "gpt_oss",
        "gpt_oss",
        head_dim=8,
        sliding_window=4,
        num_local_experts=4,
        num_experts_per_tok=2,
        rope_theta=10.0,
        rope_scaling=dict(YARN, truncate=False),
    ),
    case(
        "gpt_oss_truncated",
        "gpt_oss",
        head_dim=8,
        sliding_window=4,
        num_local_experts=4,
        num_experts_per_tok=2,
        rope_theta=10.0,
        rope_scaling=dict(YARN, truncate=True),
    ),
    case("falcon", "falcon", multi_query=True, new_decoder_architecture=False),
    case(
        "falcon_grouped",
        "falcon",
        new_decoder_architecture=True,
        num_kv_heads=2,
        ffn_hidden_size=24,
        tie_word_embeddings=False,
    ),
    case(
        "falcon_one_norm",
        "falcon",
        new_decoder_architecture=True,
        num_kv_heads=2,
        num_ln_in_parallel_attn=1,
        activation="gelu_pytorch_tanh",
    ),
]


def made(settings, dtype):
    """The model of a case, its tensors and whether norms are stored less 1."""
    config = AutoConfig.for_model(**settings)
    config._attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config).eval().float()
    offset = settings["model_type"].startswith("gemma")
    tensors, tied = {}, config.tie_word_embeddings
    for name, p in model.named_parameters():
        if tied and name == "lm_head.weight":
            continue
        tensors[name] = list(p.shape)
        a = np.frombuffer(
            weights.stored(weights.numbers(name, tensors[name], offset), dtype),
            dtype={"F32": np.float32, "F16": np.float16, "BF16": np.uint16}[dtype],
        )
        if dtype == "BF16":
            a = (a.astype(np.uint32) << 16).view(np.float32)
        p.data.copy_(torch.from_numpy(a.astype(np.float32).reshape(p.shape)))
    model.tie_weights()
    return model, config, tensors, offset


def logits(make, chunks):
    """Logits of the prompt in chunks of those lengths, and the tokens that follow."""
    model, cache, at, rows = make(), DynamicCache(), 0, []
    for n in chunks:
        rows.append(model(torch.tensor([PROMPT[at : at + n]]), past_key_values=cache, use_cache=True).logits[0])
        at += n
    rows = torch.cat(rows)
    tokens, last = [], rows[-1]
    for _ in range(NEXT):
        top = torch.topk(last, 2)
        if top.values[0] - top.values[1] < 2e-3:
            break  # two tokens are nearly as good
        tokens.append(int(top.indices[0]))
        last = model(torch.tensor([tokens[-1:]]), past_key_values=cache, use_cache=True).logits[0, -1]
    if len(tokens) < 3:
        raise SystemExit(f"only {len(tokens)} tokens are certain; change the case")
    return rows.numpy(), tokens


def written(a):
    return [float(f"{x:.6g}") for x in a.ravel()]


def answered(name, dtype, shards, settings):
    _, config, tensors, offset = made(settings, dtype)
    answer = {
        "config": json.loads(config.to_json_string(use_diff=True)),
        "dtype": dtype,
        "shards": shards,
        "offset": offset,
        "tensors": tensors,
        "prompt": PROMPT,
        "chunks": CHUNKS,
    }
    answer["config"]["model_type"] = settings["model_type"]
    for key in ("transformers_version", "_attn_implementation_autoset", "dtype"):
        answer["config"].pop(key, None)
    whole, tokens = logits(lambda: made(settings, dtype)[0], [len(PROMPT)])
    answer["logits"], answer["next"] = written(whole), tokens
    for key, chunks in (("chunked", CHUNKS), ("steps", [1] * len(PROMPT))):
        rows, _ = logits(lambda: made(settings, dtype)[0], chunks)
        if np.abs(rows - whole).max() > 1e-5:
            answer[key] = written(rows)
    print(name, "largest", np.abs(whole).max(), "tokens", tokens, [k for k in ("chunked", "steps") if k in answer])
    return answer


def main(folder, *only):
    for name, dtype, shards, settings in CASES:
        if only and name not in only:
            continue
        with torch.no_grad():
            try:
                answer = answered(name, dtype, shards, settings)
            except SystemExit as e:
                raise SystemExit(f"{name}: {e}") from e
        with open(os.path.join(folder, name + ".json"), "w") as f:
            json.dump(answer, f, separators=(",", ":"))
            f.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
