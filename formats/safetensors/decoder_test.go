package safetensors

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

const smallConfig = `{"architectures":["LlamaForCausalLM"],"hidden_size":8,"intermediate_size":12,"num_attention_heads":4,"num_key_value_heads":2,"num_hidden_layers":2}`

// small is a decoder of two blocks, with biases; change may change it.
func small(config string, change func(m map[string]*graph.Initializer)) *graph.Model {
	list := map[string]*graph.Initializer{}
	add := func(name string, dims ...int) { list[name] = zeros(name, tensor.F32, dims...) }
	add("model.embed_tokens.weight", 5, 8)
	add("model.norm.weight", 8)
	for i := range 2 {
		p := fmt.Sprintf("model.layers.%d.", i)
		add(p+"input_layernorm.weight", 8)
		add(p+"post_attention_layernorm.weight", 8)
		for name, rows := range map[string]int{"q": 8, "k": 4, "v": 4} {
			add(p+"self_attn."+name+"_proj.weight", rows, 8)
			add(p+"self_attn."+name+"_proj.bias", rows)
		}
		add(p+"self_attn.o_proj.weight", 8, 8)
		add(p+"self_attn.rotary_emb.inv_freq", 1)
		add(p+"mlp.gate_proj.weight", 12, 8)
		add(p+"mlp.up_proj.weight", 12, 8)
		add(p+"mlp.down_proj.weight", 8, 12)
	}
	if change != nil {
		change(list)
	}
	m := &graph.Model{File: "folder", Meta: []graph.Pair{{Key: configFile, Kind: "json", Value: config}}, Graph: &graph.Graph{}}
	for _, x := range list {
		m.Graph.Initializers = append(m.Graph.Initializers, x)
	}
	return m
}

