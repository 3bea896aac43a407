package optimize

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
)

// unfoldSparse replaces sparse constants of a graph, and Constant nodes with a sparse value, by
// Constant nodes with all elements. If the budget lacks the memory of one, it returns an error. The
// planner reports invalid ones.
func unfoldSparse(s *Scope) (*Edit, error) {
	e := newEdit()
	for _, init := range s.Graph.Sparse {
		n := &graph.Node{Name: init.Name, Op: "Constant", Version: 13, Outputs: []string{init.Name},
			Attrs: []*graph.Attr{{Name: "sparse_value", Kind: graph.AttrSparse, Sparse: init.Tensor}}}
		by, err := s.unfolded(n)
		if err != nil {
			return nil, err
		}
		if by == nil {
			by = n
		}
		if e.Sparse == nil {
			e.Sparse = map[string]*graph.Node{}
		}
		e.Sparse[init.Name] = by
	}
	for _, n := range s.Nodes {
		by, err := s.unfolded(n)
		if err != nil {
			return nil, err
		}
		if by != nil {
			e.Replace[n] = []*graph.Node{by}
		}
	}
	return e, nil
}

// unfolded returns a node with all elements of the sparse value of a node. If the node has no such
// value, or an invalid one, it returns nil.
func (s *Scope) unfolded(n *graph.Node) (*graph.Node, error) {
	if !is(n, "Constant") || len(n.Attrs) != 1 || n.Attrs[0].Name != "sparse_value" || n.Attrs[0].Sparse == nil {
		return nil, nil
	}
	value, err := kit.NewSparse(n.Attrs[0].Sparse)
	if err != nil {
		return nil, nil
	}
	if err := s.take(value.Bytes()); err != nil {
		return nil, graph.Errorf(graph.ErrMemory, "all elements of the sparse constant %q, %v%v: %w", n.Outputs[0],
			value.DType, value.Shape, err)
	}
	by := *n
	by.Attrs = []*graph.Attr{{Name: "value", Kind: graph.AttrTensor, Tensor: value.Dense()}}
	return &by, nil
}
