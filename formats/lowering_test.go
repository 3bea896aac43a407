package formats_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// zeros adds tensors of zeros to a model, by name.
func zeros(m *graph.Model, prefix string, shapes map[string][]int) {
	for name, shape := range shapes {
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: prefix + name, Tensor: tensor.New(tensor.F32, shape...)})
	}
}

// deep returns models of formats without nodes, whose networks have many layers.
func deep(t *testing.T) map[string]*graph.Model {
	const layers = 1 << 8
	list := map[string]*graph.Model{}
	model := func(name, format, key, config string) *graph.Model {
		list[name] = &graph.Model{Format: format, File: name, Graph: &graph.Graph{}, Meta: []graph.Pair{{Key: key, Kind: "json", Value: config}}}
		return list[name]
	}
	m := model("gpt", "gptrschk", "config", fmt.Sprintf(
		`{"kind":"gpt","config":{"vocab_size":3,"context_length":4,"embed_dim":2,"num_layers":%d,"num_heads":1,"mlp_ratio":1,"dropout":0}}`, layers))
	zeros(m, "", map[string][]int{"tok_embeddings.weight": {3, 2}, "pos_embeddings": {4, 2}, "final_ln.gamma": {2}, "final_ln.beta": {2}, "lm_head": {2, 3}})
	for i := range layers {
		zeros(m, fmt.Sprintf("blocks.%d.", i), map[string][]int{
			"attention.w_qkv": {2, 6}, "attention.b_qkv": {6}, "attention.w_out": {2, 2}, "attention.b_out": {2}, "feed_forward.w_in": {2, 2},
			"feed_forward.b_in": {2}, "feed_forward.w_out": {2, 2}, "feed_forward.b_out": {2}, "ln_1.gamma": {2}, "ln_1.beta": {2}, "ln_2.gamma": {2}, "ln_2.beta": {2},
		})
	}
	m = model("ministral", "gptrschk", "config", fmt.Sprintf(`{"kind":"ministral","config":{"vocab_size":3,"context_length":4,"embed_dim":8,`+
		`"num_layers":%d,"num_heads":2,"num_kv_heads":1,"mlp_hidden_dim":2,"rotary_dim":2,"rms_norm_eps":1e-5,"rope_theta":1e4}}`, layers))
	zeros(m, "", map[string][]int{"tok_embeddings.weight": {3, 8}, "final_norm.gamma": {8}, "lm_head": {8, 3}})
	for i := range layers {
		zeros(m, fmt.Sprintf("blocks.%d.", i), map[string][]int{"attention.w_qkv": {8, 16}, "attention.w_out": {8, 8}, "feed_forward.w_gate": {8, 2},
			"feed_forward.w_up": {8, 2}, "feed_forward.w_down": {2, 8}, "norm_1.gamma": {8}, "norm_2.gamma": {8}})
	}
	m = model("llama", "safetensors", "config.json", fmt.Sprintf(
		`{"model_type":"llama","hidden_size":8,"num_attention_heads":2,"num_hidden_layers":%d,"intermediate_size":2,"vocab_size":3}`, layers))
	zeros(m, "", map[string][]int{"model.embed_tokens.weight": {3, 8}, "model.norm.weight": {8}, "lm_head.weight": {3, 8}})
	for i := range layers {
		zeros(m, fmt.Sprintf("model.layers.%d.", i), map[string][]int{
			"self_attn.q_proj.weight": {8, 8}, "self_attn.k_proj.weight": {8, 8}, "self_attn.v_proj.weight": {8, 8}, "self_attn.o_proj.weight": {8, 8},
			"mlp.gate_proj.weight": {2, 8}, "mlp.up_proj.weight": {2, 8}, "mlp.down_proj.weight": {8, 2},
			"input_layernorm.weight": {8}, "post_attention_layernorm.weight": {8},
		})
	}
	m = &graph.Model{Format: "gguf", File: "gguf", Graph: &graph.Graph{}, Meta: []graph.Pair{{Key: "general.architecture", Value: "llama"}}}
	list["gguf"] = m
	for key, v := range map[string]uint32{"embedding_length": 8, "block_count": layers, "feed_forward_length": 2, "attention.head_count": 2, "context_length": 8} {
		x, err := tensor.From([]uint32{v})
		if err != nil {
			t.Fatal(err)
		}
		m.Meta = append(m.Meta, graph.Pair{Key: "llama." + key, Data: x})
	}
	epsilon, err := tensor.From([]float32{1e-5})
	if err != nil {
		t.Fatal(err)
	}
	m.Meta = append(m.Meta, graph.Pair{Key: "llama.attention.layer_norm_rms_epsilon", Data: epsilon})
	zeros(m, "", map[string][]int{"token_embd.weight": {3, 8}, "output_norm.weight": {8}})
	for i := range layers {
		zeros(m, fmt.Sprintf("blk.%d.", i), map[string][]int{"attn_norm.weight": {8}, "attn_q.weight": {8, 8}, "attn_k.weight": {8, 8}, "attn_v.weight": {8, 8},
			"attn_output.weight": {8, 8}, "ffn_norm.weight": {8}, "ffn_gate.weight": {2, 8}, "ffn_up.weight": {2, 8}, "ffn_down.weight": {8, 2}})
	}
	for _, format := range []string{"loom", "openinfer"} {
		list[format] = crowded(t, format)
	}
	return list
}