func TestDecoder(t *testing.T) {
	d, err := DecoderOf(small(smallConfig, func(m map[string]*graph.Initializer) { m["extra"] = zeros("extra", tensor.I64) }))
	if err != nil {
		t.Fatal(err)
	}
	if d.Vocab != 5 || d.HeadDim != 2 || d.QueryDim != 8 || d.KVDim != 4 || d.NormEps != 1e-6 || d.RopeTheta != 10000 || d.Activation != "silu" || d.BitNet || d.Head != nil ||
		len(d.Blocks) != 2 || fmt.Sprint(d.Unused) != "[extra]" {
		t.Errorf("%+v", d)
	}
	b := d.Blocks[1]
	if b.K.Weight.Name != "model.layers.1.self_attn.k_proj.weight" || b.K.Bias.Name != "model.layers.1.self_attn.k_proj.bias" || b.K.Rows != 4 || b.K.Cols != 8 || b.O.Bias != nil || b.Q.Packed {
		t.Errorf("%+v", b)
	}
	config := strings.Replace(smallConfig, `,"num_hidden_layers":2`, `,"model_type":"bitnet","head_dim":2,"rms_norm_eps":0.5,"rope_theta":7,"hidden_act":"relu2"`, 1)
	d, err = DecoderOf(small(config, func(m map[string]*graph.Initializer) {
		for name, x := range m {
			m[strings.Replace(name, "model.", "language.model.", 1)] = x
			x.Name = strings.Replace(name, "model.", "language.model.", 1)
			delete(m, name)
		}
		m["lm_head.weight"] = zeros("lm_head.weight", tensor.F16, 5, 8)
	}))
	if err != nil || d.Head == nil || d.NormEps != 0.5 || d.RopeTheta != 7 || d.Activation != "relu2" || !d.BitNet || len(d.Blocks) != 2 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestDecoderRefused(t *testing.T) {
	const p = "model.layers.1."
	drop := func(name string) func(m map[string]*graph.Initializer) {
		return func(m map[string]*graph.Initializer) { delete(m, name) }
	}
	set := func(name string, d tensor.DType, dims ...int) func(m map[string]*graph.Initializer) {
		return func(m map[string]*graph.Initializer) { m[name] = zeros(name, d, dims...) }
	}
	cases := []struct {
		from, to string // of the configuration
		change   func(m map[string]*graph.Initializer)
		kind     error
		want     string
	}{
		{smallConfig, "", nil, graph.ErrUnsupported, "no config.json"},
		{smallConfig, "[]", nil, graph.ErrFormat, "config.json"},
		{smallConfig, `{"model_type":"bert"}`, nil, graph.ErrUnsupported, "no Llama-style"},
		{`"hidden_size":8,`, "", nil, graph.ErrFormat, "lacks hidden_size"},
		{`"hidden_size":8`, `"hidden_size":-8`, nil, graph.ErrFormat, "hidden_size is -8"},
		{`"hidden_size":8`, `"hidden_size":1e30`, nil, graph.ErrFormat, "config.json"},
		{`"hidden_size":8`, `"hidden_size":7`, nil, graph.ErrFormat, "no multiple of num_attention_heads"},
		{`"num_key_value_heads":2`, `"num_key_value_heads":3`, nil, graph.ErrFormat, "no multiple of num_key_value_heads"},
		{`"num_key_value_heads":2`, `"hidden_act":"gelu"`, nil, graph.ErrUnsupported, "gelu"},
		{`"num_hidden_layers":2`, `"num_hidden_layers":1`, nil, graph.ErrFormat, "tensors of block 1"},
		{`"num_hidden_layers":2`, `"num_hidden_layers":2000000000`, nil, graph.ErrFormat, "block 2 has no input_layernorm"},
		{`,"num_hidden_layers":2`, "", func(m map[string]*graph.Initializer) {
			for name := range m {
				if strings.Contains(name, "layers") {
					delete(m, name)
				}
			}
		}, graph.ErrFormat, "no tensor of a block"},
		{"", "", drop("model.embed_tokens.weight"), graph.ErrFormat, "token embeddings"},
		{"", "", drop(p + "post_attention_layernorm.weight"), graph.ErrFormat, "block 1 has no post_attention_layernorm"},
		{"", "", drop(p + "mlp.up_proj.weight"), graph.ErrFormat, "block 1 has no up_proj"},
		{"", "", set(p+"mlp.up_proj.weight", tensor.F32, 8, 12), graph.ErrFormat, "[12,8] are wanted"},
		{"", "", set(p+"mlp.up_proj.weight", tensor.I32, 12, 8), graph.ErrFormat, "floating-point"},
		{"", "", set(p+"self_attn.k_proj.bias", tensor.F32, 8), graph.ErrFormat, "[4] are wanted"},
		{"", "", set(p+"self_attn.q_norm.weight", tensor.F32, 8), graph.ErrFormat, "[2] are wanted"},
		{"", "", set(p+"self_attn.c_attn.weight", tensor.F32, 8), graph.ErrFormat, "no part in a block"},
		{"", "", set(p+"self_attn.k_proj.lora", tensor.F32, 8), graph.ErrFormat, "the same part"},
		{"", "", set(p+"self_attn.k_proj.weight_scale", tensor.F32, 1), graph.ErrUnsupported, "not packed"},
		{"", "", set(p+"input_layernorm.bias", tensor.F32, 8), graph.ErrUnsupported, "bias of a norm"},
		{"", "", set(p+"mlp.up_proj.weight", tensor.U8, 3, 8), graph.ErrFormat, "no weight_scale"},
		{"", "", set("other.norm.weight", tensor.F32, 8), nil, ""},
		{"", "", func(m map[string]*graph.Initializer) {
			delete(m, "model.norm.weight")
			m["a"], m["b"] = zeros("a.norm.weight", tensor.F32, 8), zeros("b.norm.weight", tensor.F32, 8)
		}, graph.ErrFormat, "end in norm.weight"},
	}
	for _, c := range cases {
		_, err := DecoderOf(small(strings.Replace(smallConfig, c.from, c.to, 1), c.change))
		if c.kind == nil && err == nil {
			continue
		}
		var g *graph.Error
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) || !errors.As(err, &g) || g.File != "folder" {
			t.Errorf("%q %q: got %v, want %q", c.from, c.to, err, c.want)
		}
	}
}

func TestCodes(t *testing.T) {
	x := zeros("w", tensor.U8, 1, 2)
	copy(x.Tensor.Bytes(), []byte{0b11_10_01_00, 0b00_01_10_11})
	m := Matrix{Rows: 4, Cols: 2, Weight: x, Packed: true}
	if got := fmt.Sprint(m.Codes()); got != "[-1 0 0 1 1 0 0 -1]" {
		t.Errorf("codes %s", got)
	}
}
