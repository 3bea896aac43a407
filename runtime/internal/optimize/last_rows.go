package optimize

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// LastRows returns a model with only the last row of each named output: [batch,1,n] instead of
// [batch,rows,n]. If only the last row of a node's results is needed, and the node computes each
// row on its own, it computes that row alone. If no node or constant defines an output, or it is an
// input, the error is graph.ErrUnsupported.
func LastRows(m *graph.Model, outputs []string, c Context) (*graph.Model, error) {
	for _, name := range outputs {
		if slices.ContainsFunc(m.Graph.Inputs, func(v *graph.Value) bool { return v.Name == name }) ||
			!defines(m.Graph, name) {
			err := graph.Errorf(graph.ErrUnsupported,
				"output %q is computed by no node, so that its last row is not computed alone; it is an input", name)
			return nil, &graph.Error{Stage: "optimize", File: m.File, Offset: -1, Err: err}
		}
	}
	cut := *m
	cut.Graph = withLastRows(newScope(c, m, m.Graph, nil, newNames(m)), outputs)
	s := newScope(c, &cut, cut.Graph, nil, newNames(&cut))
	e := cutEarly(s, outputs)
	if err := c.done(); err != nil {
		return nil, err
	}
	cut.Graph = e.apply(cut.Graph)
	return &cut, nil
}

// defines reports whether a graph defines a name.
func defines(g *graph.Graph, name string) bool {
	names := map[string]bool{}
	define(g, names, true)
	return names[name]
}

// withLastRows returns a graph that takes the last rows of outputs.
func withLastRows(s *Scope, outputs []string) *graph.Graph {
	g := *s.Graph
	rows := newRowCutter(s)
	whole := map[string]string{}
	g.Outputs = slices.Clone(g.Outputs)
	for i, v := range g.Outputs {
		if !slices.Contains(outputs, v.Name) || whole[v.Name] != "" {
			continue
		}
		whole[v.Name] = s.fresh(v.Name)
		last := *v
		if d := slices.Clone(v.Type.Dims); len(d) >= 2 {
			d[len(d)-2] = graph.Known(1)
			last.Type.Dims = d
		}
		g.Outputs[i] = &last
	}
	g.Nodes = slices.Clone(g.Nodes)
	for i, n := range g.Nodes {
		g.Nodes[i] = renamed(n, whole)
	}
	g.Initializers = slices.Clone(g.Initializers)
	for i, init := range g.Initializers {
		if name := whole[init.Name]; name != "" {
			g.Initializers[i] = &graph.Initializer{Name: name, Tensor: init.Tensor}
		}
	}
	for _, v := range g.Outputs {
		if name := whole[v.Name]; name != "" {
			g.Nodes = append(g.Nodes, rows.slice(name, v.Name))
			delete(whole, v.Name)
		}
	}
	g.Initializers = append(g.Initializers, rows.edit.Add...)
	return &g
}

// rowCut is a value of which the last row is taken, or the last row of each sequence of a split.
type rowCut struct {
	value string
	split *split
}

// rowCutter makes nodes compute the last rows of values.
type rowCutter struct {
	*matcher
	readers map[string][]*graph.Node // nil for bodies
	cutters map[*graph.Node]bool     // nodes that take the last row of an output of the graph
	rowwise map[*graph.Node]bool     // cutters, and nodes of which only last rows are needed
	split   map[*graph.Node]*split   // by rowwise node of which the last row of each sequence is needed
	last    map[string]bool          // outputs of the latter
	cuts    map[rowCut]string        // the name of the last row, or rows
}

func newRowCutter(s *Scope) *rowCutter {
	return &rowCutter{
		matcher: newMatcher(s), readers: map[string][]*graph.Node{}, cutters: map[*graph.Node]bool{},
		rowwise: map[*graph.Node]bool{}, split: map[*graph.Node]*split{},
		last: map[string]bool{}, cuts: map[rowCut]string{},
	}
}

