package quantize_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/internal/mapped"
	"github.com/nacre-ml/nacre/quantize"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// closed counts calls of Close.
type closed int

func (c *closed) Close() error { *c++; return nil }

// TestScratch keeps results in files, and compares what is written with results from memory.
func TestScratch(t *testing.T) {
	table := func() *graph.Model {
		g := &graph.Graph{Initializers: []*graph.Initializer{
			{Name: "blk.0.ffn_up.weight", Tensor: random(t, tensor.F32, 512, 512)},
			{Name: "blk.0.ffn_down.weight", Tensor: random(t, tensor.F32, 32, 256)},
		}}
		return &graph.Model{Format: "gguf", Graph: g}
	}
	product := func() *graph.Model {
		wide := graph.TensorOf(tensor.F32, graph.Dims{graph.Known(1), graph.Known(512)})
		return &graph.Model{Format: "onnx", IR: 10, Opsets: []graph.Opset{{Version: 21}}, Graph: &graph.Graph{
			Name: "g", Inputs: []*graph.Value{{Name: "x", Type: wide}}, Outputs: []*graph.Value{{Name: "y", Type: wide}},
			Initializers: []*graph.Initializer{{Name: "W", Tensor: random(t, tensor.F32, 512, 512)}},
			Nodes:        []*graph.Node{{Name: "n", Op: "MatMul", Version: 21, Inputs: []string{"x", "W"}, Outputs: []string{"y"}}}}}
	}
	for _, c := range []struct {
		format, to string
		model      func() *graph.Model
		external   int
	}{
		{"gguf", "q8_0", table, 0}, {"oinf", "i8", table, 0}, {"onnx", "q8", product, 0}, {"onnx", "q4", product, 1 << 12},
		{"onnx", "int8", product, 0}, {"onnx", "int4", product, 1 << 12},
	} {
		var written [2]map[string][]byte
		for kind, folder := range []string{"", t.TempDir()} {
			m, ends := c.model(), new(closed)
			m.Closer = ends
			made, _, err := quantize.Model(t.Context(), m, quantize.Options{Type: typeOf(t, c.to), Format: c.format, Scratch: folder})
			if err != nil {
				t.Fatal(err)
			}
			large := 0
			for _, x := range made.Graph.Initializers {
				if x.Tensor.Size() < 1<<16 {
					continue
				}
				large++
				if got, want := mapped.Contains(x.Tensor.Bytes()), kind == 1 && mapped.CanForget; got != want {
					t.Errorf("%s of %s: %s is in a file: %t, want %t", c.to, c.format, x.Name, got, want)
				}
			}
			if large == 0 {
				t.Errorf("%s of %s: no result is large", c.to, c.format)
			}
			out := t.TempDir()
			path := filepath.Join(out, "out")
			if c.external > 0 {
				err = onnx.Save(path, made, onnx.SaveOptions{External: c.external})
			} else {
				err = formats.SaveAs(path, c.format, made, formats.Options{})
			}
			if err != nil {
				t.Fatal(err)
			}
			written[kind] = files(t, out)
			if folder != "" && len(files(t, folder)) > 0 {
				t.Errorf("%s of %s: %s is not empty", c.to, c.format, folder)
			}
			for range 2 {
				if err := made.Close(); err != nil {
					t.Error(err)
				}
			}
			if *ends != 1 {
				t.Errorf("%s of %s: the source was closed %d times", c.to, c.format, *ends)
			}
		}
		if c.external > 0 && len(written[0]) != 2 {
			t.Errorf("%s of %s: %d files", c.to, c.format, len(written[0]))
		}
		for name, data := range written[0] {
			if !bytes.Equal(written[1][name], data) {
				t.Errorf("%s of %s: %s differs", c.to, c.format, name)
			}
		}
	}
	if mapped.CanForget {
		_, _, err := quantize.Model(t.Context(), table(), quantize.Options{Type: typeOf(t, "q8_0"), Scratch: filepath.Join(t.TempDir(), "none")})
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a folder that does not exist: %v", err)
		}
	}
}

// files returns the contents of the files of a folder.
func files(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	list, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string][]byte{}
	for _, e := range list {
		if contents[e.Name()], err = os.ReadFile(filepath.Join(folder, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return contents
}
