package huggingface_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/huggingface"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// drop removes the tensors with names that end in one of the parts.
func drop(parts ...string) func(g *graph.Graph) {
	return func(g *graph.Graph) {
		var left []*graph.Initializer
		for _, x := range g.Initializers {
			keep := true
			for _, p := range parts {
				keep = keep && !strings.HasSuffix(x.Name, p)
			}
			if keep {
				left = append(left, x)
			}
		}
		g.Initializers = left
	}
}

// add puts a tensor into a graph in place of any tensor of the same name.
func add(name string, d tensor.DType, shape ...int) func(g *graph.Graph) {
	return func(g *graph.Graph) {
		drop(name)(g)
		g.Initializers = append(g.Initializers, &graph.Initializer{Name: name, Tensor: tensor.New(d, shape...)})
	}
}

const layer = "model.layers.1."

var refused = []struct {
	answer string
	config string // JSON settings that replace the answer's; null removes one
	change func(g *graph.Graph)
	kind   error
	want   string
}{
	{"llama", `{"model_type":"bloom"}`, nil, nacre.ErrUnsupported, `model_type "bloom"`},
	{"llama", `{"model_type":null,"architectures":null}`, nil, nacre.ErrUnsupported, "smollm3"},
	{"llama", `{"quantization_config":{"quant_method":"gptq"}}`, nil, nacre.ErrUnsupported, `"gptq"`},
	{"llama", `{"hidden_size":null}`, nil, nacre.ErrFormat, "hidden_size is missing"},
	{"llama", `{"hidden_size":-1}`, nil, nacre.ErrFormat, "hidden_size is -1"},
	{"llama", `{"hidden_size":"16"}`, nil, nacre.ErrFormat, "config.json"},
	{"llama", `{"hidden_size":1e30}`, nil, nacre.ErrFormat, "config.json"},
	{"llama", `{"hidden_size":17,"head_dim":null}`, nil, nacre.ErrFormat, "no multiple of num_attention_heads 4"},
	{"llama", `{"num_key_value_heads":3}`, nil, nacre.ErrFormat, "no multiple of num_key_value_heads 3"},
	{"llama", `{"num_hidden_layers":16000000}`, nil, nacre.ErrFormat, "only 21 tensors"},
	{"llama", `{"num_hidden_layers":3}`, nil, nacre.ErrFormat, "9 tensors are missing: model.layers.2.input_layernorm.weight, "},
	{"llama", `{"num_hidden_layers":1}`, nil, nacre.ErrFormat, "9 tensors have no part in a decoder of model_type llama: model.layers.1."},
	{"llama", `{"hidden_act":"xielu"}`, nil, nacre.ErrUnsupported, `hidden_act is "xielu"; it takes gelu, `},
	{"gemma2", `{"hidden_activation":"laplace"}`, nil, nacre.ErrUnsupported, `hidden_activation is "laplace"`},
	{"llama", `{"rms_norm_eps":-1}`, nil, nacre.ErrFormat, "epsilon"},
	{"llama", `{"vocab_size":28}`, nil, nacre.ErrFormat, "2 tensors do not fit config.json: model.embed_tokens.weight"},
	{"llama", `{"attention_bias":true}`, nil, nacre.ErrFormat, "8 tensors are missing: model.layers.0.self_attn.q_proj.bias"},
	{"llama", `{"tie_word_embeddings":false}`, drop("lm_head.weight"), nacre.ErrFormat, "1 tensor is missing: lm_head.weight"},
	{"llama", `{}`, drop("up_proj.weight", "model.norm.weight"), nacre.ErrFormat, "3 tensors are missing: model.layers.0.mlp.up_proj.weight, model.layers.1.mlp.up_proj.weight, model.norm.weight"},
	{"llama", `{}`, add(layer+"mlp.up_proj.weight", tensor.F32, 16, 24), nacre.ErrFormat, layer + "mlp.up_proj.weight is float32[16,24], where floating-point numbers [24,16] are wanted"},
	{"llama", `{}`, add(layer+"mlp.up_proj.weight", tensor.I32, 24, 16), nacre.ErrFormat, "int32[24,16]"},
	{"llama", `{}`, add("vision.weight", tensor.F32, 1), nacre.ErrFormat, "1 tensor has no part in a decoder of model_type llama: vision.weight"},
	{"llama", `{"rope_theta":0}`, nil, nacre.ErrFormat, "rope_theta is 0"},
	{"llama", `{"rope_scaling":{"rope_type":"spiral"}}`, nil, nacre.ErrUnsupported, `"spiral"`},
	{"llama", `{"rope_scaling":{"rope_type":"linear"}}`, nil, nacre.ErrFormat, "lacks factor"},
	{"llama", `{"rope_scaling":{"rope_type":"linear","factor":-2}}`, nil, nacre.ErrFormat, "factor is -2"},
	{"llama", `{"rope_scaling":{"rope_type":"dynamic","factor":2},"max_position_embeddings":null}`, nil, nacre.ErrFormat, "max_position_embeddings is missing"},
	{"llama3", `{"rope_scaling":{"rope_type":"llama3","factor":2,"low_freq_factor":1}}`, nil, nacre.ErrFormat, "lacks high_freq_factor"},
	{"llama3", `{"rope_scaling":{"rope_type":"llama3","factor":2,"low_freq_factor":2,"high_freq_factor":2,"original_max_position_embeddings":8}}`, nil, nacre.ErrFormat, "not above"},
	{"llama", `{"rope_scaling":{"rope_type":"linear","factor":2},"rope_parameters":{"rope_type":"default"}}`, nil, nacre.ErrFormat, "leave one out"},
	{"llama", `{"rope_scaling":null,"rope_parameters":{"full_attention":{"rope_theta":7}}}`, nil, nacre.ErrUnsupported, "full_attention"},
	{"llama", `{"partial_rotary_factor":0.75}`, nil, nacre.ErrFormat, "partial_rotary_factor"},
	{"llama", `{"partial_rotary_factor":3e300}`, nil, nacre.ErrFormat, "partial_rotary_factor"},
	{"llama", `{"partial_rotary_factor":-3e300}`, nil, nacre.ErrFormat, "partial_rotary_factor"},
	{"phi3_long", `{"rope_scaling":{"type":"longrope","short_factor":[1],"long_factor":[1,2]}}`, nil, nacre.ErrFormat, "1 short_factor and 2 long_factor for 2 pairs"},
	{"phi3_long", `{"rope_scaling":{"type":"longrope","short_factor":[1,0],"long_factor":[1,2]}}`, nil, nacre.ErrFormat, "not positive"},
	{"mistral", `{"sliding_window":1.5}`, nil, nacre.ErrFormat, "sliding_window is 1.5"},
	{"mistral", `{"sliding_window":0}`, nil, nacre.ErrFormat, "sliding_window is 0"},
	{"smollm3", `{"sliding_window":-1,"use_sliding_window":true}`, nil, nacre.ErrFormat, "sliding_window is -1"},
	{"qwen2", `{"layer_types":["sliding_attention","full_attention"]}`, nil, nacre.ErrFormat, "layer 0 is of type sliding_attention, and no sliding_window is in use"},
	{"gemma3_text", `{"layer_types":["full_attention"]}`, nil, nacre.ErrFormat, "1 names for 4 layers"},
	{"gemma3_text", `{"layer_types":["full_attention","chunked","full_attention","full_attention"]}`, nil, nacre.ErrUnsupported, `"chunked"`},
	{"gemma3_text", `{"use_bidirectional_attention":true}`, nil, nacre.ErrUnsupported, "use_bidirectional_attention"},
	{"smollm3", `{"no_rope_layers":[1]}`, nil, nacre.ErrFormat, "1 numbers for 5 layers"},
	{"stablelm", `{"qk_layernorm":true}`, nil, nacre.ErrFormat, "qk_layernorm"},
	{"falcon", `{"alibi":true}`, nil, nacre.ErrUnsupported, "alibi is true"},
	{"falcon", `{"activation":"relu"}`, nil, nacre.ErrUnsupported, `activation is "relu"`},
	{"gpt_oss", `{"swiglu_limit":3}`, nil, nacre.ErrUnsupported, "swiglu_limit is 3"},
	{"gpt_oss", `{}`, drop("0.self_attn.sinks"), nacre.ErrFormat, "sinks"},
	{"granite", `{"logits_scaling":0}`, nil, nacre.ErrFormat, "logits_scaling is 0"},
}

