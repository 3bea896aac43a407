package optimize

import "github.com/nacre-ml/nacre/runtime/graph"

// split is a Reshape of [batch*rows,n] to [batch,rows,n]: a matrix with the rows of one sequence
// after another. Nodes before it compute the last row of each sequence as [batch,n].
type split struct {
	node    *graph.Node
	extents string // [batch,1] as a value, or [batch,0] without rows; "" before the first cut
}

// splits reports whether n splits the rows of a matrix into sequences, and keeps its columns.
func (r *rowCutter) splits(n *graph.Node) bool {
	if n.Op != "Reshape" || n.Domain != "" || len(n.Inputs) != 2 {
		return false
	}
	x, y := r.dims(n.Inputs[0]), r.dims(n.Outputs[0])
	return len(x) == 2 && len(y) == 3 && x[1].IsKnown() && x[1].Same(y[2])
}

// enter notes the split that n, with these readers, comes before or is. It returns false if the
// readers need rows of unlike sequences, or if n may read other rows than those of the split.
func (r *rowCutter) enter(n *graph.Node, readers []*graph.Node) bool {
	var s *split
	for i, reader := range readers {
		if i == 0 {
			s = r.split[reader]
		} else if r.split[reader] != s {
			return false
		}
	}
	switch {
	case s == nil && r.splits(n):
		r.split[n] = &split{node: n}
		return true
	case s == nil:
		return true
	case r.splits(n):
		return false
	}
	for _, i := range r.rows(n) {
		if !r.hasRows(s, n.Inputs[i]) {
			return false
		}
	}
	r.split[n] = s
	return true
}

// hasRows reports whether x has the rows of a split, and a known number of columns.
func (r *rowCutter) hasRows(s *split, x string) bool {
	d := r.dims(x)
	return len(d) == 2 && d[0].Same(r.dims(s.node.Inputs[0])[0]) && d[1].IsKnown()
}

// cutSplit returns nodes that take the last row of each sequence of x as [batch,n].
func (r *rowCutter) cutSplit(s *split, x, y string) []*graph.Node {
	columns, _ := r.dims(x)[1].Value()
	batch, shape, sequences, last := r.fresh(x), r.fresh(x), r.fresh(x), r.fresh(x)
	nodes := []*graph.Node{
		{Name: batch, Op: "Slice", Version: 13, Inputs: []string{s.node.Inputs[1], r.vector(0), r.vector(2)}, Outputs: []string{batch}},
		{Name: shape, Op: "Concat", Version: 13, Inputs: []string{batch, r.vector(columns)}, Outputs: []string{shape},
			Attrs: []*graph.Attr{graph.IntAttr("axis", 0)}},
		r.reshape(x, shape, sequences),
		r.slice(sequences, last),
		r.reshape(last, r.vector(-1, columns), y),
	}
	if s.extents == "" {
		s.extents = r.fresh(last)
		nodes = append(nodes, &graph.Node{Name: s.extents, Op: "Shape", Version: 15, Inputs: []string{last},
			Outputs: []string{s.extents}, Attrs: []*graph.Attr{graph.IntAttr("end", 2)}})
	}
	return nodes
}

// join returns nodes that compute the last rows of the result of a split.
func (r *rowCutter) join(s *split) []*graph.Node {
	x, y := s.node.Inputs[0], s.node.Outputs[0]
	if !r.last[x] {
		whole := r.fresh(y)
		by := *s.node
		by.Outputs = []string{whole}
		return []*graph.Node{&by, r.slice(whole, y)}
	}
	columns, _ := r.dims(x)[1].Value()
	shape := r.fresh(y)
	return []*graph.Node{
		{Name: shape, Op: "Concat", Version: 13, Inputs: []string{s.extents, r.vector(columns)}, Outputs: []string{shape},
			Attrs: []*graph.Attr{graph.IntAttr("axis", 0)}},
		r.reshape(x, shape, y),
	}
}

func (r *rowCutter) reshape(x, shape, y string) *graph.Node {
	return &graph.Node{Name: y, Op: "Reshape", Version: 13, Inputs: []string{x, shape}, Outputs: []string{y}}
}
