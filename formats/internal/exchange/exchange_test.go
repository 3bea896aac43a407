package exchange

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// small are the settings and the tensors of a file of an architecture.
type small struct {
	settings map[string]any
	shapes   map[string][]int
}

// llama returns a decoder of two layers with 2 heads of 8 columns, one of keys.
func llama() small { return wide(16) }

// wide returns llama for a number of columns between blocks.
func wide(n int) small {
	s := small{map[string]any{"context_length": 64, "embedding_length": n, "block_count": 2, "feed_forward_length": 6, "attention.head_count": 2,
		"attention.head_count_kv": 1, "attention.key_length": 8, "attention.layer_norm_rms_epsilon": 1e-5, "rope.dimension_count": 8, "rope.freq_base": 5000.0},
		map[string][]int{"token_embd.weight": {5, n}, "output_norm.weight": {n}, "output.weight": {5, n}}}
	for i := range 2 {
		p := fmt.Sprintf("blk.%d.", i)
		maps.Copy(s.shapes, map[string][]int{p + "attn_norm.weight": {n}, p + "attn_q.weight": {16, n}, p + "attn_k.weight": {8, n}, p + "attn_v.weight": {8, n},
			p + "attn_output.weight": {n, 16}, p + "ffn_norm.weight": {n}, p + "ffn_gate.weight": {6, n}, p + "ffn_up.weight": {6, n}, p + "ffn_down.weight": {n, 6}})
	}
	return s
}

// set changes settings; nil removes one.
func (s small) set(settings map[string]any) small {
	maps.Copy(s.settings, settings)
	maps.DeleteFunc(s.settings, func(_ string, v any) bool { return v == nil })
	return s
}

// layers changes tensors of every layer; nil removes one.
func (s small) layers(shapes map[string][]int) small {
	for i := range 2 {
		for name, shape := range shapes {
			s.shapes[fmt.Sprintf("blk.%d.%s", i, name)] = shape
		}
	}
	return s.whole(nil)
}

// whole changes tensors; nil removes one.
func (s small) whole(shapes map[string][]int) small {
	maps.Copy(s.shapes, shapes)
	maps.DeleteFunc(s.shapes, func(_ string, shape []int) bool { return shape == nil })
	return s
}

// norms returns the settings for norms that subtract the mean.
func norms(more map[string]any) map[string]any {
	list := map[string]any{"attention.layer_norm_rms_epsilon": nil, "attention.layer_norm_epsilon": 1e-5}
	maps.Copy(list, more)
	return list
}

var experts = map[string][]int{"ffn_gate.weight": nil, "ffn_up.weight": nil, "ffn_down.weight": nil, "ffn_gate_inp.weight": {3, 16}, "ffn_gate_exps.weight": {3, 4, 16},
	"ffn_up_exps.weight": {3, 4, 16}, "ffn_down_exps.weight": {3, 16, 4}}

var routing = map[string]any{"expert_count": 3, "expert_used_count": 2, "expert_feed_forward_length": 4}

var qkNorms = map[string][]int{"attn_q_norm.weight": {8}, "attn_k_norm.weight": {8}}

var biases = map[string][]int{"attn_q.bias": {16}, "attn_k.bias": {8}, "attn_v.bias": {8}}

var after = map[string][]int{"post_attention_norm.weight": {16}, "post_ffw_norm.weight": {16}}

