package optimize_test

import (
	"fmt"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optimize"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestFoldChain folds a chain of nodes that each double a constant. Folding must stop, and leave
// the rest to a run and its memory limit.
func TestFoldChain(t *testing.T) {
	g := &graph.Graph{Name: "chain",
		Initializers: []*graph.Initializer{{Name: "v0", Tensor: tensor.New(tensor.F32, 1024)}}}
	const links = 60
	for i := range links {
		from := fmt.Sprint("v", i)
		axis := &graph.Attr{Name: "axis", Kind: graph.AttrInt}
		g.Nodes = append(g.Nodes, &graph.Node{Op: "Concat", Version: 13, Inputs: []string{from, from},
			Outputs: []string{fmt.Sprint("v", i+1)}, Attrs: []*graph.Attr{axis}})
	}
	g.Outputs = []*graph.Value{{Name: fmt.Sprint("v", links)}}
	m := &graph.Model{File: "chain", Graph: g, Opsets: []graph.Opset{{Version: 13}}}
	m, err := optimize.Run(m, optimize.Passes(), contextOf(standard.Registry()))
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, init := range m.Graph.Initializers {
		total += len(init.Tensor.Bytes())
	}
	if total > 256<<20 || len(m.Graph.Nodes) == 0 {
		t.Errorf("%d bytes of constants and %d nodes are left", total, len(m.Graph.Nodes))
	}
}
