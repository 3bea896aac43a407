package exec_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/exec"
	"github.com/nacre-ml/nacre/runtime/internal/optest"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestCancelWithinStep cancels products that take seconds, in commands of a plan and in commands
// that a step in Go makes.
func TestCancelWithinStep(t *testing.T) {
	const n, features = 3000, 500
	shape := tensor.Shape{n, n}
	x := tensor.New(tensor.F32, n, n)
	input := func(name string, shape tensor.Shape) *graph.Value {
		return &graph.Value{Name: name, Type: graph.TensorOf(tensor.F32, graph.DimsOf(shape))}
	}
	heads, err := x.Reshape(tensor.Shape{1, 1, n, n})
	if err != nil {
		t.Fatal(err)
	}
	product := &graph.Node{Op: "MatMul", Version: 13, Inputs: []string{"a", "b"}}
	attention := &graph.Node{Domain: "ai.onnx.preview", Op: "FlexAttention", Version: 1, Inputs: []string{"a", "b", "c"}}
	machine := &graph.Node{Domain: "ai.onnx.ml", Op: "SVMRegressor", Version: 1, Inputs: []string{"a"},
		Attrs: []*graph.Attr{
			{Name: "kernel_type", Kind: graph.AttrString, Str: []byte("RBF")},
			{Name: "kernel_params", Kind: graph.AttrFloats, Floats: []float32{1, 0, 0}},
			{Name: "n_supports", Kind: graph.AttrInt, Int: n},
			{Name: "rho", Kind: graph.AttrFloats, Floats: []float32{0}},
			{Name: "coefficients", Kind: graph.AttrFloats, Floats: make([]float32, n)},
			{Name: "support_vectors", Kind: graph.AttrFloats, Floats: make([]float32, n*features)},
		}}
	for _, c := range []struct {
		name string
		node *graph.Node
		g    graph.Graph
		in   []tensor.Value
	}{
		{"two inputs", product, graph.Graph{Inputs: []*graph.Value{input("a", shape), input("b", shape)}}, []tensor.Value{x, x}},
		{"packed operand", product, graph.Graph{Inputs: []*graph.Value{input("a", shape)}, Initializers: []*graph.Initializer{{Name: "b", Tensor: x}}}, []tensor.Value{x}},
		{"attention in Go", attention, graph.Graph{Inputs: []*graph.Value{input("a", heads.Shape()), input("b", heads.Shape()), input("c", heads.Shape())}}, []tensor.Value{heads, heads, heads}},
		{"support vectors", machine, graph.Graph{Inputs: []*graph.Value{input("a", tensor.Shape{n, features})}}, []tensor.Value{tensor.New(tensor.F32, n, features)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.node.Outputs, c.g.Nodes, c.g.Outputs = []string{"y"}, []*graph.Node{c.node}, []*graph.Value{{Name: "y"}}
			checkCancelled(t, &c.g, c.in)
		})
	}
}

// checkCancelled cancels runs of a graph. One of a few attempts must end soon after, so a busy
// machine does not fail the test.
func checkCancelled(t *testing.T, g *graph.Graph, in []tensor.Value) {
	const attempts, most = 5, 100 * time.Millisecond
	d := optest.Device(t)
	p, err := plan.Compile(&graph.Model{Graph: g}, standard.Registry(), d)
	if err != nil {
		t.Fatal(err)
	}
	pl, err := p.For(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	e := exec.New(d, exec.Limits{})
	defer e.Close()
	late := time.Duration(0)
	for range attempts {
		if late = cancelLater(t, e, pl, in); late <= most {
			return
		}
	}
	t.Errorf("the run ended %v after it was cancelled", late)
}

// cancelLater cancels a run of the plan under way, after a collection of garbage, for which all goroutines
// stop. It returns the time from the collection's begin to the run's end.
func cancelLater(t *testing.T, e *exec.Executor, pl *plan.Plan, in []tensor.Value) time.Duration {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cancelled := make(chan time.Time, 1)
	time.AfterFunc(50*time.Millisecond, func() {
		cancelled <- time.Now()
		runtime.GC()
		cancel()
	})
	_, err := e.Run(ctx, pl, in, nil)
	end := time.Now()
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the run ended with %v", err)
	}
	return end.Sub(<-cancelled)
}
