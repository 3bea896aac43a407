package exchange

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// layerSettings are Llama's with norms that subtract the mean, under a key of config.json.
func layerSettings(key string, others ...setting) []setting {
	list := with(llamaSettings, setting{"attention.layer_norm_rms_epsilon", "", float, 0, 0},
		setting{"attention.layer_norm_epsilon", key, float, required, 1e-5})
	return with(list, others...)
}

var gemmaAct = activation{"hidden_activation", geluTanh.names}

// otherFamilies have settings of their own.
var otherFamilies = []family{
	{architecture: "gemma", model: "gemma", class: "GemmaForCausalLM", rules: gemmaRules, settings: with(llamaSettings, keyHeads(16), headDim(256)),
		act: geluTanh, tied: true, outward: (*outward).biased},
	{architecture: "gemma2", model: "gemma2", class: "Gemma2ForCausalLM", rules: aroundRules, settings: with(llamaSettings, keyHeads(4), headDim(256),
		setting{"attn_logit_softcapping", "attn_logit_softcapping", float, 50, 50},
		setting{"final_logit_softcapping", "final_logit_softcapping", float, 30, 30},
		setting{"attention.sliding_window", "sliding_window", size, 4096, 4096}),
		act: gemmaAct, tied: true,
		outward: func(o *outward) { o.scalar(46); o.local(2); o.biased() },
		inward: func(i *inward) {
			i.scalar(46)
			i.local(2, func(layer int) bool { return layer%2 == 0 })
		}},
	{architecture: "gemma3", model: "gemma3_text", class: "Gemma3ForCausalLM", rules: aroundRules, settings: with(llamaSettings, keyHeads(4), headDim(256),
		setting{"final_logit_softcapping", "final_logit_softcapping", float, absent, absent},
		setting{"rope.freq_base", "rope_theta", float, 10000, 1e6},
		setting{"rope.freq_base_swa", "rope_local_base_freq", float, 10000, 10000}),
		act: gemmaAct, tied: true, fixed: []fixed{{"attn_logit_softcapping", nil}, {"use_bidirectional_attention", false}},
		outward: (*outward).gemma3, inward: (*inward).gemma3},
	{architecture: "olmo2", model: "olmo3", class: "Olmo3ForCausalLM", rules: olmoRules, when: func(m *metadata) bool { return m.has("attention.sliding_window") },
		settings: with(llamaSettings, setting{"attention.layer_norm_rms_epsilon", "rms_norm_eps", float, required, 1e-5},
			setting{"attention.sliding_window", "sliding_window", size, required, 4096}),
		outward: func(o *outward) { o.local(4); o.biased() }, inward: func(i *inward) {
			i.local(4, func(layer int) bool { return (layer+1)%4 != 0 })
		}},
	{architecture: "olmo2", model: "olmo2", class: "Olmo2ForCausalLM", rules: olmoRules, outward: (*outward).biased,
		settings: with(llamaSettings, setting{"attention.layer_norm_rms_epsilon", "rms_norm_eps", float, required, 1e-5})},
	{architecture: "starcoder2", model: "starcoder2", class: "Starcoder2ForCausalLM", rules: starcoder2Rules,
		settings: layerSettings("norm_epsilon", keyHeads(2)), act: geluTanh, tied: true, fixed: []fixed{{"sliding_window", nil}},
		outward: func(o *outward) { o.config["use_bias"] = o.from["blk.0.attn_q.bias"] != nil }},
	{architecture: "stablelm", model: "stablelm", class: "StableLmForCausalLM", rules: stablelmRules, settings: layerSettings("layer_norm_eps", keyHeads(32)),
		partial: 0.25, outward: (*outward).stablelm, inward: (*inward).stablelm},
	{architecture: "phi2", model: "phi", class: "PhiForCausalLM", rules: phiRules, settings: layerSettings("layer_norm_eps"),
		act: activation{"hidden_act", append([]string{"gelu_new"}, geluTanh.names...)}, partial: 0.5, fixed: []fixed{{"qk_layernorm", false}}},
	{architecture: "lfm2", model: "lfm2", class: "Lfm2ForCausalLM", rules: lfm2Rules, tied: true, settings: with(llamaSettings, keyHeads(8),
		setting{"attention.layer_norm_rms_epsilon", "norm_eps", float, required, 1e-5},
		setting{"rope.freq_base", "rope_theta", float, 10000, 1e6},
		setting{"feed_forward_length", "intermediate_size", size, required, 12288},
		setting{"shortconv.l_cache", "conv_L_cache", size, required, 3}),
		outward: (*outward).lfm2, inward: (*inward).lfm2},
	{architecture: "gpt-oss", model: "gpt_oss", class: "GptOssForCausalLM", rules: gptOSSRules, settings: with(llamaSettings, keyHeads(8), headDim(64),
		setting{"attention.layer_norm_rms_epsilon", "rms_norm_eps", float, required, 1e-5},
		setting{"rope.freq_base", "rope_theta", float, 10000, 150000},
		setting{"feed_forward_length", "", size, 0, 0},
		setting{"expert_feed_forward_length", "intermediate_size", size, required, 2880},
		setting{"expert_count", "num_local_experts", size, required, 128},
		setting{"expert_used_count", "num_experts_per_tok", size, required, 4},
		setting{"attention.sliding_window", "sliding_window", size, 128, 128}),
		fixed:   []fixed{{"swiglu_limit", 7.0}, {"attention_bias", true}},
		outward: (*outward).gptOSS, inward: (*inward).gptOSS},
	{architecture: "gpt2", model: "gpt2", class: "GPT2LMHeadModel", rules: gpt2Rules, tied: true, still: true, settings: []setting{
		{"context_length", "n_positions", size, required, 1024},
		{"embedding_length", "n_embd", size, required, 768},
		{"block_count", "n_layer", size, required, 12},
		{"attention.head_count", "n_head", size, required, 12},
		{"feed_forward_length", "n_inner", size, required, absent},
		{"attention.layer_norm_epsilon", "layer_norm_epsilon", float, required, 1e-5},
	}, act: activation{"activation_function", append([]string{"gelu_new"}, geluTanh.names...)},
		fixed: []fixed{{"scale_attn_weights", true}, {"scale_attn_by_inverse_layer_idx", false}},
		inward: func(i *inward) {
			if !i.has("n_inner") {
				i.sized("feed_forward_length", 4*i.hidden)
			}
		}},
}