// TestLoweringEnds lowers networks of many layers in contexts that end at the first look, at the
// last, and at some between.
func TestLoweringEnds(t *testing.T) {
	for name, m := range deep(t) {
		lower := func(most int64) (int64, error) {
			l := &looks{Context: context.Background()}
			l.most.Store(most)
			_, err := formats.Network(m, formats.Lowering{Budget: budget.New(l, budget.Limits{})})
			return l.n.Load(), err
		}
		all, err := lower(math.MaxInt64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if all < 8 {
			t.Errorf("%s: the context is looked at %d times", name, all)
		}
		const after = 16
		for _, most := range []int64{0, 1, 2, all / 4, all / 2, all - 1} {
			n, err := lower(most)
			if !errors.Is(err, context.Canceled) || errors.Is(err, graph.ErrFormat) || errors.Is(err, graph.ErrUnsupported) {
				t.Errorf("%s, done after %d looks of %d: %v", name, most, all, err)
			}
			if n > most+after {
				t.Errorf("%s, done after %d looks of %d: %d follow", name, most, all, n-most)
			}
		}
	}
}

// TestLoweringMemory lowers networks of many layers with a memory limit that doubles until it is
// enough. The bytes that lowering counts are of the order of the bytes that it allocates.
func TestLoweringMemory(t *testing.T) {
	for name, m := range deep(t) {
		lower := func(bytes int64) (int64, error) {
			b := budget.New(context.Background(), budget.Limits{Bytes: bytes})
			_, err := formats.Network(m, formats.Lowering{Budget: b})
			return b.Held(), err
		}
		var held, refused int64
		for bytes := int64(1); held == 0; bytes *= 2 {
			n, err := lower(bytes)
			switch {
			case err == nil:
				held = n
			case !errors.Is(err, graph.ErrMemory) || errors.Is(err, graph.ErrFormat) || errors.Is(err, graph.ErrUnsupported):
				t.Fatalf("%s, %d bytes: %v", name, bytes, err)
			default:
				refused = bytes
			}
		}
		if refused < 1<<16 {
			t.Errorf("%s: %d bytes are enough", name, 2*refused)
		}
		took := int64(fixtures.Allocated(func() { _, _ = lower(0) }))
		if most := int64(8); took > most*held {
			t.Errorf("%s: %d bytes are taken, and %d counted", name, took, held)
		}
	}
}
