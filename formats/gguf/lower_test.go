package gguf

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// small returns the settings of a decoder of two layers, without the prefix of their keys, and the
// shapes of its tensors.
func small() (settings map[string]any, shapes map[string][]int) {
	settings = map[string]any{"embedding_length": 16, "block_count": 2, "feed_forward_length": 4, "attention.head_count": 2, "context_length": 8,
		"attention.layer_norm_rms_epsilon": 1e-5, "attention.layer_norm_epsilon": 1e-5}
	shapes = map[string][]int{"token_embd.weight": {3, 16}, "output_norm.weight": {16}}
	for i := range 2 {
		p := fmt.Sprintf("blk.%d.", i)
		for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
			shapes[p+name+".weight"] = []int{16, 16}
		}
		shapes[p+"attn_norm.weight"], shapes[p+"ffn_norm.weight"] = []int{16}, []int{16}
		shapes[p+"ffn_gate.weight"], shapes[p+"ffn_up.weight"], shapes[p+"ffn_down.weight"] = []int{4, 16}, []int{4, 16}, []int{16, 4}
	}
	return settings, shapes
}

// decoderOf returns a model of zeros.
func decoderOf(t *testing.T, architecture string, settings map[string]any, shapes map[string][]int) *graph.Model {
	t.Helper()
	m := &graph.Model{Format: Name, File: "x", Graph: &graph.Graph{}, Meta: []graph.Pair{{Key: architectureKey, Value: architecture}}}
	for key, v := range settings {
		p := graph.Pair{Key: architecture + "." + key}
		switch v := v.(type) {
		case int:
			p = scalar(p.Key, int32(v))
		case float64:
			p = scalar(p.Key, float32(v))
		case bool:
			p = scalar(p.Key, v)
		case string:
			p.Value = v
		case []int32:
			x, err := tensor.From(v, len(v))
			if err != nil {
				t.Fatal(err)
			}
			p.Data = x
		case nil:
			continue
		}
		m.Meta = append(m.Meta, p)
	}
	for name, shape := range shapes {
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: tensor.New(tensor.F32, shape...)})
	}
	return m
}

// TestLowerRefused lowers decoders with wrong settings and tensors.
func TestLowerRefused(t *testing.T) {
	for _, c := range []struct {
		architecture string
		settings     map[string]any   // nil removes one
		shapes       map[string][]int // nil removes one
		want         string
	}{
		{"mamba", nil, nil, "qwen3moe"},
		{"llama", map[string]any{"embedding_length": nil}, nil, "llama.embedding_length is missing"},
		{"llama", map[string]any{"embedding_length": "16"}, nil, "no number from 1"},
		{"llama", map[string]any{"embedding_length": -1}, nil, "no number from 1"},
		{"llama", map[string]any{"embedding_length": 15}, nil, "no multiple of the head_count"},
		{"llama", map[string]any{"block_count": 1 << 20}, nil, "the file has only 20 tensors"},
		{"llama", map[string]any{"attention.head_count_kv": 3}, nil, "no multiple of the head_count_kv"},
		{"llama", map[string]any{"attention.head_count_kv": []int32{1, 2}}, nil, "not the same for all layers"},
		{"llama", map[string]any{"attention.head_count_kv": []int32{1, 0}}, nil, "is 0 for layer 1"},
		{"llama", map[string]any{"attention.head_count_kv": []int32{1}}, nil, "there are 2 layers"},
		{"llama", map[string]any{"attention.value_length": 4}, nil, "equal ones are computed"},
		{"llama", map[string]any{"attention.causal": false}, nil, "only causal"},
		{"llama", map[string]any{"attention.causal": 0}, nil, "no boolean"},
		{"llama", map[string]any{"attention.layer_norm_rms_epsilon": nil}, nil, "layer_norm_rms_epsilon is missing"},
		{"gpt2", map[string]any{"attention.layer_norm_epsilon": 0.0}, nil, "must be above 0"},
		{"llama", map[string]any{"rope.dimension_count": 4}, nil, "a head has 8 columns"},
		{"qwen2", map[string]any{"rope.dimension_count": 5}, nil, "no even number"},
		{"llama", map[string]any{"rope.scaling.type": "ntk"}, nil, "it takes none, linear, yarn"},
		{"llama", map[string]any{"rope.scaling.factor": -2}, nil, "factor is -2"},
		{"llama", map[string]any{"rope.scaling.type": "yarn", "rope.scaling.yarn_ext_factor": 0.5}, nil, "1 is computed"},
		{"llama", nil, map[string][]int{"rope_freqs.weight": {3}}, "4 floating-point numbers are wanted"},
		{"llama", nil, map[string][]int{"rope_freqs.weight": {4}}, "not positive"},
		{"llama", map[string]any{"expert_count": 2, "expert_used_count": 3}, nil, "is 3 of 2 experts"},
		{"llama", map[string]any{"expert_count": 2, "expert_used_count": 1, "expert_gating_func": 4}, nil, "softmax"},
		{"qwen2moe", map[string]any{"expert_count": 2, "expert_used_count": 1, "expert_gating_func": 2}, nil, "sum of 1"},
		{"llama", map[string]any{"expert_count": 2, "expert_used_count": 1}, map[string][]int{"blk.0.ffn_gate_inp.weight": {2, 16}, "blk.0.ffn_up.0.weight": {4, 16}}, "blk.0.ffn_up.1.weight"},
		{"lfm2", map[string]any{"attention.head_count_kv": []int32{1, -1}}, nil, "numbers from 0 to"},
		{"lfm2", map[string]any{"attention.head_count_kv": []int32{2, 0}, "shortconv.l_cache": nil}, nil, "shortconv.l_cache is missing"},
		{"lfm2", map[string]any{"attention.head_count_kv": []int32{2, 0}, "shortconv.l_cache": 3}, nil, "blk.1.shortconv.in_proj.weight"},
		{"stablelm", nil, map[string][]int{"blk.0.attn_q_norm.weight": {8}, "blk.0.attn_k_norm.weight": {2, 8}}, "blk.0.attn_q_norm.weight is float32[8], where floating-point numbers or blocks [2,8] are wanted"},
		{"gemma2", map[string]any{"attention.sliding_window_pattern": []int32{1, 0}}, nil, "and there are 2 layers"},
		{"llama", nil, map[string][]int{"blk.1.attn_q.weight": nil}, "tensors are missing: blk.1.attn_q.weight"},
		{"llama", nil, map[string][]int{"blk.1.attn_q.weight": {16, 8}}, "blk.1.attn_q.weight is float32[16,8]"},
		{"llama", nil, map[string][]int{"blk.2.attn_q.weight": {16, 16}}, "no part in a network of the architecture llama: blk.2.attn_q.weight"},
		{"llama", nil, map[string][]int{"token_embd.weight": {0, 16}}, "no rows"},
	} {
		settings, shapes := small()
		maps.Copy(settings, c.settings)
		maps.Copy(shapes, c.shapes)
		maps.DeleteFunc(shapes, func(_ string, shape []int) bool { return shape == nil })
		n, err := Lower(decoderOf(t, c.architecture, settings, shapes), container.Lowering{})
		if err == nil || !strings.Contains(err.Error(), c.want) || n != nil || !errors.Is(err, graph.ErrUnsupported) && !errors.Is(err, graph.ErrFormat) {
			t.Errorf("%v: %v, want %q", c.settings, err, c.want)
		}
	}
}