// biased translates the presence of biases of attention and MLP.
func (o *outward) biased() {
	has := func(name string) bool { return o.from["blk.0."+name+".bias"] != nil }
	o.config["attention_bias"] = has("attn_q")
	if has("attn_q") != has("attn_output") {
		o.fail(graph.Errorf(graph.ErrUnsupported, "either attn_q or attn_output has a bias, and in a folder of %s both have one or none", o.family.model))
	}
	if o.family.model == "llama" || o.family.model == "granite" {
		o.config["mlp_bias"] = has("ffn_up")
	}
}

// mistral warns of the window that a folder has if it does not say so.
func (i *inward) mistral() {
	const window = 4096
	if _, given := i.values["sliding_window"]; !given && i.number("max_position_embeddings", 2048) > window {
		i.values["sliding_window"] = float64(window)
	}
}

// plainExperts refuses weights of experts that a folder cannot say.
func (o *outward) plainExperts() {
	if v := o.number("expert_weights_scale", 1); v != 1 && v != 0 {
		o.wrong(graph.ErrUnsupported, "expert_weights_scale", "is %v, and a folder of %s has no scale", v, o.family.model)
	}
	if v := o.number("expert_gating_func", 1); v == 2 {
		o.wrong(graph.ErrUnsupported, "expert_gating_func", "is %v, and a folder of %s has a softmax", v, o.family.model)
	}
}

// qwenExperts finds the layers without experts, and the widths.
func (o *outward) qwenExperts() {
	o.plainExperts()
	o.widths()
	if o.config["shared_expert_intermediate_size"] == nil {
		o.config["shared_expert_intermediate_size"] = o.config["intermediate_size"]
	}
}

