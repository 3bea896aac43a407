package exchange

import "slices"

// llamaRules are the tensors of Llama, and of the many decoders with its names.
var llamaRules = []rule{
	{gguf: "token_embd", folder: "model.embed_tokens"},
	{gguf: "output_norm", folder: "model.norm"},
	{gguf: "output", folder: "lm_head"},
	{gguf: "blk.N.attn_norm", folder: "model.layers.N.input_layernorm"},
	{gguf: "blk.N.attn_q", folder: "model.layers.N.self_attn.q_proj"},
	{gguf: "blk.N.attn_k", folder: "model.layers.N.self_attn.k_proj"},
	{gguf: "blk.N.attn_v", folder: "model.layers.N.self_attn.v_proj"},
	{gguf: "blk.N.attn_q_norm", folder: "model.layers.N.self_attn.q_norm"},
	{gguf: "blk.N.attn_k_norm", folder: "model.layers.N.self_attn.k_norm"},
	{gguf: "blk.N.attn_output", folder: "model.layers.N.self_attn.o_proj"},
	{gguf: "blk.N.ffn_norm", folder: "model.layers.N.post_attention_layernorm"},
	{gguf: "blk.N.ffn_gate", folder: "model.layers.N.mlp.gate_proj"},
	{gguf: "blk.N.ffn_up", folder: "model.layers.N.mlp.up_proj"},
	{gguf: "blk.N.ffn_down", folder: "model.layers.N.mlp.down_proj"},
}

