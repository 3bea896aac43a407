package exchange

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// grouped is the order of the rows of Falcon's fused matrix: files have all queries, keys and
// values after each other, and folders the queries, the key and the value of each head of keys.
var grouped = &change{
	func(x *exchange, t *tensor.Tensor, _ string) (*tensor.Tensor, error) {
		return x.group(t, func(row int) int {
			per, n := x.heads/x.kvHeads, x.headDim
			group, slot, at := row/((per+2)*n), row/n%(per+2), row%n
			if slot < per {
				return (group*per+slot)*n + at
			}
			return (x.heads+(slot-per)*x.kvHeads+group)*n + at
		})
	},
	func(x *exchange, t *tensor.Tensor, _ string) (*tensor.Tensor, error) {
		return x.group(t, func(row int) int {
			per, n := x.heads/x.kvHeads, x.headDim
			head, at := row/n, row%n
			if head < x.heads {
				return (head/per*(per+2)+head%per)*n + at
			}
			head -= x.heads
			return (head%x.kvHeads*(per+2)+per+head/x.kvHeads)*n + at
		})
	},
}

// group is rows for a fused matrix.
func (x *exchange) group(t *tensor.Tensor, from func(row int) int) (*tensor.Tensor, error) {
	if x.kvHeads < 1 || x.heads%x.kvHeads != 0 || t.Shape()[0] != (x.heads+2*x.kvHeads)*x.headDim {
		return nil, graph.Errorf(graph.ErrFormat, "is %v, and %d heads and %d of keys with %d columns are expected", t, x.heads, x.kvHeads, x.headDim)
	}
	return x.rows(t, from)
}

var falconRules = []rule{
	{gguf: "token_embd", folder: "transformer.word_embeddings"},
	{gguf: "output_norm", folder: "transformer.ln_f"},
	{gguf: "output", folder: "lm_head"},
	{gguf: "blk.N.attn_norm", folder: "transformer.h.N.ln_mlp", beside: "blk.N.attn_norm_2"},
	{gguf: "blk.N.attn_norm_2", folder: "transformer.h.N.ln_attn"},
	{gguf: "blk.N.attn_norm", folder: "transformer.h.N.input_layernorm"},
	{gguf: "blk.N.attn_qkv", folder: "transformer.h.N.self_attention.query_key_value", by: grouped},
	{gguf: "blk.N.attn_output", folder: "transformer.h.N.self_attention.dense"},
	{gguf: "blk.N.ffn_up", folder: "transformer.h.N.mlp.dense_h_to_4h"},
	{gguf: "blk.N.ffn_down", folder: "transformer.h.N.mlp.dense_4h_to_h"},
}

// falconFamily means the tanh form of GELU in files, whatever the folder says, as in llama.cpp.
var falconFamily = family{architecture: "falcon", model: "falcon", class: "FalconForCausalLM", rules: falconRules, tied: true, settings: []setting{
	{"context_length", "max_position_embeddings", size, required, 2048},
	{"embedding_length", "hidden_size", size, required, 4544},
	{"block_count", "num_hidden_layers", size, required, 32},
	{"feed_forward_length", "ffn_hidden_size", size, required, absent},
	{"attention.head_count", "num_attention_heads", size, required, 71},
	{"attention.layer_norm_epsilon", "layer_norm_epsilon", float, required, 1e-5},
	{"rope.freq_base", "rope_theta", float, 10000, 10000},
}, act: activation{"activation", append([]string{"gelu"}, geluTanh.names...)}, fixed: []fixed{{"alibi", false}, {"bias", false}, {"parallel_attn", true}},
	outward: (*outward).falcon, inward: (*inward).falcon}

func (o *outward) falcon() {
	two := o.from["blk.0.attn_norm_2.weight"] != nil
	grouped := two || o.kvHeads != 1
	o.config["new_decoder_architecture"], o.config["multi_query"], o.config["num_kv_heads"] = grouped, !grouped, o.kvHeads
	if grouped && !two {
		o.config["num_ln_in_parallel_attn"] = 1
	}
}

func (i *inward) falcon() {
	switch {
	case i.truth("new_decoder_architecture", false):
		if i.kvHeads = i.size("num_kv_heads", float64(i.heads)); i.heads%max(i.kvHeads, 1) != 0 {
			i.wrong(graph.ErrFormat, "num_kv_heads", "is %d, no divisor of the %d heads", i.kvHeads, i.heads)
		}
	case i.truth("multi_query", true):
		i.kvHeads = 1
	default:
		i.wrong(graph.ErrUnsupported, "multi_query", "is false without new_decoder_architecture, and files of falcon have grouped rows")
	}
	i.sized("attention.head_count_kv", i.kvHeads)
	if !i.has("ffn_hidden_size") {
		i.sized("feed_forward_length", 4*i.hidden)
	}
	i.worded("tensor_data_layout", "jploski")
}
