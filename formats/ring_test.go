package formats_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// tensors returns a model with two tensors of each element type, with every value of a byte, a
// scalar and an empty tensor.
func tensors(t *testing.T, types ...tensor.DType) *graph.Model {
	t.Helper()
	g := &graph.Graph{Name: "tensors"}
	add := func(name string, d tensor.DType, shape ...int) {
		x := tensor.New(d, shape...)
		for i := range x.Bytes() {
			x.Bytes()[i] = byte(i * 37)
			if d == tensor.Bool {
				x.Bytes()[i] &= 1
			}
		}
		if l := d.Layout(); l != nil { // the spare bits of the last byte are zero
			if used := x.Len() * l.Bits % 8; used != 0 {
				x.Bytes()[len(x.Bytes())-1] &= 1<<used - 1
			}
		}
		g.Initializers = append(g.Initializers, &graph.Initializer{Name: name, Tensor: x})
	}
	for _, d := range types {
		if b := d.Blocks(); b != nil {
			add(d.String()+".matrix", d, 3, 2*b.Elements)
			add(d.String()+".vector", d, b.Elements)
			continue
		}
		add(d.String()+".matrix", d, 32, 24)
		add(d.String()+".vector", d, 7)
		add(d.String()+".empty", d, 3, 0)
	}
	return &graph.Model{Graph: g}
}

// holds returns the element types of all that a container can hold.
func holds(t *testing.T, ext string, all []tensor.DType) (list []tensor.DType) {
	t.Helper()
	for _, d := range all {
		path := filepath.Join(t.TempDir(), "x"+ext)
		err := formats.Save(path, tensors(t, d), formats.Options{})
		if err == nil {
			list = append(list, d)
			continue
		}
		if !errors.Is(err, graph.ErrUnsupported) || !strings.Contains(err.Error(), d.String()+".matrix") {
			t.Errorf("%s: %v is refused by %v, which does not name the tensor", ext, d, err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v is refused and there is a file", ext, d)
		}
	}
	return list
}

// same compares the types, shapes and bytes of tensors by name.
func same(t *testing.T, what string, got, want *graph.Model) {
	t.Helper()
	byName := map[string]*tensor.Tensor{}
	for _, init := range got.Graph.Initializers {
		byName[init.Name] = init.Tensor
	}
	if len(byName) != len(want.Graph.Initializers) {
		t.Errorf("%s: %d tensors, want %d", what, len(byName), len(want.Graph.Initializers))
	}
	for _, init := range want.Graph.Initializers {
		x := byName[init.Name]
		if x == nil || x.String() != init.Tensor.String() || !bytes.Equal(x.Bytes(), init.Tensor.Bytes()) {
			t.Errorf("%s: %q is %v, not %v, or has other bytes", what, init.Name, x, init.Tensor)
		}
	}
}

// TestRing converts all element types that two containers share, around the ring and between all
// pairs. Tensors stay equal, and the same input gives the same bytes.
func TestRing(t *testing.T) {
	all := slices.DeleteFunc(tensor.AllDTypes(), func(d tensor.DType) bool { return d == tensor.String })
	has := map[string][]tensor.DType{}
	ring := containers()
	for _, ext := range ring {
		has[ext] = holds(t, ext, all)
		t.Logf("%s holds %v", ext, has[ext])
		if len(has[ext]) < 2 {
			t.Errorf("%s holds %v only", ext, has[ext])
		}
	}
	for _, from := range ring {
		for _, to := range ring {
			t.Run(from+" to "+to, func(t *testing.T) {
				dir := t.TempDir()
				types := slices.DeleteFunc(slices.Clone(has[from]), func(d tensor.DType) bool { return !slices.Contains(has[to], d) })
				first, second, again := filepath.Join(dir, "1"+from), filepath.Join(dir, "2"+to), filepath.Join(dir, "3"+to)
				m := tensors(t, types...)
				if err := formats.Save(first, m, formats.Options{}); err != nil {
					t.Fatal(err)
				}
				for _, path := range []string{second, again} {
					converted(t, first, path)
				}
				same(t, to, load(t, second), m)
				if a, b := contents(t, second), contents(t, again); !bytes.Equal(a, b) {
					t.Error("the same input gave other bytes")
				}
			})
		}
	}
	t.Run("ring", func(t *testing.T) {
		types := all
		for _, ext := range ring {
			types = slices.DeleteFunc(slices.Clone(types), func(d tensor.DType) bool { return !slices.Contains(has[ext], d) })
		}
		dir := t.TempDir()
		path := filepath.Join(dir, "0"+ring[0])
		m := tensors(t, types...)
		if err := formats.Save(path, m, formats.Options{}); err != nil {
			t.Fatal(err)
		}
		for i, ext := range append(ring[1:], ring[0]) {
			next := filepath.Join(dir, fmt.Sprint(i+1, ext))
			converted(t, path, next)
			same(t, ext, load(t, next), m)
			path = next
		}
		if !slices.Contains(types, tensor.F32) || !slices.Contains(types, tensor.I32) {
			t.Errorf("the ring holds %v", types)
		}
	})
}

// converted writes the model of a file to another file, without the metadata that its format cannot
// hold. Progress ends at the total.
func converted(t *testing.T, from, to string) {
	t.Helper()
	var done, all int64
	o := formats.Options{DropMeta: true, Progress: func(written, total int64) { done, all = written, total }}
	if err := formats.Save(to, load(t, from), o); err != nil {
		t.Fatal(err)
	}
	if done != all || all == 0 {
		t.Errorf("%s: progress ended at %d of %d bytes", to, done, all)
	}
}

func load(t *testing.T, path string) *graph.Model {
	t.Helper()
	m, err := formats.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSamplesAreKnown opens every sample by content alone. It is recognised as its own format, or
// refused.
func TestSamplesAreKnown(t *testing.T) {
	for _, c := range []struct{ folder, ext, format string }{
		{"oinf", ".oinf", "oinf"}, {"gptrs", ".chk", "gptrschk"}, {"gptrs", ".ten", "gptrsten"}, {"hnw", ".hnw", "hnw"},
		{"loom", ".entity", "entity"}, {"loom", ".safetensors", "safetensors"}, {"gguf", ".gguf", "gguf"},
	} {
		t.Run(c.format, func(t *testing.T) {
			n := 0
			err := filepath.WalkDir(fixtures.Loose(t, c.folder), func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || filepath.Ext(path) != c.ext {
					return err
				}
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				m, err := formats.Decode("sample", data)
				if err != nil {
					return nil // the tests of the format say which samples must open
				}
				if n++; m.Format != c.format {
					t.Errorf("%s: taken for %s", path, m.Format)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				t.Error("no sample is sound")
			}
		})
	}
}
