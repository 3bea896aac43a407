package exec_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/mapped"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestMovingWeights runs networks with constants that are loaded and dropped: one that is looked
// up, multiplied by and returned, one in a body, one that Go code reads. Each is in a file, at an
// address that kernels can or cannot use.
func TestMovingWeights(t *testing.T) {
	const size = 128
	build := func(w *tensor.Tensor) *graph.Model {
		b := graph.NewBuilder("moving")
		ids := b.Input("ids", graph.TensorOf(tensor.I64, graph.Dims{graph.ParseDim("n")}))
		weight := b.Weight(&graph.Initializer{Name: "w", Tensor: w})
		x := b.Op("Gather", []string{weight, ids})
		x = b.Op("MatMul", []string{x, weight})
		f := graph.TensorOf(tensor.F32, graph.Dims{graph.ParseDim("n"), graph.Known(size)})
		body := func(op string) *graph.Graph {
			in := b.Body(op)
			in.Output(in.Op(op, []string{x, weight}), "y_"+op, f)
			return in.Graph()
		}
		some := b.Op("Greater", []string{b.Op("ReduceMax", []string{ids}, graph.IntAttr("keepdims", 0)), b.Int(0)})
		y := b.Op("If", []string{some}, graph.GraphAttr("then_branch", body("MatMul")),
			graph.GraphAttr("else_branch", body("MatMul")))
		b.Output(b.Op("Add", []string{x, y}), "sum", f)
		unique := b.Node("", "Unique", []string{weight}, 1)[0]
		b.Output(unique, "unique", graph.TensorOf(tensor.F32, graph.UnknownDims(1)))
		b.Output(weight, "same", graph.TensorOf(tensor.F32, graph.DimsOf(tensor.Shape{size, size})))
		return b.Model(&graph.Model{IR: 10})
	}
	ids, err := tensor.From([]int64{3, 127, 0}, 3)
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]*tensor.Tensor{"ids": ids}
	for _, offset := range []int{0, 1} {
		for _, plain := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/%v", offset, plain), func(t *testing.T) {
				w := mappedTensor(t, offset, size)
				want := results(t, build(w.Clone()), runtime.Options{NoOptimize: plain, Threads: 1}, inputs)
				packs := cpu.NewMovingPacks(cpu.NewWeights(1, nil, nil))
				defer packs.Close()
				got := results(t, build(w), runtime.Options{NoOptimize: plain, Threads: 1, Packs: packs}, inputs)
				for name, x := range want {
					a, b := tensor.Numbers(got[name]), tensor.Numbers(x)
					for i := range x.Len() {
						if d := a(i) - b(i); !(d < 1e-3 && d > -1e-3) {
							t.Fatalf("element %d of %s is %g, want %g", i, name, a(i), b(i))
						}
					}
				}
			})
		}
	}
}

// results runs a model twice and returns the results of the second run.
func results(
	t *testing.T, m *graph.Model, o runtime.Options, inputs map[string]*tensor.Tensor,
) map[string]*tensor.Tensor {
	t.Helper()
	s, err := byname.New(m, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var out map[string]*tensor.Tensor
	for range 2 {
		if out, err = s.Run(context.Background(), inputs); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// mappedTensor returns a square matrix in a mapped file, starting at this byte offset.
func mappedTensor(t *testing.T, offset, size int) *tensor.Tensor {
	t.Helper()
	x := tensor.New(tensor.F32, size, size)
	for i := range tensor.View[float32](x) {
		tensor.View[float32](x)[i] = float32(i%251)/251 - 0.5
	}
	path := filepath.Join(t.TempDir(), "w")
	if err := os.WriteFile(path, append(bytes.Repeat([]byte{7}, offset), x.Bytes()...), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, unmap, err := mapped.File(f, offset+len(x.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unmap(); err != nil {
			t.Error(err)
		}
	})
	y, err := tensor.FromBytes(tensor.F32, x.Shape(), data[offset:])
	if err != nil {
		t.Fatal(err)
	}
	return y
}