// files are decoders by architecture; a name may have a number after it.
var files = map[string]small{
	"llama":      llama(),
	"llama 2":    llama().set(map[string]any{"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 16}).whole(map[string][]int{"output.weight": nil}),
	"llama 3":    llama().set(map[string]any{"expert_count": 3, "expert_used_count": 2, "feed_forward_length": 4}).layers(experts),
	"llama 4":    llama().layers(biases).layers(map[string][]int{"attn_output.bias": {16}}),
	"qwen2":      llama().layers(biases),
	"qwen3":      llama().layers(qkNorms),
	"qwen2moe":   llama().set(routing).set(map[string]any{"expert_shared_feed_forward_length": 2}).layers(biases).layers(experts).layers(map[string][]int{"ffn_gate_inp_shexp.weight": {16}, "ffn_gate_shexp.weight": {2, 16}, "ffn_up_shexp.weight": {2, 16}, "ffn_down_shexp.weight": {16, 2}}),
	"qwen3moe":   llama().set(routing).layers(qkNorms).layers(experts).whole(map[string][]int{"blk.0.ffn_gate_inp.weight": nil, "blk.0.ffn_gate_exps.weight": nil, "blk.0.ffn_up_exps.weight": nil, "blk.0.ffn_down_exps.weight": nil, "blk.0.ffn_gate.weight": {6, 16}, "blk.0.ffn_up.weight": {6, 16}, "blk.0.ffn_down.weight": {16, 6}}),
	"gemma":      llama().whole(map[string][]int{"output.weight": nil}),
	"gemma2":     llama().set(map[string]any{"attention.sliding_window": 4}).layers(after),
	"gemma3":     llama().set(map[string]any{"attention.sliding_window": 4, "rope.freq_base_swa": 1000.0}).layers(after).layers(qkNorms),
	"gemma3 2":   llama().layers(after).layers(qkNorms),
	"olmo2":      llama().layers(after).layers(map[string][]int{"attn_norm.weight": nil, "ffn_norm.weight": nil, "attn_q_norm.weight": {16}, "attn_k_norm.weight": {8}}),
	"olmo2 2":    llama().set(map[string]any{"attention.sliding_window": 4}).layers(after).layers(map[string][]int{"attn_norm.weight": nil, "ffn_norm.weight": nil, "attn_q_norm.weight": {16}, "attn_k_norm.weight": {8}}),
	"phi3":       llama().layers(map[string][]int{"attn_q.weight": nil, "attn_k.weight": nil, "attn_v.weight": nil, "attn_qkv.weight": {32, 16}, "ffn_gate.weight": nil, "ffn_up.weight": {12, 16}}),
	"smollm3":    llama(),
	"granite":    llama().set(map[string]any{"embedding_scale": 3.0, "residual_scale": 0.5, "attention.scale": 0.125, "logit_scale": 4.0}),
	"granitemoe": llama().set(map[string]any{"expert_count": 3, "expert_used_count": 2, "feed_forward_length": 4}).layers(experts),
	"starcoder2": llama().set(norms(nil)).layers(biases).whole(map[string][]int{"output_norm.bias": {16}}).layers(map[string][]int{"attn_norm.bias": {16}, "ffn_norm.bias": {16}, "attn_output.bias": {16}, "ffn_gate.weight": nil, "ffn_up.bias": {6}, "ffn_down.bias": {16}}),
	"stablelm":   llama().set(norms(map[string]any{"rope.dimension_count": 2, "use_parallel_residual": false})).whole(map[string][]int{"output_norm.bias": {16}}).layers(map[string][]int{"attn_norm.bias": {16}, "ffn_norm.bias": {16}}),
	"stablelm 2": llama().set(norms(map[string]any{"use_parallel_residual": true})).whole(map[string][]int{"output_norm.bias": {16}}).layers(map[string][]int{"attn_norm.bias": {16}, "ffn_norm.weight": nil, "attn_q_norm.weight": {2, 8}, "attn_k_norm.weight": {1, 8}}),
	"phi2":       llama().set(norms(map[string]any{"rope.dimension_count": 4})).layers(biases).whole(map[string][]int{"output_norm.bias": {16}, "output.bias": {5}}).layers(map[string][]int{"attn_norm.bias": {16}, "ffn_norm.weight": nil, "attn_output.bias": {16}, "ffn_gate.weight": nil, "ffn_up.bias": {6}, "ffn_down.bias": {16}}),
	"lfm2": llama().set(map[string]any{"attention.head_count_kv": []int32{1, 0}, "shortconv.l_cache": 3}).layers(qkNorms).whole(map[string][]int{"output_norm.weight": nil, "token_embd_norm.weight": {16}, "output.weight": nil,
		"blk.1.attn_q_norm.weight": nil, "blk.1.attn_k_norm.weight": nil, "blk.1.attn_q.weight": nil, "blk.1.attn_k.weight": nil, "blk.1.attn_v.weight": nil, "blk.1.attn_output.weight": nil,
		"blk.1.shortconv.conv.weight": {16, 3}, "blk.1.shortconv.in_proj.weight": {48, 16}, "blk.1.shortconv.out_proj.weight": {16, 16}}),
	"gpt-oss": llama().set(routing).set(map[string]any{"feed_forward_length": 4, "attention.sliding_window": 4, "rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 16}).layers(biases).layers(experts).layers(map[string][]int{"ffn_norm.weight": nil, "post_attention_norm.weight": {16}, "attn_sinks.weight": {2},
		"attn_output.bias": {16}, "ffn_gate_inp.bias": {3}, "ffn_gate_exps.bias": {3, 4}, "ffn_up_exps.bias": {3, 4}, "ffn_down_exps.bias": {3, 16}}),
	"bert": llama().set(norms(map[string]any{"attention.head_count_kv": nil, "attention.key_length": nil, "rope.dimension_count": nil, "rope.freq_base": nil, "attention.causal": false, "pooling_type": 2})).whole(map[string][]int{
		"output.weight": nil, "output_norm.weight": nil, "position_embd.weight": {64, 16}, "token_types.weight": {2, 16}, "token_embd_norm.weight": {16}, "token_embd_norm.bias": {16}}).layers(map[string][]int{
		"attn_norm.weight": nil, "ffn_norm.weight": nil, "ffn_gate.weight": nil, "attn_k.weight": {16, 16}, "attn_v.weight": {16, 16}, "attn_q.bias": {16}, "attn_k.bias": {16}, "attn_v.bias": {16}, "attn_output.bias": {16}, "ffn_up.bias": {6}, "ffn_down.bias": {16},
		"attn_output_norm.weight": {16}, "attn_output_norm.bias": {16}, "layer_output_norm.weight": {16}, "layer_output_norm.bias": {16}}),
	"falcon": llama().set(norms(map[string]any{"attention.key_length": nil})).whole(map[string][]int{"output_norm.bias": {16}}).layers(map[string][]int{"attn_norm.bias": {16}, "ffn_norm.weight": nil, "ffn_gate.weight": nil,
		"attn_q.weight": nil, "attn_k.weight": nil, "attn_v.weight": nil, "attn_qkv.weight": {32, 16}}),
	"falcon 2": llama().set(norms(map[string]any{"attention.key_length": nil, "attention.head_count": 8, "attention.head_count_kv": 2, "rope.dimension_count": 2})).whole(map[string][]int{"output_norm.bias": {16}}).layers(map[string][]int{"attn_norm.bias": {16}, "ffn_norm.weight": nil, "ffn_gate.weight": nil,
		"attn_norm_2.weight": {16}, "attn_norm_2.bias": {16}, "attn_q.weight": nil, "attn_k.weight": nil, "attn_v.weight": nil, "attn_qkv.weight": {24, 16}}),
	"gpt2": llama().set(norms(map[string]any{"attention.head_count_kv": nil, "attention.key_length": nil, "rope.dimension_count": nil, "rope.freq_base": nil})).whole(map[string][]int{"position_embd.weight": {64, 16}, "output_norm.bias": {16}}).layers(map[string][]int{"attn_norm.bias": {16}, "ffn_norm.bias": {16},
		"attn_q.weight": nil, "attn_k.weight": nil, "attn_v.weight": nil, "attn_qkv.weight": {48, 16}, "attn_qkv.bias": {48}, "attn_output.bias": {16}, "ffn_gate.weight": nil, "ffn_up.bias": {6}, "ffn_down.bias": {16}}),
}

// model returns the file of an architecture, with random numbers.
func (s small) model(architecture string) *graph.Model {
	r := rand.New(rand.NewPCG(1, 2))
	m := &graph.Model{Format: ggufFormat, File: "x", Graph: &graph.Graph{}, Meta: []graph.Pair{{Key: "general.architecture", Value: architecture}}}
	for _, key := range slices.Sorted(maps.Keys(s.settings)) {
		name := architecture + "." + key
		switch v := s.settings[key].(type) {
		case int:
			m.Meta = append(m.Meta, scalar(name, "u32", tensor.U32, uint32(v)))
		case float64:
			m.Meta = append(m.Meta, scalar(name, "f32", tensor.F32, float32(v)))
		case bool:
			m.Meta = append(m.Meta, scalar(name, "bool", tensor.Bool, v))
		case string:
			m.Meta = append(m.Meta, graph.Pair{Key: name, Kind: "string", Value: v})
		case []int32:
			t := tensor.New(tensor.I32, len(v))
			copy(tensor.View[int32](t), v)
			m.Meta = append(m.Meta, graph.Pair{Key: name, Kind: "array of i32", Data: t})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.shapes)) {
		t := tensor.New(tensor.F32, s.shapes[name]...)
		for i := range tensor.View[float32](t) {
			tensor.View[float32](t)[i] = float32(r.IntN(1 << 12))
		}
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: t})
	}
	return m
}

