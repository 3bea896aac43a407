package quantize_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/loom"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/quantize"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// networkOf returns a network of Loom, with nodes.
func networkOf(t *testing.T, m *graph.Model) *graph.Model {
	t.Helper()
	c := *m
	c.Closer = nil
	model, err := nacre.NewModel(&c)
	if err != nil {
		t.Fatal(err)
	}
	n, err := model.Network()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// example returns the input of a sample: floats, or tokens of a bundle.
func example(t *testing.T, path string, n *graph.Model) quantize.Runs {
	t.Helper()
	var io struct {
		Input struct {
			Shape []int
			Data  []float32
		}
		Tokens []int64
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &io)
	}
	x := tensor.New(tensor.I64, 1, len(io.Tokens))
	copy(tensor.View[int64](x), io.Tokens)
	if io.Tokens == nil && err == nil {
		x, err = tensor.From(io.Input.Data, io.Input.Shape...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(map[string]*nacre.Tensor, error) bool) {
		yield(map[string]*nacre.Tensor{n.Graph.Inputs[0].Name: given(t, x)}, nil)
	}
}

// TestStores writes ENTITY files, reads them, and compares their results with the results of their
// weights as floats, and with the original's.
func TestStores(t *testing.T) {
	folder := testenv.Samples(t, "fixtures", "loom")
	for _, c := range []struct {
		file, to string
		changed  int
		most     float64 // error of results
	}{
		{"net/dense_float32", "int8", 1, 0.01}, {"net/dense_float32", "i4", 1, 0.2}, {"net/dense_float32", "i2", 1, 0.9},
		{"net/dense_float32", "t2", 1, 0.9}, {"net/dense_float32", "t1", 1, 0.9}, {"net/dense_wide_float32", "i8", 1, 0.02},
		{"net/cnn2_float32", "i8", 1, 0.01}, {"net/lstm_float32", "i8", 1, 0.02}, {"net/mha_float32", "i8", 1, 0.02},
		{"net/swiglu_float32", "int4", 1, 0.3}, {"net/sequential_float32", "i8", 2, 0.02}, {"net/parallel_float32", "i8", 2, 0.02},
		{"net/embedding_float32", "i8", 1, 0.01}, {"net/layernorm_float32", "i8", 0, 0}, {"net/kmeans_float32", "i8", 0, 0},
		{"transformer/fp32_tied", "i8", 4, 0.05}, {"transformer/fp32_untied_bias", "int8", 4, 0.05}, {"transformer/fp32_tied", "q4", 14, 0.3},
	} {
		m, err := formats.Load(filepath.Join(folder, c.file+".entity"))
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		made, report, err := quantize.Model(t.Context(), m, quantize.Options{Type: typeOf(t, c.to), Format: loom.EntityName})
		if err != nil {
			t.Errorf("%s as %s: %v", c.file, c.to, err)
			continue
		}
		changed := 0
		for _, l := range report.Layers {
			if l.From != l.To {
				changed++
			} else if l.Note == "" {
				t.Errorf("%s as %s: %s stays without a note", c.file, c.to, l.Name)
			}
		}
		if changed != c.changed {
			t.Errorf("%s as %s: %d weights changed, want %d", c.file, c.to, changed, c.changed)
		}
		path := filepath.Join(t.TempDir(), "out.entity")
		if err := formats.SaveAs(path, loom.EntityName, made, formats.Options{}); err != nil {
			t.Errorf("%s as %s: %v", c.file, c.to, err)
			continue
		}
		read, err := formats.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		defer read.Close()
		floats, err := loom.Dequantize(t.Context(), read)
		if err != nil {
			t.Fatal(err)
		}
		network := networkOf(t, read)
		for what, other := range map[string]struct {
			m    *graph.Model
			most float64
		}{"its floats": {floats, 1e-5}, "the result before the file": {made, 0}, "the original": {m, c.most}} {
			n := networkOf(t, other.m)
			d, err := quantize.Compare(t.Context(), n, network, example(t, filepath.Join(folder, c.file+".io.json"), n), nacre.Options{Threads: 1})
			if err != nil {
				t.Errorf("%s as %s: %s: %v", c.file, c.to, what, err)
			} else if !(d.Error <= other.most) {
				t.Errorf("%s as %s: error %g to %s, want at most %g", c.file, c.to, d.Error, what, other.most)
			}
		}
	}
}

// TestStoresRefused says which types an ENTITY file does not hold.
func TestStoresRefused(t *testing.T) {
	folder := testenv.Samples(t, "fixtures", "loom")
	rule := []quantize.Rule{{Pattern: regexp.MustCompile("0"), Type: quantize.Keep}}
	for _, c := range []struct {
		file string
		o    quantize.Options
		want string
	}{
		{"net/dense_float32.entity", quantize.Options{Type: typeOf(t, "q6_k")}, "it holds q4_0, i2, i4, i8, t1, t2"},
		{"net/dense_float32.entity", quantize.Options{Type: typeOf(t, "i1")}, "no weights of i1"},
		{"net/dense_float32.entity", quantize.Options{Type: typeOf(t, "q4")}, "only transformer bundles"},
		{"net/dense_int8.entity", quantize.Options{Type: typeOf(t, "i4")}, "quantised already, as int8"},
		{"transformer/fp32_tied.entity", quantize.Options{Type: typeOf(t, "i4")}, "take q4"},
		{"transformer/fp32_tied.entity", quantize.Options{Type: typeOf(t, "t2")}, "models of BitNet"},
		{"transformer/fp32_tied.entity", quantize.Options{Type: typeOf(t, "i8"), Layers: rule}, "one type for all its layers"},
		{"transformer/fp32_untied_bias.entity", quantize.Options{Type: typeOf(t, "q4")}, "biases of attention"},
		{"transformer/int4_q4_0.entity", quantize.Options{Type: typeOf(t, "q4")}, "no store of floats"},
		{"safetensors/dtypes.safetensors", quantize.Options{Type: typeOf(t, "i8")}, "has no network of layers"},
	} {
		m, err := formats.Load(filepath.Join(folder, c.file))
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		c.o.Format = loom.EntityName
		if _, _, err := quantize.Model(t.Context(), m, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s as %s: %v, want %q", c.file, c.o.Type, err, c.want)
		}
	}
}
