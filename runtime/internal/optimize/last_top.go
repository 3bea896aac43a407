package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// LastTop returns a model that computes, in place of an output, the k largest elements of its last
// row as TopK does: [batch,1,k] of [batch,rows,n]. A further output, the last, has their indices. The
// error is as for LastRows.
func LastTop(m *graph.Model, output string, k int, c Context) (*graph.Model, error) {
	last, err := LastRows(m, []string{output}, c)
	if err != nil {
		return nil, err
	}
	s := newScope(c, last, last.Graph, nil, newNames(last))
	g, row := *last.Graph, map[string]string{output: s.fresh(output)}
	g.Nodes = slices.Clone(g.Nodes)
	for i, n := range g.Nodes {
		g.Nodes[i] = renamed(n, row)
	}
	g.Initializers = slices.Clone(g.Initializers)
	for i, init := range g.Initializers {
		if init.Name == output {
			g.Initializers[i] = &graph.Initializer{Name: row[output], Tensor: init.Tensor}
		}
	}
	places, number := s.fresh(output+"_indices"), newMatcher(s)
	g.Nodes = append(g.Nodes, &graph.Node{Name: output, Op: "TopK", Version: 11,
		Inputs: []string{row[output], number.vector(k)}, Outputs: []string{output, places}})
	g.Initializers = append(g.Initializers, number.edit.Add...)
	g.Outputs = slices.Clone(g.Outputs)
	at := slices.IndexFunc(g.Outputs, func(v *graph.Value) bool { return v.Name == output })
	best := *g.Outputs[at]
	best.Type.Dims = slices.Clone(best.Type.Dims)
	if n := len(best.Type.Dims); n > 0 {
		best.Type.Dims[n-1] = graph.Known(k)
	}
	g.Outputs[at] = &best
	g.Outputs = append(g.Outputs, &graph.Value{Name: places, Type: graph.TensorOf(tensor.I64, best.Type.Dims)})
	top := *last
	top.Graph = &g
	return &top, nil
}