// TestThereAndBack translates a file of every architecture to a folder and back. Settings and
// tensors are the same.
func TestThereAndBack(t *testing.T) {
	met := map[string]bool{}
	for name, s := range files {
		architecture, _, _ := strings.Cut(name, " ")
		met[architecture] = true
		m := s.model(architecture)
		f, err := ToFolder(m, tensor.Invalid, container.Lowering{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := graph.Validate(f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		g, err := ToGGUF(f, container.Lowering{})
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, f.Meta[0].Value)
			continue
		}
		if len(g.Warnings) > 0 {
			t.Errorf("%s: %v", name, g.Warnings)
		}
		want := map[string]*graph.Pair{}
		for i := range g.Meta {
			want[g.Meta[i].Key] = &g.Meta[i]
		}
		for _, p := range m.Meta {
			q := want[p.Key]
			if q == nil || q.Value != p.Value || (q.Data == nil) != (p.Data == nil) || p.Data != nil && (q.Data.DType() != p.Data.DType() || !bytes.Equal(q.Data.Bytes(), p.Data.Bytes())) {
				t.Errorf("%s: %s is %+v, want %+v", name, p.Key, q, p)
			}
		}
		got := map[string]*tensor.Tensor{}
		for _, x := range g.Graph.Initializers {
			got[x.Name] = x.Tensor
		}
		if len(got) != len(m.Graph.Initializers) {
			t.Errorf("%s: %d tensors, want %d", name, len(got), len(m.Graph.Initializers))
		}
		for _, x := range m.Graph.Initializers {
			if y := got[x.Name]; y == nil || !y.Shape().Equal(x.Tensor.Shape()) || !bytes.Equal(y.Bytes(), x.Tensor.Bytes()) {
				t.Errorf("%s: %s is %v, want %v", name, x.Name, y, x.Tensor)
			}
		}
	}
	for _, architecture := range Architectures() {
		if !met[architecture] {
			t.Errorf("no file of %s", architecture)
		}
	}
}

// TestTurned writes out the order of rows.
func TestTurned(t *testing.T) {
	x := &exchange{sizes: sizes{heads: 2, headDim: 4}, take: func(int) error { return nil }}
	in := tensor.New(tensor.F32, 8)
	for i := range 8 {
		tensor.View[float32](in)[i] = float32(i)
	}
	out, err := queries.outward(x, in, weight)
	if err != nil || !slices.Equal(tensor.View[float32](out), []float32{0, 2, 1, 3, 4, 6, 5, 7}) {
		t.Errorf("%v, %v", tensor.View[float32](out), err)
	}
}

// TestGrouped writes out the order of rows.
func TestGrouped(t *testing.T) {
	x := &exchange{sizes: sizes{heads: 4, kvHeads: 2, headDim: 1}, take: func(int) error { return nil }}
	in := tensor.New(tensor.F32, 8)
	for i := range 8 {
		tensor.View[float32](in)[i] = float32(i)
	}
	out, err := grouped.outward(x, in, weight)
	if err != nil || !slices.Equal(tensor.View[float32](out), []float32{0, 1, 4, 6, 2, 3, 5, 7}) {
		t.Errorf("%v, %v", tensor.View[float32](out), err)
	}
}

// TestLlama3 finds the settings that divisors were made with.
func TestLlama3(t *testing.T) {
	for _, r := range []llama3{{8, 1, 4, 8192}, {32, 1, 4, 8192}, {16, 1, 8, 4096}, {4, 1, 4, 32}} {
		list := r.divisors(500000, 64)
		for i := range list {
			list[i] = float64(float32(list[i]))
		}
		if got, ok := settingsOf(list, 500000); !ok || !near(got.divisors(500000, 64), list) {
			t.Errorf("%+v, want %+v", got, r)
		}
	}
	if got, ok := settingsOf([]float64{1, 2, 3, 4, 5, 6, 7, 8}, 500000); ok {
		t.Errorf("%+v has these divisors: %v", got, got.divisors(500000, 8))
	}
}

// TestNarrowExperts gives a folder the experts of a file as pairs of codes and exponents.
func TestNarrowExperts(t *testing.T) {
	s := wide(64).set(routing).set(map[string]any{"feed_forward_length": 32, "expert_feed_forward_length": 32}).layers(biases).layers(experts)
	m := s.layers(map[string][]int{"ffn_norm.weight": nil, "post_attention_norm.weight": {64}, "attn_sinks.weight": {2}, "attn_output.bias": {64},
		"ffn_gate_inp.weight": {3, 64}, "ffn_gate_inp.bias": {3}, "ffn_gate_exps.weight": {3, 32, 64}, "ffn_gate_exps.bias": {3, 32}, "ffn_up_exps.weight": {3, 32, 64},
		"ffn_up_exps.bias": {3, 32}, "ffn_down_exps.weight": {3, 64, 32}, "ffn_down_exps.bias": {3, 64}}).model("gpt-oss")
	r := rand.New(rand.NewPCG(3, 4))
	for _, x := range m.Graph.Initializers {
		if !strings.HasSuffix(x.Name, "_exps.weight") {
			continue
		}
		x.Tensor = tensor.New(tensor.MXFP4, x.Tensor.Shape()...)
		for i := range x.Tensor.Bytes() {
			x.Tensor.Bytes()[i] = byte(r.Uint32())
		}
	}
	f, err := ToFolder(m, tensor.Invalid, container.Lowering{})
	if err != nil {
		t.Fatal(err)
	}
	f.Meta[0].Value = strings.Replace(f.Meta[0].Value, "{", `{"quantization_config":{"quant_method":"mxfp4"},`, 1)
	f.Graph.Initializers = slices.DeleteFunc(f.Graph.Initializers, func(x *graph.Initializer) bool {
		return strings.HasSuffix(x.Name, "_proj") && strings.Contains(x.Name, "experts")
	})
	of := map[string]*tensor.Tensor{}
	for _, x := range m.Graph.Initializers {
		of[x.Name] = x.Tensor
	}
	for i := range 2 {
		p, q := fmt.Sprintf("blk.%d.ffn_", i), fmt.Sprintf("model.layers.%d.mlp.experts.", i)
		gate, up, down := of[p+"gate_exps.weight"], of[p+"up_exps.weight"], of[p+"down_exps.weight"]
		codes, scales := tensor.New(tensor.U8, 3, 64, 2, 16), tensor.New(tensor.U8, 3, 64, 2)
		for b := range scales.Len() { // rows of gate and up in turn
			from, row := gate, b/2
			if row%2 == 1 {
				from = up
			}
			unpair(codes, scales, b, from.Bytes()[(row/2*2+b%2)*17:])
		}
		add := func(name string, t *tensor.Tensor) {
			f.Graph.Initializers = append(f.Graph.Initializers, &graph.Initializer{Name: q + name, Tensor: t})
		}
		add("gate_up_proj_blocks", codes)
		add("gate_up_proj_scales", scales)
		codes, scales = tensor.New(tensor.U8, 3, 64, 1, 16), tensor.New(tensor.U8, 3, 64, 1)
		for b := range scales.Len() {
			unpair(codes, scales, b, down.Bytes()[b*17:])
		}
		add("down_proj_blocks", codes)
		add("down_proj_scales", scales)
	}
	g, err := ToGGUF(f, container.Lowering{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, x := range g.Graph.Initializers {
		if want := of[x.Name]; strings.HasSuffix(x.Name, "_exps.weight") {
			if n++; x.Tensor.DType() != tensor.MXFP4 || !x.Tensor.Shape().Equal(want.Shape()) || !bytes.Equal(x.Tensor.Bytes(), want.Bytes()) {
				t.Errorf("%s is %v, want %v", x.Name, x.Tensor, want)
			}
		}
	}
	if n != 6 {
		t.Errorf("%d tensors of experts", n)
	}
	f.Graph.Initializers = f.Graph.Initializers[:len(f.Graph.Initializers)-1]
	if _, err := ToGGUF(f, container.Lowering{}); err == nil || !strings.Contains(err.Error(), "down_proj_scales") {
		t.Error(err)
	}
}

// unpair writes a block as a folder has it: code k of 32 in the half k%2 of byte k/2.
func unpair(codes, scales *tensor.Tensor, at int, block []byte) {
	scales.Bytes()[at] = block[0]
	for k := range 32 {
		code := block[1+k%16] >> (k / 16 * 4) & 15
		codes.Bytes()[at*16+k/2] |= code << (k % 2 * 4)
	}
}
