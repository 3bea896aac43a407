package plan_test

import (
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestUnrun runs a Loop without iterations. Its results have the extents that the file declares,
// also if passes infer more.
func TestUnrun(t *testing.T) {
	testenv.Need(t, bindings.Available())
	squares, err := tensor.From([]float32{4, 9}, 2)
	if err != nil {
		t.Fatal(err)
	}
	scalar := func(name string, d tensor.DType) *graph.Value {
		return &graph.Value{Name: name, Type: graph.TensorOf(d, graph.Dims{})}
	}
	dim := graph.Known
	for _, c := range []struct {
		name string
		said graph.Dims // of the body's result, which is float32[2,3]
		want tensor.Shape
	}{
		{"nothing", nil, tensor.Shape{0, 0, 0}},
		{"all", graph.Dims{dim(2), dim(3)}, tensor.Shape{0, 2, 3}},
		{"one extent", graph.Dims{graph.Unknown(), dim(3)}, tensor.Shape{0, 0, 3}},
		{"another extent", graph.Dims{dim(4), dim(3)}, tensor.Shape{0, 4, 3}},
	} {
		body := &graph.Graph{
			Name: "body", Inputs: []*graph.Value{scalar("i", tensor.I64), scalar("more", tensor.Bool)},
			Outputs: []*graph.Value{scalar("on", tensor.Bool), {Name: "part", Type: graph.TensorOf(tensor.F32, c.said)}},
			Nodes: []*graph.Node{
				{Op: "Identity", Version: 16, Inputs: []string{"more"}, Outputs: []string{"on"}},
				{Op: "Reshape", Version: 14, Inputs: []string{"w", "shape"}, Outputs: []string{"part"}},
			},
		}
		m := &graph.Model{IR: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: &graph.Graph{
			Name: "g", Inputs: []*graph.Value{scalar("trips", tensor.I64)},
			Outputs: []*graph.Value{{Name: "y", Type: graph.TensorOf(tensor.F32, nil)}},
			Initializers: []*graph.Initializer{
				{Name: "w", Tensor: tensor.New(tensor.F32, 6)}, {Name: "squares", Tensor: squares},
			},
			Nodes: []*graph.Node{
				{Op: "Sqrt", Version: 13, Inputs: []string{"squares"}, Outputs: []string{"roots"}},
				{Op: "Cast", Version: 13, Inputs: []string{"roots"}, Outputs: []string{"shape"}, Attrs: []*graph.Attr{graph.IntAttr("to", 7)}},
				{Op: "Loop", Version: 16, Inputs: []string{"trips", ""}, Outputs: []string{"y"}, Attrs: []*graph.Attr{graph.GraphAttr("body", body)}},
			},
		}}
		for _, plain := range []bool{true, false} {
			s, err := byname.New(m, runtime.Options{NoOptimize: plain})
			if err != nil {
				t.Fatal(err)
			}
			for trips, want := range []tensor.Shape{c.want, {1, 2, 3}} {
				n := tensor.New(tensor.I64)
				tensor.View[int64](n)[0] = int64(trips)
				out, err := s.Run(t.Context(), map[string]*tensor.Tensor{"trips": n})
				if err != nil {
					t.Fatal(err)
				}
				if got := out["y"].Shape(); !got.Equal(want) {
					t.Errorf("%s is said, without passes %v, %d iterations: %v, want %v", c.name, plain, trips, got, want)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
