package gptrs

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// tinyGPT returns a checkpoint of one layer with tensors of this element type.
func tinyGPT(d tensor.DType, runtime string) *graph.Model {
	m := &graph.Model{Format: Checkpoint.Name, File: "tiny", Graph: &graph.Graph{}, Meta: []graph.Pair{{Key: configKey, Value: `{"kind":"gpt","config":` +
		`{"vocab_size":3,"context_length":2,"embed_dim":4,"num_layers":1,"num_heads":2,"mlp_ratio":1,"dropout":0}` + runtime + `}`}}}
	add := func(name string, shape ...int) {
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: tensor.New(d, shape...)})
	}
	add("tok_embeddings.weight", 3, 4)
	add("pos_embeddings", 2, 4)
	add("lm_head", 4, 3)
	for _, norm := range []string{"final_ln", "blocks.0.ln_1", "blocks.0.ln_2"} {
		add(norm+".gamma", 4)
		add(norm+".beta", 4)
	}
	for _, part := range []struct {
		name, suffix string
		width        int
	}{{"attention", "qkv", 12}, {"attention", "out", 4}, {"feed_forward", "in", 4}, {"feed_forward", "out", 4}} {
		add("blocks.0."+part.name+".w_"+part.suffix, 4, part.width)
		add("blocks.0."+part.name+".b_"+part.suffix, part.width)
	}
	return m
}

// TestLowerTypes lowers networks with tensors of every element type.
func TestLowerTypes(t *testing.T) {
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
		m, err := Lower(tinyGPT(d, ""), container.Lowering{})
		if err != nil {
			t.Errorf("%v: %v", d, err)
			continue
		}
		if err := graph.Validate(m); err != nil {
			t.Errorf("%v: %v", d, err)
		}
	}
	_, err := Lower(tinyGPT(tensor.I32, ""), container.Lowering{})
	for _, word := range []string{"lm_head", "blocks.0.ln_1.gamma", "int32"} {
		if !errors.Is(err, UnsupportedDType) || !strings.Contains(err.Error(), word) {
			t.Errorf("int32: %v does not say %q", err, word)
		}
	}
}

// TestLowerMissing checks that the error names all missing tensors.
func TestLowerMissing(t *testing.T) {
	m := tinyGPT(tensor.F32, "")
	m.Graph.Initializers = m.Graph.Initializers[2:]
	_, err := Lower(m, container.Lowering{})
	for _, word := range []string{"tok_embeddings.weight", "pos_embeddings"} {
		if !errors.Is(err, MissingTensor) || !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not say %q", err, word)
		}
	}
}

// TestLowerNoColumns lowers heads without columns. A file may name any number of them.
func TestLowerNoColumns(t *testing.T) {
	m := tinyGPT(tensor.F32, "")
	m.Graph.Initializers = nil
	m.Meta[0].Value = `{"kind":"gpt","config":{"vocab_size":3,"context_length":2,"embed_dim":0,"num_layers":0,"num_heads":1152921504606846976,"mlp_ratio":1,"dropout":0}}`
	for _, name := range []string{"tok_embeddings.weight", "pos_embeddings", "lm_head"} {
		shape := map[string][]int{"tok_embeddings.weight": {3, 0}, "pos_embeddings": {2, 0}, "lm_head": {0, 3}}[name]
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: tensor.New(tensor.F32, shape...)})
	}
	for _, name := range []string{"final_ln.gamma", "final_ln.beta"} {
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: tensor.New(tensor.F32, 0)})
	}
	if _, err := Lower(m, container.Lowering{}); !errors.Is(err, BadConfig) || !strings.Contains(err.Error(), "1152921504606846976 heads") {
		t.Errorf("%v", err)
	}
}

// TestLowerExtra lowers a checkpoint with unused tensors, one with the name of an output.
func TestLowerExtra(t *testing.T) {
	m := tinyGPT(tensor.F32, "")
	for _, name := range []string{"logits", "beside"} {
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: tensor.New(tensor.I32, 1)})
	}
	n, err := Lower(m, container.Lowering{})
	if err == nil {
		err = graph.Validate(n)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(n.Graph.Initializers), len(m.Graph.Initializers)-1; got != want {
		t.Errorf("%d tensors, want %d", got, want)
	}
}

