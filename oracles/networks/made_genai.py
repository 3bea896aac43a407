"""Decoders as the model builder of onnxruntime-genai writes them: GroupQueryAttention, weights in blocks of 4 bits."""

import os
import sys
import tempfile

import numpy as np

import values
from made import made, seed
from made_language import WORDS
from values import F

small = {
    "vocab_size": WORDS,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "initializer_range": 0.1,
}
small |= {
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "head_dim": 16,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}


def decoder(name, what, base, builder, precision, config=None, options=None, heads=2, size=16, windows=(), **tolerance):
    """A row; windows are the layers that keep the ends of a convolution, not keys and values."""

    def model(path):
        import onnxruntime_genai.models
        import torch
        import transformers

        torch.manual_seed(seed(name))
        c = getattr(transformers, base + "Config")(**small | (config or {}))
        with tempfile.TemporaryDirectory() as folder:
            module = getattr(transformers, base + "ForCausalLM")(c).eval()
            c.architectures = [type(module).__name__]
            module.save_pretrained(folder)
            c = transformers.AutoConfig.from_pretrained(folder)
            c.rope_parameters = {"rope_theta": getattr(c, "rope_theta", 10000.0)}
            sys.path.insert(0, os.path.dirname(onnxruntime_genai.models.__file__))
            import builder as genai

            given = {"hf_token": "false", "hf_remote": False} | (options or {})
            types = genai.set_io_dtype(precision, "cpu", given), genai.set_onnx_dtype(precision, given)
            made_model = getattr(genai, builder)(c, *types, "cpu", folder, given)
            made_model.make_model(folder)
            made_model.save_model(os.path.dirname(path))

    def feeds(rng):
        state = {}
        for k in range(2):
            if k in windows:
                state[f"past_conv.{k}"] = np.zeros((2, 64, 3), F)
            else:
                for of in ("key", "value"):
                    state[f"past_key_values.{k}.{of}"] = np.zeros((2, heads, 0, size), F)
        seen = 0
        for n in (6, 1, 1, 1):
            seen += n
            given = {"input_ids": values.tokens(rng, WORDS, 2, n), "attention_mask": np.ones((2, seen), np.int64)}
            answers = yield given | state
            state = {
                k: answers[k.replace("past_conv", "present_conv").replace("past_key_values", "present")] for k in state
            }

    made(name, "decoders of genai", what, "onnxruntime-genai", feeds, model, **tolerance)


exact = {"int4_accuracy_level": 1}
decoder("genai_llama", "Llama", "Llama", "LlamaModel", "fp32")
decoder("genai_llama_int4", "Llama in blocks of 4 bits", "Llama", "LlamaModel", "int4", options=exact)
decoder("genai_llama_int4_fast", "Llama in blocks of 4 bits, activations of 8", "Llama", "LlamaModel", "int4")
decoder("genai_qwen2", "Qwen2", "Qwen2", "QwenModel", "fp32")
decoder(
    "genai_qwen2_int4",
    "Qwen2 in blocks of 4 bits, unsymmetric",
    "Qwen2",
    "QwenModel",
    "int4",
    options=exact | {"int4_is_symmetric": False},
)
decoder("genai_qwen3", "Qwen3", "Qwen3", "Qwen3Model", "fp32")
decoder("genai_qwen3_int4", "Qwen3 in blocks of 4 bits", "Qwen3", "Qwen3Model", "int4", options=exact)
decoder("genai_phi3", "Phi-3", "Phi3", "Phi3MiniModel", "fp32")
decoder("genai_gemma", "Gemma", "Gemma", "GemmaModel", "fp32")
decoder(
    "genai_gemma2",
    "Gemma 2: soft caps",
    "Gemma2",
    "Gemma2Model",
    "fp32",
    {"sliding_window": 8, "query_pre_attn_scalar": 16},
)
decoder("genai_mistral", "Mistral: a window", "Mistral", "MistralModel", "fp32", {"sliding_window": 4})
lfm = {"layer_types": ["conv", "full_attention"], "block_ff_dim": 128, "conv_L_cache": 3}
decoder("genai_lfm2", "LFM2: convolutions and attention", "Lfm2", "LFM2Model", "fp32", lfm, windows=[0])
decoder("genai_lfm2_int4", "LFM2 in blocks of 4 bits", "Lfm2", "LFM2Model", "int4", lfm, exact, windows=[0])
decoder("genai_granite", "Granite", "Granite", "GraniteModel", "fp32")
decoder("genai_smollm3", "SmolLM3: layers without positions", "SmolLM3", "SmolLM3Model", "fp32")
