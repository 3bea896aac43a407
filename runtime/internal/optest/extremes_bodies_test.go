package optest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/bodies"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestExtremesOfBodies gives operators that hold graphs what TestExtremes gives the others: as
// attributes, as inputs and as constants before them, and graphs with an input or an output less.
func TestExtremesOfBodies(t *testing.T) {
	testenv.Need(t, bindings.Available())
	k, each := 0, 4
	if testenv.Complete() {
		each = 1
	}
	for _, c := range bodies.Cases() {
		change := func(what string, f func(m *graph.Model, n *graph.Node, in []tensor.Value)) {
			if k++; k%each > 0 {
				return
			}
			m, n, in := c.Make(1)
			f(m, n, in)
			var defect *guard.Defect
			switch err := runBodies(t.Context(), m, in, k/each%2 == 0); {
			case errors.As(err, &defect):
				t.Errorf("%s with %s: %v\n%s", c.Name, what, err, defect.Stack())
			case errors.Is(err, guard.ErrInternal):
				t.Errorf("%s with %s: %v", c.Name, what, err)
			}
		}
		m, n, in := c.Make(1)
		for i, a := range n.Attrs {
			for what, changed := range attrsLike(a) {
				change(a.Name+" "+what, func(_ *graph.Model, n *graph.Node, _ []tensor.Value) {
					if n.Attrs[i] = changed; changed == nil {
						n.Attrs = slices.Delete(n.Attrs, i, i+1)
					}
				})
			}
			if a.Graph != nil {
				for j := range a.Graph.Inputs {
					change("an input less", func(_ *graph.Model, n *graph.Node, _ []tensor.Value) {
						n.Attrs[i].Graph.Inputs = slices.Delete(n.Attrs[i].Graph.Inputs, j, j+1)
					})
				}
				for j := range a.Graph.Outputs {
					change("an output less", func(_ *graph.Model, n *graph.Node, _ []tensor.Value) {
						n.Attrs[i].Graph.Outputs = slices.Delete(n.Attrs[i].Graph.Outputs, j, j+1)
					})
				}
			}
		}
		for i := range n.Inputs {
			change("an input of the node less", func(_ *graph.Model, n *graph.Node, _ []tensor.Value) { n.Inputs[i] = "" })
			change("fewer inputs of the node", func(_ *graph.Model, n *graph.Node, _ []tensor.Value) { n.Inputs = n.Inputs[:i] })
		}
		for i, v := range in {
			for what, changed := range operandsLike(v.(*tensor.Tensor)) {
				change(what, func(m *graph.Model, _ *graph.Node, in []tensor.Value) {
					in[i], m.Graph.Inputs[i].Type = changed, graph.Type{}
				})
			}
		}
		for i, constant := range m.Graph.Nodes {
			if constant.Op != "Constant" {
				continue
			}
			for what, changed := range operandsLike(constant.Attr("value").Tensor) {
				if x, ok := changed.(*tensor.Tensor); ok {
					change("a constant of "+what, func(m *graph.Model, _ *graph.Node, _ []tensor.Value) {
						m.Graph.Nodes[i].Attrs = []*graph.Attr{graph.TensorAttr("value", x)}
					})
				}
			}
		}
	}
	t.Logf("%d runs", k/each)
}

// runBodies runs a model within a little memory and time.
func runBodies(ctx context.Context, m *graph.Model, in []tensor.Value, plain bool) error {
	s, err := byname.New(m, runtime.Options{Threads: 1, MemoryLimit: 16 << 20, NoOptimize: plain})
	if err != nil {
		return err
	}
	defer s.Close()
	values := map[string]tensor.Value{}
	for i, v := range m.Graph.Inputs {
		values[v.Name] = in[i]
	}
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	_, err = s.RunValues(ctx, values)
	return err
}