func TestRuntime(t *testing.T) {
	m := tinyGPT(tensor.F32, `,"runtime":{"functional_overrides":{"matmul":"force=fast","softmax":"benchmark"},`+
		`"weight_streaming":{"enabled":true,"device_budget_bytes":500,"device_weights_percent":0.25,"prefetch_layers":3}}`)
	r, err := RuntimeOf(m)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := Summary(t.Context(), &b, m); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"matmul", "force=fast", "softmax", "benchmark", "not used"} {
		if !strings.Contains(b.String(), word) || len(r.Unused()) != 2 {
			t.Errorf("%q does not say %q", b.String(), word)
		}
	}
	if s := r.Streaming; s == nil || s.Budget(1000) != 250 || s.Budget(10000) != 500 || s.PrefetchLayers != 3 {
		t.Errorf("streaming %+v", s)
	}
	if n := (&Streaming{}).Budget(math.MaxInt64); n != 0 {
		t.Errorf("a budget of %d without bounds", n)
	}
	if r, err := RuntimeOf(tinyGPT(tensor.F32, `,"runtime":{"weight_streaming":{"enabled":false}}`)); err != nil || r.Streaming != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestYarn compares angles with values computed by hand. Pairs below the first bound keep their
// angle. Pairs above the second turn slower by the factor.
func TestYarn(t *testing.T) {
	f := func(text string) fields {
		o, err := object([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	r := angles(f(`{"rope_scaling":{"kind":"yarn","factor":4,"original_max_position_embeddings":64,"beta_fast":8,"beta_slow":1}}`), 8, 100, 999)
	// 8 ln(64/(2 pi 8))/(2 ln 100) = 0.2098, and with 1 turn 2.0160: the ramp covers pairs 0 to 3.
	for j, want := range []float64{1, 0.31622776601683794 * (0.25/3 + 2.0/3), 0.1 * (0.5/3 + 1.0/3), 0.031622776601683791 / 4} {
		if got := r.Frequencies[j]; math.Abs(float64(got)-want) > 1e-7 {
			t.Errorf("pair %d turns by %g, want %g", j, got, want)
		}
	}
	if want := 0.1*math.Log(4) + 1; math.Abs(r.Magnitude-want) > 1e-12 {
		t.Errorf("magnitude %g, want %g", r.Magnitude, want)
	}
	if r := angles(f(`{"rope_scaling":{"kind":"yarn","factor":4,"mscale":0.5}}`), 8, 100, 64); r.Magnitude != 1 {
		t.Errorf("magnitude %g of equal scales", r.Magnitude)
	}
	r = angles(f(`{"rope_scaling":{"kind":"linear","factor":4}}`), 4, 100, 64)
	if r.Frequencies[0] != 0.25 || r.Frequencies[1] != 0.025 || r.Magnitude != 0 {
		t.Errorf("linear: %v", r)
	}
}

// TestLowerWide lowers a network whose heads have many columns, without weights for them.
func TestLowerWide(t *testing.T) {
	const columns = 1 << 36
	m := &graph.Model{Format: Checkpoint.Name, File: "wide", Graph: &graph.Graph{}, Meta: []graph.Pair{{Key: configKey, Value: fmt.Sprintf(
		`{"kind":"ministral","config":{"vocab_size":3,"context_length":4,"embed_dim":0,"num_layers":1,"num_heads":1,"num_kv_heads":1,`+
			`"head_dim":%d,"mlp_hidden_dim":2,"rotary_dim":%d,"rms_norm_eps":1e-5,"rope_theta":1e4}}`, columns, columns)}}}
	for name, shape := range map[string][]int{
		"tok_embeddings.weight": {3, 0}, "final_norm.gamma": {0}, "lm_head": {0, 3}, "blocks.0.norm_1.gamma": {0}, "blocks.0.norm_2.gamma": {0},
		"blocks.0.attention.w_qkv": {0, 3 * columns}, "blocks.0.attention.w_out": {columns, 0},
		"blocks.0.feed_forward.w_gate": {0, 2}, "blocks.0.feed_forward.w_up": {0, 2}, "blocks.0.feed_forward.w_down": {2, 0},
	} {
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: tensor.New(tensor.F32, shape...)})
	}
	if _, err := Lower(m, container.Lowering{}); !errors.Is(err, graph.ErrUnsupported) || !strings.Contains(err.Error(), "head_dim is 68719476736") {
		t.Error(err)
	}
}
