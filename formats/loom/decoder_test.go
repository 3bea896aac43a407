package loom

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestImportSamples(t *testing.T) {
	samples(t, "hf_import", func(t *testing.T, dir string, s sample) {
		var paths []string
		for key, name := range s.Files {
			if strings.HasPrefix(key, "safetensors_") {
				paths = append(paths, filepath.Join(dir, name))
			}
		}
		tensors := safetensors(t, paths...)
		config := load(t, filepath.Join(dir, s.Files["config"]))
		for key, name := range s.Files {
			lane, word, _ := strings.Cut(key, "_")
			d, ok := ParseDType(word)
			if lane != "entity" && lane != "blockwise" || !ok {
				continue
			}
			data := load(t, filepath.Join(dir, name))
			n, unknown, err := Import(config, tensors, d)
			if err != nil {
				t.Fatal(err)
			}
			t.Log("left out:", unknown)
			if d == Float32 {
				for _, l := range n.Layers { // Loom omits the norms of queries and keys here
					l.Extra = nil
				}
			}
			want, err := ReadEntity(nil, name, data)
			if err != nil {
				t.Fatal(err)
			}
			if got := asEntity(t, want); !bytes.Equal(got, data) {
				t.Errorf("%s is written in another way", name)
			}
			m := model(t, n)
			if lane == "entity" && d != Ternary {
				if got := asEntity(t, m); !bytes.Equal(got, data) {
					t.Errorf("%s: imported as\n%q, not\n%q", name, got, data)
				}
			}
			sameTensors(t, m, want)
		}
	})
}

// sameTensors compares the tensors of two models, in any order.
func sameTensors(t *testing.T, got, want *graph.Model) {
	t.Helper()
	byName := func(m *graph.Model) []*graph.Initializer {
		return slices.SortedFunc(slices.Values(m.Graph.Initializers), func(a, b *graph.Initializer) int { return strings.Compare(a.Name, b.Name) })
	}
	a, b := byName(got), byName(want)
	if len(a) != len(b) {
		t.Fatalf("%d tensors, not %d", len(a), len(b))
	}
	for i, x := range a {
		y := b[i]
		if x.Name != y.Name || x.Stored.DType != y.Stored.DType || x.Tensor.String() != y.Tensor.String() || !bytes.Equal(x.Tensor.Bytes(), y.Tensor.Bytes()) {
			t.Errorf("%s %s %v, not %s %s %v", x.Name, x.Stored.DType, x.Tensor, y.Name, y.Stored.DType, y.Tensor)
		}
		if len(x.Meta) != len(y.Meta) {
			t.Errorf("%s: %v, not %v", x.Name, x.Meta, y.Meta)
		}
	}
}

const smallConfig = `{"model_type":"llama","hidden_size":4,"intermediate_size":8,"num_attention_heads":2}`

// tiny returns the tensors of a one-block decoder, with some shapes changed.
func tiny(t *testing.T, change map[string][]int) *graph.Model {
	t.Helper()
	m := &graph.Model{Graph: &graph.Graph{}}
	shapes := map[string][]int{
		"model.embed_tokens.weight": {3, 4}, "model.layers.0.input_layernorm.weight": {4}, "model.layers.0.post_attention_layernorm.weight": {4},
		"model.layers.0.self_attn.q_proj.weight": {4, 4}, "model.layers.0.self_attn.k_proj.weight": {4, 4}, "model.layers.0.self_attn.v_proj.weight": {4, 4},
		"model.layers.0.self_attn.o_proj.weight": {4, 4}, "model.layers.0.mlp.gate_proj.weight": {8, 4}, "model.layers.0.mlp.up_proj.weight": {8, 4},
		"model.layers.0.mlp.down_proj.weight": {4, 8},
	}
	for name, shape := range change {
		if shapes[name] = shape; shape == nil {
			delete(shapes, name)
		}
	}
	for name, shape := range shapes {
		x := tensor.New(tensor.F32, shape...)
		w, _ := tensor.Data[float32](x)
		for i := range w {
			w[i] = float32(i%5) - 2
		}
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: x})
	}
	return m
}

