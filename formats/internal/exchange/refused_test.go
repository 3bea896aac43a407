package exchange

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestFileRefused translates files that a folder cannot say.
func TestFileRefused(t *testing.T) {
	for _, c := range []struct {
		architecture string
		settings     map[string]any
		shapes       map[string][]int
		want         string
	}{
		{"nomic-bert", nil, nil, "no counterpart among folders"},
		{"llama", map[string]any{"block_count": 1 << 20}, nil, "the file has only"},
		{"llama", map[string]any{"attention.scale": 0.5}, nil, "attention.scale has no place in a folder of llama"},
		{"llama", map[string]any{"rope.scaling.attn_factor": 2.0}, nil, "attn_factor is 2"},
		{"llama", nil, map[string][]int{"blk.1.ffn_up.weight": nil}, "tensors are missing: blk.1.ffn_up.weight"},
		{"llama", nil, map[string][]int{"x.weight": {1}}, "x.weight"},
		{"llama", nil, map[string][]int{"blk.0.attn_q.bias": {16}}, "both have one or none"},
		{"granite", map[string]any{"rope.scaling.finetuned": false}, nil, "the model has no rope"},
		{"qwen3moe", map[string]any{"expert_weights_scale": 2.0}, experts, "a folder of qwen3_moe has no scale"},
	} {
		s := llama().set(c.settings).layers(nil)
		if c.shapes["ffn_gate_exps.weight"] != nil {
			s = s.set(routing).layers(c.shapes).layers(qkNorms)
		} else {
			s = s.whole(c.shapes)
		}
		f, err := ToFolder(s.model(c.architecture), tensor.Invalid, container.Lowering{})
		if err == nil || f != nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, graph.ErrUnsupported) && !errors.Is(err, graph.ErrFormat) {
			t.Errorf("%s %v: %v, want %q", c.architecture, c.settings, err, c.want)
		}
	}
}

// TestFolderRefused translates folders that a file cannot say, and folders that are wrong.
func TestFolderRefused(t *testing.T) {
	for _, c := range []struct {
		architecture string
		config       map[string]any // changes of the folder's
		change       func(m *graph.Model)
		want         string
	}{
		{"llama", map[string]any{"model_type": "mamba"}, nil, "no counterpart in GGUF"},
		{"llama", map[string]any{"hidden_size": nil}, nil, "hidden_size is missing"},
		{"llama", map[string]any{"hidden_size": 0.5}, nil, "whole number"},
		{"llama", map[string]any{"hidden_size": "16"}, nil, "no number"},
		{"llama", map[string]any{"num_hidden_layers": 1 << 20}, nil, "only 21 tensors"},
		{"llama", map[string]any{"num_attention_heads": 4}, nil, "heads of 8 are expected"},
		{"llama", map[string]any{"num_attention_heads": 1 << 24, "head_dim": 1 << 24}, nil, "are expected"},
		{"llama", map[string]any{"hidden_act": "gelu"}, nil, `hidden_act is "gelu"`},
		{"llama", map[string]any{"pretraining_tp": 2}, nil, "pretraining_tp is 2"},
		{"llama", map[string]any{"quantization_config": map[string]any{}}, nil, "quantised"},
		{"llama", map[string]any{"rope_scaling": map[string]any{"type": "ntk"}}, nil, `type "ntk"`},
		{"llama", map[string]any{"rope_scaling": map[string]any{"type": "linear"}}, nil, "rope_scaling.factor is missing"},
		{"llama", map[string]any{"rope_scaling": map[string]any{"type": "linear", "factor": "x"}}, nil, "rope_scaling.factor is missing or not positive"},
		{"llama", map[string]any{"rope_scaling": map[string]any{"type": "longrope", "short_factor": []any{1}, "long_factor": []any{"x"}}}, nil, "0 long_factor for 4 pairs"},
		{"llama", map[string]any{"rope_scaling": map[string]any{"type": "longrope", "short_factor": []any{1}}}, nil, "for 4 pairs"},
		{"llama", map[string]any{"layer_types": []string{"sliding_attention"}}, nil, "have no windows"},
		{"gemma2", map[string]any{"layer_types": []string{"sliding_attention"}}, nil, "1 names for 2 layers"},
		{"lfm2", map[string]any{"layer_types": []string{"conv"}}, nil, "1 names for 2 layers"},
		{"llama", nil, func(m *graph.Model) { m.Meta = nil }, "no config.json"},
		{"llama", nil, func(m *graph.Model) { m.Meta[0].Value = "{" }, "config.json"},
		{"llama", nil, func(m *graph.Model) { m.Graph.Initializers = m.Graph.Initializers[1:] }, "tensors are missing: token_embd.weight"},
		{"llama", nil, func(m *graph.Model) { m.Graph.Initializers[5].Name = "other" }, "no place for the tensors other"},
		{"llama", nil, func(m *graph.Model) { m.Graph.Initializers[4].Tensor = tensor.New(tensor.F32) }, "has no axes"},
		{"granitemoe", nil, func(m *graph.Model) {
			for _, x := range m.Graph.Initializers {
				if strings.HasSuffix(x.Name, "input_linear.weight") {
					x.Tensor = tensor.New(tensor.F32, 3, 3, 16)
				}
			}
		}, "gates and ups of experts"},
		{"llama 3", nil, func(m *graph.Model) {
			for _, x := range m.Graph.Initializers {
				if strings.HasSuffix(x.Name, "experts.1.w1.weight") {
					x.Tensor = tensor.New(tensor.F32, 3, 3)
				}
			}
		}, "equal types and shapes"},
	} {
		architecture, _, _ := strings.Cut(c.architecture, " ")
		m, err := ToFolder(files[c.architecture].model(architecture), tensor.Invalid, container.Lowering{})
		if err != nil {
			t.Fatal(err)
		}
		config := map[string]any{}
		if err := json.Unmarshal([]byte(m.Meta[0].Value), &config); err != nil {
			t.Fatal(err)
		}
		maps.Copy(config, c.config)
		text, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		m.Meta[0].Value = string(text)
		if c.change != nil {
			c.change(m)
		}
		g, err := ToGGUF(m, container.Lowering{})
		if err == nil || g != nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, graph.ErrUnsupported) && !errors.Is(err, graph.ErrFormat) {
			t.Errorf("%s %v: %v, want %q", c.architecture, c.config, err, c.want)
		}
	}
}