func (o *outward) qwen3Experts() {
	o.plainExperts()
	o.widths()
	o.config["attention_bias"] = false
}

func (o *outward) widths() {
	if o.config["moe_intermediate_size"] == nil {
		o.config["moe_intermediate_size"] = o.config["intermediate_size"]
	}
	dense := []int{}
	for i := range o.layers {
		if files, _ := (rule{gguf: "blk.N.ffn_gate_inp"}).names(i); o.from[files[0]+weight] == nil {
			dense = append(dense, i)
		}
	}
	o.config["mlp_only_layers"] = dense
}

func (o *outward) smollm3() {
	o.biased()
	list := make([]int, o.layers)
	for i := range list {
		if (i+1)%4 != 0 {
			list[i] = 1
		}
	}
	o.config["no_rope_layers"], o.config["no_rope_layer_interval"] = list, 4
}

func (i *inward) smollm3() {
	every := i.number("no_rope_layer_interval", 4)
	list := i.config.numbers("no_rope_layers")
	for k := range i.layers {
		ropes := (k+1)%4 != 0
		if list == nil && every != 4 || list != nil && (len(list) != i.layers || (list[k] != 0) != ropes) {
			i.wrong(graph.ErrUnsupported, "no_rope_layers", "are not every fourth, and files of the architecture smollm3 mean these")
			return
		}
	}
}

func (o *outward) granite() {
	o.biased()
	o.plainExperts()
	if !o.truth("rope.scaling.finetuned", true) {
		o.wrong(graph.ErrUnsupported, "rope.scaling.finetuned", "is false: the model has no rope, which a folder of %s cannot say", o.family.model)
	}
	if o.config["attention_multiplier"] == nil {
		o.config["attention_multiplier"] = 1 / math.Sqrt(float64(max(o.headDim, 1)))
	}
}

// scalar translates the scale of scores of Gemma, which a model of some number of layers has of its
// own.
func (o *outward) scalar(layers int) {
	o.config["query_pre_attn_scalar"] = o.headDim
	if o.layers == layers {
		o.config["query_pre_attn_scalar"] = float64(o.hidden) / float64(max(o.heads, 1))
	}
	o.config["hidden_act"] = geluTanh.names[0]
}

func (i *inward) scalar(layers int) {
	want := float64(i.headDim)
	if i.layers == layers {
		want = float64(i.hidden) / float64(max(i.heads, 1))
	}
	if got := i.number("query_pre_attn_scalar", 256); got != want {
		i.wrong(graph.ErrUnsupported, "query_pre_attn_scalar", "is %v, and files of the architecture %s mean %v", got, i.family.architecture, want)
	}
}

// local translates which layers have a window: in each period all but the last.
func (o *outward) local(period int) {
	names := make([]string, o.layers)
	list := o.list("attention.sliding_window_pattern")
	if len(list) == 1 && list[0] >= 1 && list[0] <= maxSize {
		period = int(list[0])
	}
	for i := range names {
		local := i%period < period-1
		if len(list) == o.layers && len(list) > 1 {
			local = list[i] != 0
		}
		names[i] = "full_attention"
		if local {
			names[i] = "sliding_attention"
		}
	}
	o.config["layer_types"] = names
}

// local translates which layers have a window. Without layer_types they are those of otherwise.
func (i *inward) local(period int, otherwise func(layer int) bool) {
	list, usual := make([]bool, i.layers), true
	names := i.texts("layer_types")
	if names != nil && len(names) != i.layers {
		i.wrong(graph.ErrFormat, "layer_types", "has %d names for %d layers", len(names), i.layers)
		return
	}
	for k := range list {
		list[k] = otherwise(k)
		if names != nil {
			list[k] = names[k] == "sliding_attention"
		}
		usual = usual && list[k] == (k%period < period-1)
	}
	if !usual {
		i.flags("attention.sliding_window_pattern", list)
	}
}

