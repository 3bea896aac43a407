package quantize_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/quantize"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sample opens a model of the samples.
func sample(t *testing.T, name string) *graph.Model {
	t.Helper()
	m, err := formats.Load(filepath.Join(testenv.Samples(t, "fixtures", "gguf"), name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// TestMixes compares the types of weights with those that llama.cpp gave them.
func TestMixes(t *testing.T) {
	for _, c := range []struct{ file, to string }{{"llama_wide.Q4_K_M.gguf", "q4_k_m"}, {"llama_wide.Q4_K_M.gguf", "q4_k"}, {"llama.Q8_0.gguf", "q8_0"}, {"qwen3_wide.IQ3_XXS.gguf", "iq3_xxs"}} {
		made, report, err := quantize.Model(context.Background(), floats(t, sample(t, c.file)), quantize.Options{Type: typeOf(t, c.to), Importance: &quantize.Importance{}})
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range sample(t, c.file).Graph.Initializers {
			if got := made.Graph.Initializers[i].Tensor.DType(); got != x.Tensor.DType() {
				t.Errorf("%s: %s became %v, and llama.cpp made %v of it", c.to, x.Name, got, x.Tensor.DType())
			}
		}
		if report.Error < 0 || report.Error > 0.1 || report.Bytes >= report.Before {
			t.Errorf("%s: error %g, %d bytes of %d", c.to, report.Error, report.Bytes, report.Before)
		}
	}
}

// floats returns the model with floats in place of blocks.
func floats(t *testing.T, m *graph.Model) *graph.Model {
	t.Helper()
	var b bytes.Buffer
	path := filepath.Join(t.TempDir(), "floats.gguf")
	if err := formats.Save(path, m, formats.Options{Dequantize: true}); err != nil {
		t.Fatal(err, b.String())
	}
	f, err := formats.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestFiles writes quantised models of each format of tensors, and reads them again. The error of
// the weights in the file is the report's error.
func TestFiles(t *testing.T) {
	all := floats(t, sample(t, "llama_wide.Q4_K_M.gguf"))
	small, g := *all, *all.Graph
	source := &small
	source.Graph, source.Closer = &g, nil
	g.Initializers = slices.DeleteFunc(slices.Clone(g.Initializers), func(x *graph.Initializer) bool {
		return !strings.Contains(x.Name, "blk.0.attn_k") && !strings.Contains(x.Name, "blk.0.attn_output")
	})
	for _, x := range quantize.Types {
		for _, format := range []string{"gguf", "oinf"} {
			o := quantize.Options{Type: x, Format: format, Pure: true, Threads: 2}
			made, report, err := quantize.Model(context.Background(), source, o)
			if err != nil {
				if strings.Contains(err.Error(), "holds no weights") {
					continue
				}
				t.Fatal(x, err)
			}
			path := filepath.Join(t.TempDir(), "out."+format)
			if err := formats.Save(path, made, formats.Options{DropMeta: format == "oinf", DropGraph: true}); err != nil {
				t.Fatal(x, err)
			}
			if problems := formats.Verify(path); problems != nil {
				t.Error(x, problems)
			}
			m, err := formats.Load(path)
			if err != nil {
				t.Fatal(x, err)
			}
			same := slices.EqualFunc(m.Graph.Initializers, made.Graph.Initializers, func(a, b *graph.Initializer) bool {
				return a.Name == b.Name && a.Tensor.DType() == b.Tensor.DType() && bytes.Equal(a.Tensor.Bytes(), b.Tensor.Bytes())
			})
			if !same && format == "gguf" {
				t.Errorf("%v: tensors are other ones in the file", x)
			}
			if (report.Bytes >= report.Before || report.Error < 0) && x != quantize.Keep { // the weights were blocks: 0 is right for their type
				t.Errorf("%v: error %g, %d bytes of %d", x, report.Error, report.Bytes, report.Before)
			}
			if e := distance(t, m, source); math.Abs(e-report.Error) > 1e-3*report.Error {
				t.Errorf("%v: error %g in the file, the report says %g", x, e, report.Error)
			}
			m.Close()
		}
	}
}

// distance returns the relative error of the tensors with two axes of a model.
func distance(t *testing.T, m, source *graph.Model) float64 {
	t.Helper()
	m = floats(t, m)
	var lost, power float64
	for _, y := range source.Graph.Initializers {
		i := slices.IndexFunc(m.Graph.Initializers, func(x *graph.Initializer) bool { return x.Name == y.Name })
		x := m.Graph.Initializers[i]
		if len(y.Tensor.Shape()) != 2 {
			continue
		}
		a, b := tensor.Numbers(x.Tensor), tensor.Numbers(y.Tensor)
		for k := range y.Tensor.Len() {
			lost += (a(k) - b(k)) * (a(k) - b(k))
			power += b(k) * b(k)
		}
	}
	if power == 0 {
		return 0
	}
	return math.Sqrt(lost / power)
}

// TestRequantize refuses weights that are quantised, unless it is allowed.
func TestRequantize(t *testing.T) {
	m := sample(t, "llama_wide.Q4_K_M.gguf")
	o := quantize.Options{Type: typeOf(t, "q6_k")}
	_, _, err := quantize.Model(context.Background(), m, o)
	for _, word := range []string{"token_embd.weight", "q4_k", "--allow-requantize"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v, want a message with %q", err, word)
		}
	}
	o.Requantize = true
	if _, _, err = quantize.Model(context.Background(), m, o); err != nil {
		t.Error(err)
	}
}

// TestDeterministic quantises on one goroutine and on several.
func TestDeterministic(t *testing.T) {
	source := floats(t, sample(t, "llama_wide.Q4_K_M.gguf"))
	var want *graph.Model
	for _, threads := range []int{1, 3, 8} {
		made, _, err := quantize.Model(context.Background(), source, quantize.Options{Type: typeOf(t, "q4_k"), Threads: threads})
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = made
			continue
		}
		for i, x := range want.Graph.Initializers {
			if !bytes.Equal(x.Tensor.Bytes(), made.Graph.Initializers[i].Tensor.Bytes()) {
				t.Errorf("%s differs on %d goroutines", x.Name, threads)
			}
		}
	}
}

// TestImportance reads both forms of files of importance, and quantises with them.
func TestImportance(t *testing.T) {
	dir := testenv.Samples(t, "fixtures", "gguf")
	var first *quantize.Importance
	for _, name := range []string{"imatrix.a.gguf", "imatrix.a.dat"} {
		p, err := quantize.ReadImportance(context.Background(), filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]float32{"blk.0.attn_q.weight": 1.412815, "blk.0.ffn_down.weight": 1.220895, "blk.1.ffn_gate_exps.weight": 0.431399}
		if len(p.Columns) != len(want) {
			t.Errorf("%s: %d weights", name, len(p.Columns))
		}
		for w, v := range want {
			if list := p.Columns[w]; len(list) == 0 || list[0] < v*0.99999 || list[0] > v*1.00001 {
				t.Errorf("%s: importance of %s is %v, want %v first", name, w, list, v)
			}
		}
		if len(p.Datasets) != 1 || p.Datasets[0] != "calibration.txt" || p.Chunks != 5 {
			t.Errorf("%s: data %q, %d chunks", name, p.Datasets, p.Chunks)
		}
		first = p
	}
	x := &graph.Initializer{Name: "blk.0.attn_q.weight", Tensor: random(t, tensor.F32, 32, 64)}
	m := &graph.Model{Format: "gguf", Graph: &graph.Graph{Initializers: []*graph.Initializer{x}}}
	o := quantize.Options{Type: typeOf(t, "q4_0"), Pure: true, Importance: first}
	_, weighed, err := quantize.Model(context.Background(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Importance = nil
	_, plain, err := quantize.Model(context.Background(), m, o)
	if err != nil || weighed.Error >= plain.Error {
		t.Errorf("error %g with importance and %g without, %v", weighed.Error, plain.Error, err)
	}
	o.Importance = &quantize.Importance{Columns: map[string][]float32{x.Name: make([]float32, 5)}}
	if _, _, err := quantize.Model(context.Background(), m, o); err == nil || !strings.Contains(err.Error(), "another model") {
		t.Errorf("importance of another model: %v", err)
	}
}

// columnsOf returns the numbers of importance, none of nil.
func columnsOf(p *quantize.Importance) map[string][]float32 {
	if p == nil {
		return nil
	}
	return p.Columns
}

// TestBrokenImportance reads files of importance that are cut short or have changed bytes.
func TestBrokenImportance(t *testing.T) {
	for _, name := range []string{"imatrix.a.dat", "imatrix.a.gguf"} {
		data, err := os.ReadFile(filepath.Join(testenv.Samples(t, "fixtures", "gguf"), name))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), name)
		accepted := 0
		read := func(data []byte) {
			if err := os.WriteFile(path, data, 0o666); err != nil {
				t.Fatal(err)
			}
			p, err := quantize.ReadImportance(context.Background(), path)
			if err == nil {
				accepted++
			}
			for _, list := range columnsOf(p) {
				for _, v := range list {
					if err == nil && !(v >= 0) {
						t.Fatalf("importance of %v", v)
					}
				}
			}
		}
		for n := 0; n < len(data); n += 1 + n/100 {
			read(data[:n])
		}
		if accepted > 1 {
			t.Errorf("%s: %d files that are cut short were read", name, accepted)
		}
		for i := 0; i < len(data); i += 1 + i/50 {
			changed := bytes.Clone(data)
			changed[i] ^= 0xff
			read(changed)
		}
	}
}
