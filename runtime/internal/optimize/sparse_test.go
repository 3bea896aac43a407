package optimize_test

import (
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sparse returns the matrix [[0,2,0],[0,0,3]].
func sparse(t *testing.T) *graph.SparseTensor {
	values, err := tensor.From([]float32{2, 3}, 2)
	if err != nil {
		t.Fatal(err)
	}
	indices, err := tensor.From([]int64{1, 5}, 2)
	if err != nil {
		t.Fatal(err)
	}
	return &graph.SparseTensor{Values: values, Indices: indices, Shape: tensor.Shape{2, 3}}
}

// TestSparseInitializers runs models with sparse constants: in the main graph, as the default of an
// input, in a branch, and as an operand of an operator on sparse tensors.
func TestSparseInitializers(t *testing.T) {
	testenv.Need(t, bindings.Available())
	named := func() []*graph.SparseInitializer { return []*graph.SparseInitializer{{Name: "w", Tensor: sparse(t)}} }
	matrix := graph.TensorOf(tensor.F32, graph.Dims{graph.Known(2), graph.Known(3)})
	add := &graph.Node{Op: "Add", Version: 14, Inputs: []string{"x", "w"}, Outputs: []string{"y"}}
	tests := map[string]func(b *graph.Builder){
		"constant": func(b *graph.Builder) {
			g := b.Graph()
			g.Sparse, g.Nodes = named(), append(g.Nodes, add)
		},
		"default": func(b *graph.Builder) {
			g := b.Graph()
			b.Input("w", matrix)
			g.Sparse, g.Nodes = named(), append(g.Nodes, add)
		},
		"branch": func(b *graph.Builder) {
			yes, no := b.Body("yes"), b.Body("no")
			yes.Graph().Sparse = named()
			yes.Output(yes.Op("Add", []string{"x", "w"}), "sum", matrix)
			no.Output(no.Op("Neg", []string{"x"}), "none", matrix)
			cond := b.Op("Greater", []string{b.Op("ReduceMax", []string{"x"}, graph.IntAttr("keepdims", 0)), b.Float(0)})
			b.Name(b.Op("If", []string{cond}, graph.GraphAttr("then_branch", yes.Graph()),
				graph.GraphAttr("else_branch", no.Graph())), "y")
		},
		"product": func(b *graph.Builder) {
			b.Graph().Sparse = named()
			b.Name(b.Node("com.microsoft", "SparseToDenseMatMul", []string{"w", b.Op("Transpose", []string{"x"})}, 1)[0], "y")
		},
	}
	for name, build := range tests {
		for _, plain := range []bool{false, true} {
			b := graph.NewBuilder("sparse")
			b.Input("x", matrix)
			build(b)
			b.Graph().Outputs = []*graph.Value{{Name: "y", Type: graph.TensorOf(tensor.F32, graph.UnknownDims(2))}}
			want := []float32{1, 3, 1, 1, 1, 4}
			if name == "product" {
				want = []float32{2, 2, 3, 3}
			}
			s, err := byname.New(b.Model(&graph.Model{}), runtime.Options{NoOptimize: plain})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			x, _ := tensor.From(slices.Repeat([]float32{1}, 6), 2, 3)
			out, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x": x})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if got := tensor.View[float32](out["y"]); !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", name, got, want)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