func (o *outward) gemma3() {
	o.scalar(62)
	o.biased()
	if !o.has("attention.sliding_window") {
		o.config["layer_types"] = slices.Repeat([]string{"full_attention"}, o.layers)
		return
	}
	o.config["sliding_window"] = int64(o.number("attention.sliding_window", 4096))
	o.config["sliding_window_pattern"] = 6
	o.local(6)
}

func (i *inward) gemma3() {
	i.scalar(62)
	every := i.size("sliding_window_pattern", 6)
	names := i.texts("layer_types")
	if names != nil && !slices.Contains(names, "sliding_attention") {
		return // without a window no layer is local
	}
	i.sized("attention.sliding_window", i.size("sliding_window", 4096))
	i.local(6, func(layer int) bool { return (layer+1)%every != 0 })
}

func (o *outward) stablelm() {
	o.config["use_qkv_bias"] = o.from["blk.0.attn_q.bias"] != nil
	o.config["qk_layernorm"] = o.from["blk.0.attn_q_norm.weight"] != nil
	o.config["use_parallel_residual"] = o.from["blk.0.ffn_norm.weight"] == nil
}

func (i *inward) stablelm() {
	has := func(part string) bool {
		return slices.ContainsFunc(slices.Collect(maps.Keys(i.from)), func(name string) bool { return strings.Contains(name, part) })
	}
	for _, x := range []struct {
		key, part string
		with      bool // the setting that comes with the tensors
	}{{"qk_layernorm", ".self_attn.q_layernorm.", true}, {"use_parallel_residual", ".post_attention_layernorm.", false}} {
		if v := i.truth(x.key, false); v != (has(x.part) == x.with) {
			i.wrong(graph.ErrFormat, x.key, "is %v, and the tensors *%s* say otherwise", v, x.part)
		}
	}
	i.truthful("use_parallel_residual", i.truth("use_parallel_residual", false))
}

func (o *outward) lfm2() {
	o.config["conv_bias"] = slices.ContainsFunc(slices.Collect(maps.Keys(o.from)), func(name string) bool { return strings.HasSuffix(name, ".shortconv.conv.bias") })
	o.config["block_auto_adjust_ff_dim"] = false
	o.config["tie_embedding"] = o.config["tie_word_embeddings"]
	list := o.list("attention.head_count_kv")
	names, full := make([]string, o.layers), []int{}
	for i := range names {
		names[i] = "full_attention"
		if len(list) == o.layers && list[i] == 0 {
			names[i] = "conv"
			continue
		}
		full = append(full, i)
	}
	o.config["layer_types"], o.config["full_attn_idxs"] = names, full
}

func (i *inward) lfm2() {
	names, full := i.texts("layer_types"), i.config.numbers("full_attn_idxs")
	list := make([]int32, i.layers)
	for k := range list {
		if len(names) == i.layers && names[k] == "full_attention" || names == nil && (full == nil || slices.Contains(full, float64(k))) {
			list[k] = int32(i.kvHeads)
		}
	}
	if names != nil && len(names) != i.layers {
		i.wrong(graph.ErrFormat, "layer_types", "has %d names for %d layers", len(names), i.layers)
	}
	i.replaced("attention.head_count_kv", func() { i.listed("attention.head_count_kv", list) })
	for _, name := range []string{"model.layers.0.feed_forward.w1.weight", "layers.0.feed_forward.w1.weight"} {
		if x := i.from[name]; x != nil && len(x.Tensor.Shape()) == 2 {
			i.replaced("feed_forward_length", func() { i.sized("feed_forward_length", x.Tensor.Shape()[0]) })
		}
	}
}

// gptOSS says that a model has no scaling of the rope, because folders that say nothing have one.
func (o *outward) gptOSS() {
	o.local(2)
	if _, given := o.config["rope_scaling"]; !given {
		o.config["rope_scaling"] = nil
	}
}

func (i *inward) gptOSS() {
	i.sized("feed_forward_length", i.size("intermediate_size", 2880))
	i.local(2, func(layer int) bool { return layer%2 == 0 })
}
