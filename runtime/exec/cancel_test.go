package exec_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/runtime/exec"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/plan"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestCancelWithinStep cancels a product that takes seconds. Of a few attempts one must
// end soon after, whatever else the machine does.
func TestCancelWithinStep(t *testing.T) {
	const n, attempts, most = 3000, 5, 100 * time.Millisecond
	matrix := graph.TensorOf(tensor.F32, graph.DimsOf(tensor.Shape{n, n}))
	x := tensor.New(tensor.F32, n, n)
	for name, g := range map[string]*graph.Graph{
		"two inputs":     {Inputs: []*graph.Value{{Name: "a", Type: matrix}, {Name: "b", Type: matrix}}},
		"packed operand": {Inputs: []*graph.Value{{Name: "a", Type: matrix}}, Initializers: []*graph.Initializer{{Name: "b", Tensor: x}}},
	} {
		g.Outputs = []*graph.Value{{Name: "y"}}
		g.Nodes = []*graph.Node{{Op: "MatMul", Version: 13, Inputs: []string{"a", "b"}, Outputs: []string{"y"}}}
		t.Run(name, func(t *testing.T) {
			d := testDevice(t)
			p, err := plan.Compile(&graph.Model{Graph: g}, op.Standard(), d)
			if err != nil {
				t.Fatal(err)
			}
			in := []tensor.Value{x, x}[:len(p.Inputs)]
			pl, err := p.For(in)
			if err != nil {
				t.Fatal(err)
			}
			e := exec.New(d, 0)
			defer e.Close()
			late := time.Duration(0)
			for range attempts {
				if late = cancelLater(t, e, pl, in); late <= most {
					return
				}
			}
			t.Errorf("the run ended %v after it was cancelled", late)
		})
	}
}

// cancelLater runs the plan, cancels the run when it is under way, and returns how long
// it went on.
func cancelLater(t *testing.T, e *exec.Executor, pl *plan.Plan, in []tensor.Value) time.Duration {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cancelled := make(chan time.Time, 1)
	time.AfterFunc(50*time.Millisecond, func() {
		cancelled <- time.Now()
		cancel()
	})
	_, err := e.Run(ctx, pl, in, nil)
	end := time.Now()
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the run ended with %v", err)
	}
	return end.Sub(<-cancelled)
}
