package optimize

import "github.com/nacre-ml/nacre/runtime/graph"

// unfoldSparse replaces sparse constants of a graph by Constant nodes, which give them
// all their elements.
func unfoldSparse(s *Scope) (*Edit, error) {
	if len(s.Graph.Sparse) == 0 {
		return nil, nil
	}
	e := newEdit()
	e.Sparse = map[string]*graph.Node{}
	for _, init := range s.Graph.Sparse {
		e.Sparse[init.Name] = &graph.Node{Name: init.Name, Op: "Constant", Version: 13, Outputs: []string{init.Name},
			Attrs: []*graph.Attr{{Name: "sparse_value", Kind: graph.AttrSparse, Sparse: init.Tensor}}}
	}
	return e, nil
}