// changed returns an answer with other settings.
func changed(t *testing.T, a *answer, settings string) *answer {
	t.Helper()
	var change map[string]any
	if err := json.Unmarshal([]byte(settings), &change); err != nil {
		t.Fatal(err)
	}
	b := *a
	b.Config = map[string]any{}
	for _, list := range []map[string]any{a.Config, change} {
		for key, v := range list {
			if b.Config[key] = v; v == nil {
				delete(b.Config, key)
			}
		}
	}
	return &b
}

// TestRefused opens folders without a valid network. Saving them as ONNX fails in the same way.
func TestRefused(t *testing.T) {
	all := answers(t)
	for _, c := range refused {
		dir := changed(t, all[c.answer], c.config).folder(t, c.change)
		m, err := nacre.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.NewSession(nacre.Options{})
		var g *graph.Error
		if !errors.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.want) || !errors.As(err, &g) || g.File != dir {
			t.Errorf("%s %s: got %v, want %q", c.answer, c.config, err, c.want)
		}
		path := filepath.Join(t.TempDir(), "model.onnx")
		if err := formats.Save(path, m.Source(), formats.Options{}); !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s %s, saved: got %v, want %q", c.answer, c.config, err, c.want)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s %s: a file was written", c.answer, c.config)
		}
		m.Close()
	}
}

