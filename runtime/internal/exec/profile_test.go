package exec_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/exec"
	"github.com/nacre-ml/nacre/runtime/internal/optest/nets"
)

// TestProfileOfGraphs profiles a loop in a loop.
func TestProfileOfGraphs(t *testing.T) {
	g := nets.Graph("x n:int", "y", nets.Node("Loop", "n _ x", "y", graph.GraphAttr("body",
		nets.Graph("i:int c:bool v", "c2 w", nets.Node("Identity", "c", "c2"),
			nets.Node("Loop", "n _ v", "w", graph.GraphAttr("body",
				nets.Graph("j:int d:bool u", "d2 t", nets.Node("Identity", "d", "d2"), nets.Node("Add", "u x", "t"))))))))
	m := &graph.Model{File: "control.onnx", Opsets: []graph.Opset{{Version: nets.Opset}}, Graph: g}
	s, err := byname.New(m, runtime.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, p, err := s.Profile(context.Background(), values{"x": nets.Vec(1), "n": nets.Scalar[int64](2)})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, x := range p.Steps {
		if !strings.HasPrefix(x.Op, "Identity") {
			order = append(order, strings.TrimPrefix(x.Within+" > "+x.Node, " > "))
		}
	}
	inner := []string{"n_y.body > n_w", "n_y.body > n_w.body > n_t", "n_y.body > n_w.body > n_t"}
	want := append(append([]string{"n_y"}, inner...), inner...)
	if strings.Join(order, "\n") != strings.Join(want, "\n") {
		t.Errorf("steps are %v, want %v", order, want)
	}
	checkOwn(t, p)
}

// checkOwn checks that the time of every step is its own time plus the time of the steps in its
// bodies, and that the operators share the time of the model's own steps.
func checkOwn(t *testing.T, p *exec.Profile) {
	t.Helper()
	var total, operators time.Duration
	for i, x := range p.Steps {
		inside, path := time.Duration(0), strings.TrimPrefix(x.Within+" > "+x.Node+".", " > ")
		for _, y := range p.Steps[i+1:] {
			deeper, ok := strings.CutPrefix(y.Within, path)
			if !ok {
				break
			}
			if !strings.Contains(deeper, " > ") {
				inside += y.Time
			}
		}
		if x.Own+inside != x.Time {
			t.Errorf("%s takes %v: %v of its own and %v in graphs", x.Node, x.Time, x.Own, inside)
		}
		if x.Within == "" {
			total += x.Time
		}
	}
	for _, o := range p.Operators() {
		operators += o.Time
	}
	if operators != total {
		t.Errorf("operators take %v and the steps %v", operators, total)
	}
}