// Rules of families, made of Llama's.
var (
	// turnedRules have pairs of columns in files.
	turnedRules = changed(changed(llamaRules, queries, "attn_q"), keys, "attn_k")

	mixtralRules = with(turnedRules,
		rule{gguf: "blk.N.ffn_gate_inp", folder: "model.layers.N.block_sparse_moe.gate", wide: true},
		rule{gguf: "blk.N.ffn_gate_exps", folder: "model.layers.N.block_sparse_moe.experts.*.w1"},
		rule{gguf: "blk.N.ffn_up_exps", folder: "model.layers.N.block_sparse_moe.experts.*.w3"},
		rule{gguf: "blk.N.ffn_down_exps", folder: "model.layers.N.block_sparse_moe.experts.*.w2"})

	graniteMoERules = with(turnedRules,
		rule{gguf: "blk.N.ffn_gate_inp", folder: "model.layers.N.block_sparse_moe.router.layer", wide: true},
		rule{gguf: "blk.N.ffn_gate_exps+blk.N.ffn_up_exps", folder: "model.layers.N.block_sparse_moe.input_linear", joined: stacked},
		rule{gguf: "blk.N.ffn_down_exps", folder: "model.layers.N.block_sparse_moe.output_linear"})

	expertRules = with(llamaRules,
		rule{gguf: "blk.N.ffn_gate_inp", folder: "model.layers.N.mlp.gate", wide: true},
		rule{gguf: "blk.N.ffn_gate_exps", folder: "model.layers.N.mlp.experts.*.gate_proj"},
		rule{gguf: "blk.N.ffn_up_exps", folder: "model.layers.N.mlp.experts.*.up_proj"},
		rule{gguf: "blk.N.ffn_down_exps", folder: "model.layers.N.mlp.experts.*.down_proj"},
		rule{gguf: "blk.N.ffn_gate_inp_shexp", folder: "model.layers.N.mlp.shared_expert_gate", by: line},
		rule{gguf: "blk.N.ffn_gate_shexp", folder: "model.layers.N.mlp.shared_expert.gate_proj"},
		rule{gguf: "blk.N.ffn_up_shexp", folder: "model.layers.N.mlp.shared_expert.up_proj"},
		rule{gguf: "blk.N.ffn_down_shexp", folder: "model.layers.N.mlp.shared_expert.down_proj"})

	gemmaNorms = []string{"output_norm", "attn_norm", "ffn_norm", "attn_q_norm", "attn_k_norm", "post_attention_norm", "post_ffw_norm"}
	gemmaRules = changed(llamaRules, offset, gemmaNorms...)

	// aroundRules have norms before and after blocks.
	aroundRules = changed(with(llamaRules,
		rule{gguf: "blk.N.post_attention_norm", folder: "model.layers.N.post_attention_layernorm"},
		rule{gguf: "blk.N.ffn_norm", folder: "model.layers.N.pre_feedforward_layernorm"},
		rule{gguf: "blk.N.post_ffw_norm", folder: "model.layers.N.post_feedforward_layernorm"}), offset, gemmaNorms...)

	olmoRules = with(llamaRules,
		rule{gguf: "blk.N.attn_norm"}, rule{gguf: "blk.N.ffn_norm"},
		rule{gguf: "blk.N.post_attention_norm", folder: "model.layers.N.post_attention_layernorm"},
		rule{gguf: "blk.N.post_ffw_norm", folder: "model.layers.N.post_feedforward_layernorm"})

	phi3Rules = with(llamaRules,
		rule{gguf: "blk.N.attn_q"}, rule{gguf: "blk.N.attn_k"}, rule{gguf: "blk.N.attn_v"}, rule{gguf: "blk.N.ffn_gate"},
		rule{gguf: "blk.N.attn_qkv", folder: "model.layers.N.self_attn.qkv_proj"},
		rule{gguf: "blk.N.ffn_up", folder: "model.layers.N.mlp.gate_up_proj"})

	starcoder2Rules = with(llamaRules,
		rule{gguf: "blk.N.ffn_gate"},
		rule{gguf: "blk.N.ffn_up", folder: "model.layers.N.mlp.c_fc"},
		rule{gguf: "blk.N.ffn_down", folder: "model.layers.N.mlp.c_proj"})

	stablelmRules = with(llamaRules,
		rule{gguf: "blk.N.attn_q_norm", folder: "model.layers.N.self_attn.q_layernorm.norms.*"},
		rule{gguf: "blk.N.attn_k_norm", folder: "model.layers.N.self_attn.k_layernorm.norms.*"})

	phiRules = with(llamaRules,
		rule{gguf: "output_norm", folder: "model.final_layernorm"},
		rule{gguf: "blk.N.attn_output", folder: "model.layers.N.self_attn.dense"},
		rule{gguf: "blk.N.ffn_norm"}, rule{gguf: "blk.N.ffn_gate"},
		rule{gguf: "blk.N.ffn_up", folder: "model.layers.N.mlp.fc1"},
		rule{gguf: "blk.N.ffn_down", folder: "model.layers.N.mlp.fc2"})

	lfm2Rules = with(llamaRules,
		rule{gguf: "output_norm"},
		rule{gguf: "token_embd_norm", folder: "model.embedding_norm"},
		rule{gguf: "blk.N.attn_norm", folder: "model.layers.N.operator_norm"},
		rule{gguf: "blk.N.ffn_norm", folder: "model.layers.N.ffn_norm"},
		rule{gguf: "blk.N.attn_q_norm", folder: "model.layers.N.self_attn.q_layernorm"},
		rule{gguf: "blk.N.attn_k_norm", folder: "model.layers.N.self_attn.k_layernorm"},
		rule{gguf: "blk.N.attn_output", folder: "model.layers.N.self_attn.out_proj"},
		rule{gguf: "blk.N.ffn_gate", folder: "model.layers.N.feed_forward.w1"},
		rule{gguf: "blk.N.ffn_up", folder: "model.layers.N.feed_forward.w3"},
		rule{gguf: "blk.N.ffn_down", folder: "model.layers.N.feed_forward.w2"},
		rule{gguf: "blk.N.shortconv.conv", folder: "model.layers.N.conv.conv", by: taps, wide: true},
		rule{gguf: "blk.N.shortconv.in_proj", folder: "model.layers.N.conv.in_proj"},
		rule{gguf: "blk.N.shortconv.out_proj", folder: "model.layers.N.conv.out_proj"})

	gptOSSRules = with(llamaRules,
		rule{gguf: "blk.N.ffn_norm"},
		rule{gguf: "blk.N.post_attention_norm", folder: "model.layers.N.post_attention_layernorm"},
		rule{gguf: "blk.N.attn_sinks", folder: "model.layers.N.self_attn.sinks", bare: true},
		rule{gguf: "blk.N.ffn_gate"}, rule{gguf: "blk.N.ffn_up"}, rule{gguf: "blk.N.ffn_down"},
		rule{gguf: "blk.N.ffn_gate_inp", folder: "model.layers.N.mlp.router", wide: true},
		rule{gguf: "blk.N.ffn_gate_exps+blk.N.ffn_up_exps", folder: "model.layers.N.mlp.experts.gate_up_proj", joined: woven, by: swappedExperts, bare: true},
		rule{gguf: "blk.N.ffn_down_exps", folder: "model.layers.N.mlp.experts.down_proj", by: swappedExperts, bare: true})

	gpt2Rules = []rule{
		{gguf: "token_embd", folder: "transformer.wte"},
		{gguf: "position_embd", folder: "transformer.wpe", wide: true},
		{gguf: "output_norm", folder: "transformer.ln_f"},
		{gguf: "output", folder: "lm_head"},
		{gguf: "blk.N.attn_norm", folder: "transformer.h.N.ln_1"},
		{gguf: "blk.N.attn_qkv", folder: "transformer.h.N.attn.c_attn", by: transposed},
		{gguf: "blk.N.attn_output", folder: "transformer.h.N.attn.c_proj", by: transposed},
		{gguf: "blk.N.ffn_norm", folder: "transformer.h.N.ln_2"},
		{gguf: "blk.N.ffn_up", folder: "transformer.h.N.mlp.c_fc", by: transposed},
		{gguf: "blk.N.ffn_down", folder: "transformer.h.N.mlp.c_proj", by: transposed},
	}
)