// packedTiny is tiny with matrices packed as in BitNet.
func packedTiny(t *testing.T) *graph.Model {
	t.Helper()
	m := tiny(t, map[string][]int{"model.layers.0.self_attn.attn_sub_norm.weight": {4}, "model.layers.0.mlp.ffn_sub_norm.weight": {8}})
	for _, init := range m.Graph.Initializers {
		if s := init.Tensor.Shape(); strings.Contains(init.Name, "_proj") {
			init.Tensor = tensor.New(tensor.U8, s[0]/4, s[1])
			for i, b := range init.Tensor.Bytes() {
				init.Tensor.Bytes()[i] = b + byte(i*37)
			}
		}
	}
	return m
}

func TestImport(t *testing.T) {
	bitnet, _, err := Import([]byte(smallConfig), packedTiny(t), Ternary)
	if err != nil {
		t.Fatal(err)
	}
	first := asEntity(t, model(t, bitnet))
	if m, err := ReadEntity(nil, "x", first); err != nil || !bytes.Equal(asEntity(t, m), first) || len(m.Graph.Initializers) != 12 {
		t.Errorf("ternary: %v", err)
	}
	plain, _, err := Import([]byte(smallConfig), packedTiny(t), Float32)
	if err != nil {
		t.Fatal(err)
	}
	// The first weights of gate, [8,4], are the lowest two bits of each byte.
	w, _ := plain.Layers[3].Weights.Float32()
	for i := range 8 {
		want := float32(i*37&3) - 1
		if want == 2 {
			want = 0
		}
		if w[i] != want {
			t.Errorf("weight %d is %g, not %g", i, w[i], want)
		}
	}
	for _, d := range DTypes() {
		if d == Float64 || d == Ternary {
			continue
		}
		n, unknown, err := Import([]byte(smallConfig), tiny(t, map[string][]int{"model.layers.0.self_attn.rotary_emb.inv_freq": {1}, "vision.weight": {1}}), d)
		if err != nil || len(unknown) != 2 || n.WeightDType() != d {
			t.Fatal(d, err, unknown)
		}
		first := asEntity(t, model(t, n))
		m, err := ReadEntity(nil, "x", first)
		if err != nil || !bytes.Equal(asEntity(t, m), first) {
			t.Errorf("%v: %v", d, err)
		}
	}
	biased, _, err := Import([]byte(smallConfig), tiny(t, map[string][]int{"model.layers.0.self_attn.k_proj.bias": {4}}), Float32)
	if err != nil {
		t.Fatal(err)
	}
	w, _ = biased.Layers[1].Weights.Float32()
	if at := 4*16 + 4; w[at] != -2 || w[at+1] != -1 || w[at-1] != 0 || w[0] != -2 || w[16] != -2 {
		t.Errorf("the bias of keys is not in its place: %v", w)
	}
	cases := []struct {
		name, config string
		change       map[string][]int
		d            DType
		want         string
	}{
		{"float64", smallConfig, nil, Float64, "cannot be of float64"},
		{"no JSON", "{", nil, Float32, "config.json"},
		{"another kind", `{"model_type":"vit"}`, nil, Float32, "not of a decoder"},
		{"no heads", `{"model_type":"phi3","hidden_size":4,"intermediate_size":8}`, nil, Float32, "num_attention_heads"},
		{"many layers", strings.Replace(smallConfig, "{", `{"num_hidden_layers":1000000000,`, 1), nil, Float32, "says 1000000000 layers"},
		{"odd groups", strings.Replace(smallConfig, "{", `{"num_key_value_heads":3,`, 1), nil, Float32, "cannot share"},
		{"no embeddings", smallConfig, map[string][]int{"model.embed_tokens.weight": nil}, Float32, "no embeddings"},
		{"no matrix", smallConfig, map[string][]int{"model.layers.0.mlp.up_proj.weight": nil}, Float32, "no mlp.up"},
		{"no norm", smallConfig, map[string][]int{"model.layers.0.input_layernorm.weight": nil}, Float32, "no norm1"},
		{"two of a kind", smallConfig, map[string][]int{"model.layers.0.self_attn.q_proj.other": {4, 4}}, Float32, "so is another tensor"},
		{"another shape", smallConfig, map[string][]int{"model.layers.0.mlp.up_proj.weight": {4, 8}}, Float32, "mlp.up is [4,8], not [8,4]"},
		{"biases in Q4_0", smallConfig, map[string][]int{"model.layers.0.self_attn.k_proj.bias": {4}}, Int4, "no place for the biases"},
		{"ternary of floats", smallConfig, nil, Ternary, "not packed in two bits"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := Import([]byte(c.config), tiny(t, c.change), c.d); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
