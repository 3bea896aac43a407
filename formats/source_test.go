package formats_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// reversed returns a tensor with the elements in the opposite order.
func reversed(t *tensor.Tensor) *tensor.Tensor {
	n, b := t.Len(), t.Clone()
	if l := t.DType().Layout(); l != nil {
		for i := range n {
			l.Set(b.Bytes(), i, l.At(t.Bytes(), n-1-i))
		}
		return b
	}
	size := t.DType().Bits() / 8
	if blocks := t.DType().Blocks(); blocks != nil {
		n, size = n/blocks.Elements, blocks.Bytes
	}
	for i := range n {
		copy(b.Bytes()[i*size:(i+1)*size], t.Bytes()[(n-1-i)*size:])
	}
	return b
}

// turnable reports whether reversing the elements of a tensor changes its bytes.
func turnable(t *tensor.Tensor) bool {
	return t.DType() != tensor.String && t.Len() > 1 && !bytes.Equal(reversed(t).Bytes(), t.Bytes())
}

// sources calls f with files of every format: files that this module writes, with every element
// type of the format, and the samples of Loom.
func sources(t *testing.T, f func(t *testing.T, path string)) {
	all := slices.DeleteFunc(tensor.AllDTypes(), func(d tensor.DType) bool { return d == tensor.String })
	for _, ext := range containers() {
		t.Run(ext, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x"+ext)
			if err := formats.Save(path, tensors(t, holds(t, ext, all)...), formats.Options{}); err != nil {
				t.Fatal(err)
			}
			f(t, path)
		})
	}
	t.Run("loom", func(t *testing.T) {
		dir := fixtures.Dir(t, "loom")
		var manifest struct {
			Cases []struct {
				Kind  string
				Files map[string]string
			}
		}
		if err := json.Unmarshal(contents(t, filepath.Join(dir, "manifest.json")), &manifest); err != nil {
			t.Fatal(err)
		}
		for _, c := range manifest.Cases {
			for _, kind := range []string{"json", "entity"} {
				if name := c.Files[kind]; name != "" && (c.Kind == "network" || c.Kind == "transformer") {
					t.Run(name, func(t *testing.T) { f(t, filepath.Join(dir, name)) })
				}
			}
		}
	})
}

// TestChangedTensors saves models of every format unchanged, and with one tensor of each kind
// changed. An unchanged model gives the same file. A changed one differs in the changed tensor
// only.
func TestChangedTensors(t *testing.T) {
	changes := map[string]int{}
	sources(t, func(t *testing.T, path string) {
		dir, ext := t.TempDir(), filepath.Ext(path)
		first, second := filepath.Join(dir, "1"+ext), filepath.Join(dir, "2"+ext)
		save(t, first, load(t, path))
		save(t, second, load(t, first))
		if !bytes.Equal(contents(t, first), contents(t, second)) {
			t.Error("a model that did not change is another file")
		}
		kinds := map[string]bool{}
		for i, init := range load(t, first).Graph.Initializers {
			kind := fmt.Sprintf("%s %v %q", ext, init.Tensor.DType(), stored(init))
			if kinds[kind] || !turnable(init.Tensor) {
				continue
			}
			kinds[kind] = true
			changes[kind]++
			m := load(t, first)
			m.Graph.Initializers[i] = &graph.Initializer{Name: init.Name, Tensor: reversed(init.Tensor), Meta: init.Meta}
			save(t, second, m)
			same(t, kind, load(t, second), m)
		}
	})
	if len(changes) < 40 {
		t.Errorf("tensors of %d kinds were changed: %v", len(changes), changes)
	}
}

// stored returns the format's name of the element type.
func stored(init *graph.Initializer) string {
	if init.Stored == nil {
		return ""
	}
	return init.Stored.DType
}

func save(t *testing.T, path string, m *graph.Model) {
	t.Helper()
	if err := formats.Save(path, m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
}