// families returns the table. For an architecture the first row that fits is taken.
func families() []family {
	return append(slices.Concat(plainFamilies, otherFamilies), falconFamily, bertFamily)
}

var plainFamilies = []family{
	{architecture: "llama", model: "mixtral", class: "MixtralForCausalLM", rules: mixtralRules,
		when: func(m *metadata) bool { return m.number("expert_count", 0) > 0 }, settings: with(llamaSettings,
			setting{"expert_count", "num_local_experts", size, required, 8},
			setting{"expert_used_count", "num_experts_per_tok", size, required, 2},
			setting{"rope.freq_base", "rope_theta", float, 10000, 1e6},
			setting{"attention.layer_norm_rms_epsilon", "rms_norm_eps", float, required, 1e-5}, keyHeads(8)),
		fixed: []fixed{{"sliding_window", nil}}},
	{architecture: "llama", model: "llama", class: "LlamaForCausalLM", rules: turnedRules, settings: llamaSettings,
		outward: (*outward).biased, fixed: []fixed{{"pretraining_tp", 1.0}}},
	{architecture: "llama", model: "mistral", class: "MistralForCausalLM", rules: turnedRules, settings: with(llamaSettings, keyHeads(8)),
		fixed: []fixed{{"sliding_window", nil}}, inward: (*inward).mistral},
	{architecture: "qwen2", model: "qwen2", class: "Qwen2ForCausalLM", rules: llamaRules, settings: with(llamaSettings, keyHeads(32)),
		fixed: []fixed{{"use_sliding_window", false}}},
	{architecture: "qwen3", model: "qwen3", class: "Qwen3ForCausalLM", rules: llamaRules, settings: with(llamaSettings, keyHeads(32), headDim(128)),
		outward: (*outward).biased, fixed: []fixed{{"use_sliding_window", false}}},
	{architecture: "qwen2moe", model: "qwen2_moe", class: "Qwen2MoeForCausalLM", rules: expertRules, settings: with(llamaSettings, keyHeads(16),
		setting{"expert_count", "num_experts", size, required, 60},
		setting{"expert_used_count", "num_experts_per_tok", size, required, 4},
		setting{"expert_feed_forward_length", "moe_intermediate_size", size, absent, 1408},
		setting{"expert_shared_feed_forward_length", "shared_expert_intermediate_size", size, absent, 5632}),
		outward: (*outward).qwenExperts, fixed: []fixed{{"use_sliding_window", false}, {"norm_topk_prob", false}, {"decoder_sparse_step", 1.0}}},
	{architecture: "qwen3moe", model: "qwen3_moe", class: "Qwen3MoeForCausalLM", rules: expertRules, settings: with(llamaSettings, keyHeads(4),
		setting{"expert_count", "num_experts", size, required, 128},
		setting{"expert_used_count", "num_experts_per_tok", size, required, 8},
		setting{"expert_feed_forward_length", "moe_intermediate_size", size, absent, 768}),
		outward: (*outward).qwen3Experts, fixed: []fixed{{"use_sliding_window", false}, {"norm_topk_prob", true}, {"decoder_sparse_step", 1.0}}},
	{architecture: "phi3", model: "phi3", class: "Phi3ForCausalLM", rules: phi3Rules,
		settings: with(llamaSettings, setting{"attention.layer_norm_rms_epsilon", "rms_norm_eps", float, required, 1e-5}),
		fixed:    []fixed{{"sliding_window", nil}}},
	{architecture: "smollm3", model: "smollm3", class: "SmolLM3ForCausalLM", rules: turnedRules, settings: with(llamaSettings, keyHeads(4),
		setting{"rope.freq_base", "rope_theta", float, 10000, 2e6}), outward: (*outward).smollm3, inward: (*inward).smollm3,
		fixed: []fixed{{"use_sliding_window", false}}},
	{architecture: "granite", model: "granite", class: "GraniteForCausalLM", rules: turnedRules, settings: with(llamaSettings, graniteSettings...),
		outward: (*outward).granite},
	{architecture: "granitemoe", model: "granitemoe", class: "GraniteMoeForCausalLM", rules: graniteMoERules, settings: with(llamaSettings, append(graniteSettings,
		setting{"expert_count", "num_local_experts", size, required, 8},
		setting{"expert_used_count", "num_experts_per_tok", size, required, 2})...), outward: (*outward).granite},
}