// TestPassedOver opens folders with tensors that are ignored, and with names without a prefix.
func TestPassedOver(t *testing.T) {
	a := answers(t)["llama_odd_heads"]
	for _, name := range []string{"lm_head.weight", "model.layers.0.self_attn.rotary_emb.inv_freq"} {
		_, st := session(t, a.folder(t, add(name, tensor.F32, 29, 18)), nacre.Options{Threads: 1})
		same(t, name, run(t, st, a.Prompt), a.Logits)
	}
	bare := *a // the form of a model saved without a head
	dir := bare.folder(t, func(g *graph.Graph) {
		for _, x := range g.Initializers {
			x.Name = strings.TrimPrefix(x.Name, "model.")
		}
	})
	_, st := session(t, dir, nacre.Options{Threads: 1})
	same(t, "without a prefix", run(t, st, a.Prompt), a.Logits)
}

// TestParameters reads settings of ropes in the form of newer folders.
func TestParameters(t *testing.T) {
	all := answers(t)
	for name, config := range map[string]string{
		"llama3": `{"rope_scaling":null,"rope_theta":null,"rope_parameters":{"rope_theta":500000.0,"rope_type":"llama3","factor":8.0,` +
			`"low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":32}}`,
		"phi3_long": `{"rope_scaling":null,"rope_theta":null,"original_max_position_embeddings":null,"rope_parameters":{"rope_type":"longrope","rope_theta":10000,` +
			`"short_factor":[1,1.1],"long_factor":[2,2.5],"original_max_position_embeddings":16}}`,
		"stablelm": `{"partial_rotary_factor":null,"rope_theta":null,"rope_parameters":{"rope_theta":10000,"partial_rotary_factor":0.5}}`,
		"gemma3_text_scaled": `{"rope_scaling":null,"rope_theta":null,"rope_local_base_freq":null,"rope_parameters":{` +
			`"full_attention":{"rope_type":"linear","factor":8.0,"rope_theta":1000000},"sliding_attention":{"rope_type":"default","rope_theta":10000}}}`,
	} {
		a := all[name]
		_, st := session(t, changed(t, a, config).folder(t, nil), nacre.Options{Threads: 1})
		same(t, name, run(t, st, a.Prompt), a.Logits)
	}
}

// TestTokens gives a decoder tokens outside its vocabulary.
func TestTokens(t *testing.T) {
	_, st := session(t, answers(t)["llama"].folder(t, nil), nacre.Options{Threads: 1})
	for _, id := range []int64{29, -30} {
		in, err := nacre.NewTensor([]int64{1, id}, 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		_, err = st.Run(context.Background(), map[string]*nacre.Tensor{"input_ids": in})
		if !strings.Contains(fmt.Sprint(err), fmt.Sprint(id)) {
			t.Errorf("token %d: %v", id, err)
		}
	}
}

// TestPage checks that FORMATS.md lists every family.
func TestPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "FORMATS.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range huggingface.Families() {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("FORMATS.md does not have %s", name)
		}
	}
}