// ownTensors are the tensors of architectures that Llama does not have.
var ownTensors = map[string]map[string][]int{
	"lfm2": {
		"output_norm.weight": nil, "token_embd_norm.weight": {16}, "blk.0.attn_q_norm.weight": {8}, "blk.0.attn_k_norm.weight": {8},
		"blk.1.attn_q.weight": nil, "blk.1.attn_k.weight": nil, "blk.1.attn_v.weight": nil, "blk.1.attn_output.weight": nil,
		"blk.1.shortconv.in_proj.weight": {48, 16}, "blk.1.shortconv.conv.weight": {16, 3}, "blk.1.shortconv.out_proj.weight": {16, 16},
	},
	"phi2": {"blk.0.ffn_norm.weight": nil, "blk.1.ffn_norm.weight": nil},
	"stablelm": {"blk.0.ffn_norm.weight": nil, "blk.1.ffn_norm.weight": nil, "blk.0.attn_q_norm.weight": {2, 8}, "blk.0.attn_k_norm.weight": {2, 8},
		"blk.1.attn_q_norm.weight": {2, 8}, "blk.1.attn_k_norm.weight": {2, 8}},
}

// TestLower lowers decoders of every architecture with the tensors of Llama, and files that are no
// networks.
func TestLower(t *testing.T) {
	settings, shapes := small()
	for _, a := range []string{"llama", "qwen2", "phi2", "smollm3", "granite", "starcoder2", "stablelm", "lfm2"} {
		shapes, settings := maps.Clone(shapes), maps.Clone(settings)
		maps.Copy(shapes, ownTensors[a])
		maps.DeleteFunc(shapes, func(_ string, shape []int) bool { return shape == nil })
		if a == "lfm2" {
			settings["attention.head_count_kv"], settings["shortconv.l_cache"] = []int32{2, 0}, 3
		}
		n, err := Lower(decoderOf(t, a, settings, shapes), container.Lowering{})
		if err != nil {
			t.Errorf("%s: %v", a, err)
			continue
		}
		if err := graph.Validate(n); err != nil {
			t.Errorf("%s: %v", a, err)
		}
	}
	m := decoderOf(t, "llama", settings, shapes)
	m.Meta = append(m.Meta, graph.Pair{Key: typeKey, Value: "adapter"})
	for what, m := range map[string]*graph.Model{"adapter": m, "no architecture": {Graph: m.Graph}, "no tensors": decoderOf(t, "llama", settings, nil)} {
		if n, err := Lower(m, container.Lowering{}); n != nil || err != nil {
			t.Errorf("%s: %v, %v", what, n, err)
		}
	}
}
