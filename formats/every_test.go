package formats_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestEveryFormat saves tensors in every format that can hold them, with each of its extensions and
// over the file that they are mapped from. It then opens the file under a name without an
// extension.
func TestEveryFormat(t *testing.T) {
	w, err := tensor.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range formats.Formats {
		if f.Begins == "" {
			t.Errorf("%s does not say what its files begin with", f.Name)
		}
		for _, ext := range f.Extensions {
			t.Run(f.Name+ext, func(t *testing.T) {
				dir := t.TempDir()
				path, plain := filepath.Join(dir, "m"+ext), filepath.Join(dir, "plain")
				m := &graph.Model{Graph: &graph.Graph{Initializers: []*graph.Initializer{{Name: "w", Tensor: w}}}}
				err := formats.Save(path, m, formats.Options{})
				if _, ok := networks[f.Name]; ok {
					if !errors.Is(err, graph.ErrUnsupported) {
						t.Errorf("saved tensors that are no network: %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				first, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if m, err = formats.Load(path); err != nil {
					t.Fatal(err)
				}
				defer func() { m.Close() }()
				if err := formats.Save(path, m, formats.Options{}); err != nil {
					t.Fatal(err)
				}
				if x := m.Graph.Initializers[0]; m.Format != f.Name || x.Name != "w" || !bytes.Equal(x.Tensor.Bytes(), w.Bytes()) {
					t.Errorf("read as %s: %s %v", m.Format, x.Name, x.Tensor)
				}
				if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, first) {
					t.Errorf("saved otherwise the second time (%v)", err)
				}
				if err := os.WriteFile(plain, first, 0o666); err != nil {
					t.Fatal(err)
				}
				if got, err := formats.Probe(plain); err != nil || got.Name != f.Name {
					t.Errorf("told to be %s (%v)", got.Name, err)
				}
				if p := formats.Verify(plain); len(p) > 0 {
					t.Error(p)
				}
				if d, err := formats.Decode("x", first); err != nil {
					t.Error(err)
				} else if err := d.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestProbeLengths reads safetensors files with headers of every length. Some lengths begin like
// ONNX files.
func TestProbeLengths(t *testing.T) {
	for n := 2; n < 5000; n++ {
		header := "{}" + strings.Repeat(" ", n-2)
		data := append(binary.LittleEndian.AppendUint64(nil, uint64(n)), header...)
		m, err := formats.Decode("x", data)
		if err != nil || m.Format != "safetensors" {
			t.Fatalf("a header of %d bytes: %v", n, err)
		}
		m.Close()
	}
}
