package runtime_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/exec"
	"github.com/nacre-ml/nacre/runtime/internal/optest/nets"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// hollow returns a sparse tensor of n elements, one of them not 0.
func hollow(t *testing.T, n int) *graph.SparseTensor {
	values, err := tensor.From([]int64{1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	indices, err := tensor.From([]int64{3}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return &graph.SparseTensor{Values: values, Indices: indices, Shape: tensor.Shape{n}}
}

// allocated returns the bytes that f allocates in Go's heap.
func allocated(f func()) int {
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	f()
	goruntime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// TestMadeConstants makes sessions of models of a few bytes that compute large constants.
func TestMadeConstants(t *testing.T) {
	testenv.Need(t, bindings.Available())
	const mib = 1 << 20
	vector := graph.TensorOf(tensor.I64, graph.UnknownDims(1))
	initializers := func(count, bytes int) func(b *graph.Builder) string {
		return func(b *graph.Builder) string {
			sum := "x"
			for i := range count {
				name := fmt.Sprint("w", i)
				b.Graph().Sparse = append(b.Graph().Sparse, &graph.SparseInitializer{Name: name, Tensor: hollow(t, bytes/8)})
				sum = b.Op("Add", []string{sum, name})
			}
			return sum
		}
	}
	node := func(b *graph.Builder) string {
		a := &graph.Attr{Name: "sparse_value", Kind: graph.AttrSparse, Sparse: hollow(t, 6*mib)}
		return b.Op("Add", []string{"x", b.Op("Constant", nil, a)})
	}
	tests := []struct {
		name  string
		build func(b *graph.Builder) string
		limit int
		kind  error
	}{
		{"one that fits", initializers(1, mib), 32 * mib, nil},
		{"one", initializers(1, 48*mib), 32 * mib, graph.ErrMemory},
		{"many", initializers(20, 2*mib), 32 * mib, graph.ErrMemory},
		{"node", node, 32 * mib, graph.ErrMemory},
		{"branch", func(b *graph.Builder) string {
			yes, no := b.Body("yes"), b.Body("no")
			yes.Output(node(yes), "sum", vector)
			no.Output(no.Op("Neg", []string{"x"}), "none", vector)
			cond := b.Op("Greater", []string{b.Op("ReduceMax", []string{"x"}, graph.IntAttr("keepdims", 0)), b.Int(0)})
			return b.Op("If", []string{b.Op("Squeeze", []string{cond})}, graph.GraphAttr("then_branch", yes.Graph()),
				graph.GraphAttr("else_branch", no.Graph()))
		}, 32 * mib, graph.ErrMemory},
		{"axes", func(b *graph.Builder) string {
			b.Graph().Sparse = []*graph.SparseInitializer{{Name: "axes", Tensor: hollow(t, 2*mib)}}
			return b.Op("ReduceSum", []string{"x", "axes"})
		}, 32 * mib, graph.ErrShape},
		{"repeats", func(b *graph.Builder) string {
			b.Graph().Sparse = []*graph.SparseInitializer{{Name: "repeats", Tensor: hollow(t, 2*mib)}}
			return b.Op("Tile", []string{"x", "repeats"})
		}, 32 * mib, graph.ErrShape},
		{"zeros that are folded", func(b *graph.Builder) string {
			sum := "x"
			for range 200 {
				zeros := b.Op("ConstantOfShape", []string{b.Ints(100_000)}, graph.TensorAttr("value", tensor.New(tensor.I64, 1)))
				sum = b.Op("Add", []string{sum, zeros})
			}
			return sum
		}, 32 * mib, nil},
	}
	for _, test := range tests {
		for _, plain := range []bool{false, true} {
			b := graph.NewBuilder("made")
			b.Input("x", vector)
			b.Output(test.build(b), "y", graph.TensorOf(tensor.I64, graph.UnknownDims(1)))
			m := b.Model(&graph.Model{})
			var err error
			took := allocated(func() {
				var s byname.Session
				if s, err = byname.New(m, runtime.Options{MemoryLimit: test.limit, NoOptimize: plain}); err != nil {
					return
				}
				defer s.Close()
				x := tensor.New(tensor.I64, 1)
				_, err = s.Run(context.Background(), map[string]*tensor.Tensor{"x": x})
			})
			if !errors.Is(err, test.kind) {
				t.Errorf("%s (plain %v): %v, want an error of kind %v", test.name, plain, err, test.kind)
			}
			if most := 3 * test.limit / 2; took > most {
				t.Errorf("%s (plain %v): %d bytes were allocated, want at most %d", test.name, plain, took, most)
			}
		}
	}
}

// TestMadeShared makes sessions with different limits of one program that holds 8 MiB of constants.
func TestMadeShared(t *testing.T) {
	testenv.Need(t, bindings.Available())
	const mib = 1 << 20
	b := graph.NewBuilder("shared")
	b.Graph().Sparse = []*graph.SparseInitializer{{Name: "w", Tensor: hollow(t, mib)}}
	b.Input("x", graph.TensorOf(tensor.I64, graph.Dims{graph.Known(1)}))
	b.Output(b.Op("Add", []string{"x", "w"}), "y", graph.TensorOf(tensor.I64, graph.UnknownDims(1)))
	packs := cpu.NewPacks()
	defer packs.Close()
	m := b.Model(&graph.Model{})
	if _, err := runtime.Compile(context.Background(), m,
		runtime.Options{Packs: packs, Memory: exec.NewMemory(4 * mib)}); !errors.Is(err, graph.ErrMemory) {
		t.Errorf("with 4 MiB for all sessions: %v, want an error of kind %v", err, graph.ErrMemory)
	}
	p, err := runtime.Compile(context.Background(), m, runtime.Options{Packs: packs})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		limit     int
		made, ran error
	}{{8 * mib, graph.ErrMemory, nil}, {12 * mib, nil, graph.ErrMemory}, {20 * mib, nil, nil}} {
		s, err := p.NewSession(runtime.Options{MemoryLimit: c.limit})
		if !errors.Is(err, c.made) {
			t.Errorf("a session with a limit of %d: %v, want an error of kind %v", c.limit, err, c.made)
		}
		if err != nil {
			continue
		}
		if _, err := s.Run(context.Background(), []tensor.Value{tensor.New(tensor.I64, 1)}, nil); !errors.Is(err, c.ran) {
			t.Errorf("a run with a limit of %d: %v, want an error of kind %v", c.limit, err, c.ran)
		}
		s.Close()
	}
}

// TestMadePacked makes sessions with a limit that all elements of a sparse constant fit in, but not
// their packed form.
func TestMadePacked(t *testing.T) {
	testenv.Need(t, bindings.Available())
	const mib = 1 << 20
	w := hollow(t, 0)
	w.Shape = tensor.Shape{1, 16 * mib / 2} // float16, packed as float32 for products
	var err error
	if w.Values, err = tensor.From([]float32{1}, 1); err != nil {
		t.Fatal(err)
	}
	half := tensor.New(tensor.F16, 1)
	half.Bytes()[1] = 0x3c
	w.Values = half
	b := graph.NewBuilder("packed")
	b.Graph().Sparse = []*graph.SparseInitializer{{Name: "w", Tensor: w}}
	b.Input("x", graph.TensorOf(tensor.F16, graph.Dims{graph.Symbol("n"), graph.Known(1)}))
	b.Output(b.Op("ReduceMax", []string{b.Op("MatMul", []string{"x", "w"})}, graph.IntAttr("keepdims", 0)), "y",
		graph.TensorOf(tensor.F16, graph.Dims{}))
	packs := cpu.NewPacks()
	defer packs.Close()
	p, err := runtime.Compile(context.Background(), b.Model(&graph.Model{}),
		runtime.Options{Packs: packs, MemoryLimit: 40 * mib})
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.NewSession(runtime.Options{MemoryLimit: 40 * mib})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x := tensor.New(tensor.F16, 1, 1)
	_, err = s.Run(context.Background(), []tensor.Value{x}, nil)
	if !errors.Is(err, graph.ErrMemory) {
		t.Errorf("%v, want an error of kind %v", err, graph.ErrMemory)
	}
	if packs.Bytes() > 10*mib {
		t.Errorf("%d bytes are packed with a limit of %d (%v)", packs.Bytes(), 40*mib, err)
	}
}

// TestMadeTables resizes an axis whose places and weights take more than the limit of a run,
// which its elements do not.
func TestMadeTables(t *testing.T) {
	testenv.Need(t, bindings.Available())
	const n = 4 << 20
	resize := nets.Node("Resize", "x roi scales sizes", "y", graph.StringAttr("mode", "nearest"))
	resize.Inputs[1], resize.Inputs[2] = "", ""
	g := &graph.Graph{
		Nodes:   []*graph.Node{nets.Constant("sizes", nets.Vec(n)), resize},
		Inputs:  []*graph.Value{{Name: "x", Type: graph.TensorOf(tensor.U8, graph.DimsOf(tensor.Shape{1}))}},
		Outputs: []*graph.Value{{Name: "y"}},
	}
	x := tensor.New(tensor.U8, 1)
	x.Bytes()[0] = 7
	for limit, fits := range map[int]bool{16 << 20: false, 128 << 20: true, 1 << 30: true} {
		s, err := byname.New(&graph.Model{File: "tables", Graph: g}, runtime.Options{Threads: 1, MemoryLimit: limit})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		out, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x": x})
		switch {
		case !fits && !errors.Is(err, graph.ErrMemory):
			t.Errorf("a limit of %d: got %v", limit, err)
		case fits && (err != nil || out["y"].Len() != n || out["y"].Bytes()[n-1] != 7):
			t.Errorf("a limit of %d: got %v and %v", limit, out, err)
		}
	}
}
