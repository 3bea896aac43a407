package loom_test

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/internal/converted"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestConverted converts the sample networks and bundles that ONNX can hold. It skips one-bit and
// ternary weights, and networks that only quirks compute.
func TestConverted(t *testing.T) {
	done := 0
	walk(t, "network", func(t *testing.T, dir string, c runCase) {
		var io answers
		fixtures.JSON(t, filepath.Join(dir, c.Files["io"]), &io)
		path := filepath.Join(dir, c.Files[first(c.Files, "entity", "json")])
		in := io.Input
		if in == nil {
			in = io.Steps[0].Input
		}
		n := networkOf(t, path, formats.Lowering{Ranks: true})
		if n == nil {
			return
		}
		done++
		runs := converted.Inputs{}
		for _, v := range n.Graph.Inputs {
			if v.Name == "input" {
				runs[v.Name] = must(nacre.NewTensor([]float32(in.Data), ranked(in.Shape, len(v.Type.Dims))...))
			} else {
				runs[v.Name] = emptyState(t, v, 1)
			}
		}
		converted.Check(t, "loom/"+c.ID, path, runs)
	})
	walk(t, "transformer", func(t *testing.T, dir string, c runCase) {
		path := filepath.Join(dir, c.Files["entity"])
		n := networkOf(t, path, formats.Lowering{})
		if n == nil {
			return
		}
		done++
		r := rand.New(rand.NewPCG(1, 2))
		runs := make([]converted.Inputs, 2)
		for past := range runs {
			runs[past] = converted.Inputs{"input_ids": must(nacre.NewTensor([]int64{3, 1, 4, 1, 5, 2}, 2, 3))}
			for _, v := range n.Graph.Inputs[1:] {
				shape := v.Type.Dims
				heads, _ := shape[1].Value()
				size, _ := shape[3].Value()
				runs[past][v.Name] = must(nacre.NewTensor(numbersOf(r, 2*heads*3*past*size), 2, heads, 3*past, size))
			}
		}
		converted.Check(t, "loom/"+c.ID, path, runs...)
	})
	if done == 0 {
		t.Error("no network was converted")
	}
}

// first returns the first key with a value in m.
func first(m map[string]string, keys ...string) string {
	for _, k := range keys {
		if m[k] != "" {
			return k
		}
	}
	return ""
}

// networkOf returns the network of a file, or nil if ONNX cannot hold it.
func networkOf(t *testing.T, path string, o formats.Lowering) *graph.Model {
	t.Helper()
	m, err := formats.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	n, err := formats.Network(m, o)
	if err != nil {
		return nil
	}
	for _, init := range n.Graph.Initializers {
		if !slices.Contains(tensor.DTypes(), init.Tensor.DType()) {
			return nil
		}
	}
	return n
}

// ranked returns a shape with the given number of axes. It prepends 1s or merges the first axes.
func ranked(shape []int, axes int) []int {
	for len(shape) < axes {
		shape = append([]int{1}, shape...)
	}
	for len(shape) > axes {
		shape = append([]int{shape[0] * shape[1]}, shape[2:]...)
	}
	return shape
}

// emptyState returns a cache without rows.
func emptyState(t *testing.T, v *graph.Value, batch int) *nacre.Tensor {
	t.Helper()
	heads, _ := v.Type.Dims[1].Value()
	size, _ := v.Type.Dims[3].Value()
	return must(nacre.Zeros(nacre.Float32, batch, heads, 0, size))
}