// slice returns a node that takes the last row of x.
func (r *rowCutter) slice(x, y string) *graph.Node {
	return &graph.Node{Name: y, Op: "Slice", Version: 13,
		Inputs: []string{x, r.vector(-1), r.vector(math.MaxInt), r.vector(-2)}, Outputs: []string{y}}
}

// cutEarly takes the last rows of the operands of nodes that compute each row on its own, instead
// of the last rows of their outputs.
func cutEarly(s *Scope, outputs []string) *Edit {
	r := newRowCutter(s)
	for _, n := range s.Graph.Nodes {
		for _, name := range n.Inputs {
			r.readers[name] = append(r.readers[name], n)
		}
		for _, name := range n.Captured() {
			r.readers[name] = append(r.readers[name], nil)
		}
	}
	for _, name := range outputs {
		if n := s.maker(name); n != nil {
			r.cutters[n], r.rowwise[n] = true, true
		}
	}
	for _, n := range slices.Backward(s.Nodes) {
		r.look(n)
	}
	for _, n := range s.Nodes {
		r.rewrite(n)
	}
	return r.edit
}

// look adds n to rowwise if it computes each row on its own and only the last row is needed.
func (r *rowCutter) look(n *graph.Node) {
	if r.rowwise[n] || len(r.rows(n)) == 0 {
		return
	}
	var readers []*graph.Node
	for _, name := range n.Outputs {
		if r.isOutput(name) {
			return
		}
		for _, reader := range r.readers[name] {
			if !r.rowwise[reader] || !r.onlyRows(reader, name) {
				return
			}
			readers = append(readers, reader)
		}
	}
	if !r.enter(n, readers) {
		return
	}
	r.rowwise[n] = true
	for _, name := range n.Outputs {
		r.last[name] = name != ""
	}
}

// onlyRows reports whether a node reads a value only row by row.
func (r *rowCutter) onlyRows(n *graph.Node, name string) bool {
	rows := r.rows(n)
	for i, in := range n.Inputs {
		if in == name && !slices.Contains(rows, i) {
			return false
		}
	}
	return true
}

// rewrite makes a node read last rows. If the input of a cutter is a last row already, it removes
// the cutter.
func (r *rowCutter) rewrite(n *graph.Node) {
	if !r.rowwise[n] {
		return
	}
	if r.cutters[n] {
		if r.last[n.Inputs[0]] {
			r.edit.bypass(r.Scope, n, n.Inputs[0])
		}
		return
	}
	if s := r.split[n]; s != nil && s.node == n {
		r.edit.Replace[n] = r.join(s)
		return
	}
	by := *n
	by.Inputs = slices.Clone(n.Inputs)
	var nodes []*graph.Node
	for _, i := range r.rows(n) {
		x := n.Inputs[i]
		if r.last[x] {
			continue
		}
		of := rowCut{x, r.split[n]}
		if r.cuts[of] == "" {
			r.cuts[of] = r.fresh(x)
			if of.split != nil {
				nodes = append(nodes, r.cutSplit(of.split, x, r.cuts[of])...)
			} else {
				nodes = append(nodes, r.slice(x, r.cuts[of]))
			}
		}
		by.Inputs[i] = r.cuts[of]
	}
	r.edit.Replace[n] = append(nodes, &by)
}

// rows returns the inputs of a node with more than one matrix row that the node reads row by row.
func (r *rowCutter) rows(n *graph.Node) []int {
	if r.cutters[n] {
		return []int{0}
	}
	if !r.bound[n] {
		return nil
	}
	if r.splits(n) {
		return []int{0}
	}
	out, ok := r.rank(n.Outputs[0])
	if !ok || out < 2 {
		return nil
	}
	in := make([]*op.Value, len(n.Inputs))
	for i, x := range n.Inputs {
		if x != "" {
			in[i] = r.value(x)
		}
	}
	var list []int
	for _, i := range kit.RowInputs(r.row(n), n, in, out) {
		if i >= len(in) || in[i] == nil {
			continue
		}
		if _, ok := in[i].Rank(); !ok {
			return nil
		}
		if kit.MayHaveRows(in[i]) {
			list = append(list, i)
		}
	}
	return list
}
