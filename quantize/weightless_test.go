package quantize_test

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/gguf"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/quantize"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// listed returns a network whose initializers of these names are inputs too.
func listed(t *testing.T, ir int64, names ...string) *graph.Model {
	t.Helper()
	m := network(t, tensor.F32, 21)
	m.IR = ir
	for _, x := range m.Graph.Initializers {
		if slices.Contains(names, x.Name) {
			m.Graph.Inputs = append(m.Graph.Inputs, &graph.Value{Name: x.Name, Type: graph.TensorOf(x.Tensor.DType(), graph.DimsOf(x.Tensor.Shape()))})
		}
	}
	return m
}

// TestListedWeights quantises models whose weights are inputs too. Before version 4 of ONNX they are
// constants all the same.
func TestListedWeights(t *testing.T) {
	all := []string{"A", "B", "bias", "E"}
	o := quantize.Options{Type: typeOf(t, "q8")}
	made, report, err := quantize.Model(t.Context(), listed(t, 3, all...), o)
	testenv.Need(t, err)
	want, same, err := quantize.Model(t.Context(), network(t, tensor.F32, 21), o)
	testenv.Need(t, err)
	if made.IR < 4 || len(made.Graph.Inputs) != 2 || len(report.Layers) != len(same.Layers) || len(report.Warnings) > 0 {
		t.Errorf("version %d, %d inputs, %+v", made.IR, len(made.Graph.Inputs), report)
	}
	got, results := outputs(t, made, tensor.F32), outputs(t, want, tensor.F32)
	for name, list := range results {
		if !slices.EqualFunc(list, got[name], func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }) {
			t.Errorf("output %s differs", name)
		}
	}
	_, report, err = quantize.Model(t.Context(), listed(t, 8, "A"), o)
	testenv.Need(t, err)
	if len(report.Warnings) != 1 || !strings.Contains(report.Warnings[0], `inputs too stay as they are: ["A"]`) {
		t.Errorf("warnings %q", report.Warnings)
	}
	_, _, err = quantize.Model(t.Context(), listed(t, 8, all...), o)
	for _, word := range []string{"are inputs too", `["A" "B" "E"]`, "remove_initializer_from_input"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v, want a message with %q", err, word)
		}
	}
}

// TestQuantisedNodes quantises a model twice.
func TestQuantisedNodes(t *testing.T) {
	for to, codes := range map[string]string{"q4": "1 of GatherBlockQuantized, 3 of MatMulNBits", "int8": "3 of DequantizeLinear"} {
		made, _, err := quantize.Model(t.Context(), network(t, tensor.F32, 21), quantize.Options{Type: typeOf(t, to)})
		testenv.Need(t, err)
		_, _, err = quantize.Model(t.Context(), made, quantize.Options{Type: typeOf(t, "q8")})
		if err == nil || !strings.Contains(err.Error(), "is quantised already: its nodes read codes ("+codes) {
			t.Errorf("%s: %v", to, err)
		}
	}
}

// TestKeptRows quantises weights with rows that are no blocks. The report says why they stay.
func TestKeptRows(t *testing.T) {
	m := &graph.Model{Format: gguf.Name, Graph: &graph.Graph{Initializers: []*graph.Initializer{
		{Name: "blk.0.attn_k.weight", Tensor: random(t, tensor.F32, 4, 20)}, {Name: "blk.0.attn_q.weight", Tensor: random(t, tensor.F32, 4, 32)},
	}}}
	_, report, err := quantize.Model(t.Context(), m, quantize.Options{Type: typeOf(t, "q4_0")})
	testenv.Need(t, err)
	if got := report.Layers[0]; got.To != "float32" || got.Note != "rows of 20 elements are no multiple of the 32 of a block of q4_0, and stay" {
		t.Errorf("%+v", got)
	}
	if got := report.Layers[1]; got.To != "q4_0" || got.Note != "" {
		t.Errorf("%+v", got)
	}
}

// TestSourceNames quantises a model that a folder of Hugging Face became. Reports and rules have the
// names of the folder.
func TestSourceNames(t *testing.T) {
	folder, err := formats.ToFolder(sample(t, "llama.F32.gguf"), formats.Options{})
	testenv.Need(t, err)
	m, err := formats.ToGGUF(folder)
	testenv.Need(t, err)
	_, report, err := quantize.Model(t.Context(), m, quantize.Options{Type: typeOf(t, "q8_0"),
		Layers: []quantize.Rule{{Pattern: regexp.MustCompile(`layers\.0\.self_attn\.k_proj`), Type: quantize.Keep}}})
	testenv.Need(t, err)
	kept := 0
	for _, l := range report.Layers {
		if !strings.HasPrefix(l.Source, "model.") && l.Source != "lm_head.weight" || l.Source == l.Name {
			t.Errorf("%s is named %q", l.Name, l.Source)
		}
		if l.Note == "kept by a rule" {
			kept++
			if l.Name != "blk.0.attn_k.weight" || l.Source != "model.layers.0.self_attn.k_proj.weight" {
				t.Errorf("%+v", l)
			}
		}
	}
	if kept != 1 {
		t.Errorf("%d weights are kept", kept)
	}
}
