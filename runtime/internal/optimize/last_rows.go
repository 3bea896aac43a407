package optimize

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// LastRows returns a model with only the last row of each named output: [batch,1,n] instead of
// [batch,rows,n]. If only the last row of a node's results is needed, and the node computes each
// row on its own, it computes that row alone. If no node or constant defines an output, or it is an
// input, the error is graph.ErrUnsupported.
func LastRows(m *graph.Model, outputs []string, c Context) (*graph.Model, error) {
	for _, name := range outputs {
		if slices.ContainsFunc(m.Graph.Inputs, func(v *graph.Value) bool { return v.Name == name }) || !defines(m.Graph, name) {
			err := graph.Errorf(graph.ErrUnsupported, "output %q is computed by no node, so that its last row is not computed alone; it is an input", name)
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
	define(g, names)
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

// rowCutter makes nodes compute the last rows of values.
type rowCutter struct {
	*matcher
	readers map[string][]*graph.Node // nil for bodies
	cutters map[*graph.Node]bool     // nodes that take the last row of an output of the graph
	rowwise map[*graph.Node]bool     // cutters, and nodes of which only the last row is needed
	last    map[string]bool          // outputs of the latter
	cuts    map[string]string        // by value: the name of its last row
}

func newRowCutter(s *Scope) *rowCutter {
	return &rowCutter{
		matcher: newMatcher(s), readers: map[string][]*graph.Node{}, cutters: map[*graph.Node]bool{}, rowwise: map[*graph.Node]bool{},
		last: map[string]bool{}, cuts: map[string]string{},
	}
}

// slice returns a node that takes the last row of x.
func (r *rowCutter) slice(x, y string) *graph.Node {
	return &graph.Node{Name: y, Op: "Slice", Version: 13, Inputs: []string{x, r.vector(-1), r.vector(math.MaxInt), r.vector(-2)}, Outputs: []string{y}}
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
	for _, name := range n.Outputs {
		if r.isOutput(name) {
			return
		}
		for _, reader := range r.readers[name] {
			if !r.rowwise[reader] || !r.onlyRows(reader, name) {
				return
			}
		}
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
	by := *n
	by.Inputs = slices.Clone(n.Inputs)
	var nodes []*graph.Node
	for _, i := range r.rows(n) {
		x := n.Inputs[i]
		if r.last[x] {
			continue
		}
		if r.cuts[x] == "" {
			r.cuts[x] = r.fresh(x)
			nodes = append(nodes, r.slice(x, r.cuts[x]))
		}
		by.Inputs[i] = r.cuts[x]
	}
	r.edit.Replace[n] = append(nodes, &by)
}

// rowOperands lists, by operator, the inputs of which a row of the outputs needs only the same row.
// Nil stands for all inputs.
var rowOperands = map[string][]int{
	"MatMul": {0}, fusedMatMul: {0, 3}, "Gemm": {0, 2}, fusedGemm: {0, 2, 3}, microsoft + ".FusedMatMul": {0}, microsoft + ".MatMulNBits": {0},
	"LayerNormalization": {0}, "RMSNormalization": {0}, "SimplifiedLayerNormalization": {0}, microsoft + ".SimplifiedLayerNormalization": {0},
	microsoft + ".SkipLayerNormalization": {0, 1}, microsoft + ".SkipSimplifiedLayerNormalization": {0, 1},
	"Softmax": {0}, "LogSoftmax": {0}, "Split": {0}, "Concat": nil,
	"Abs": nil, "Add": nil, "Cast": nil, "Celu": nil, "Clip": nil, "Div": nil, "Elu": nil, "Erf": nil, "Exp": nil, "Gelu": nil, "HardSigmoid": nil,
	"HardSwish": nil, "Identity": nil, "LeakyRelu": nil, "Log": nil, "Max": nil, "Min": nil, "Mish": nil, "Mul": nil, "Neg": nil, "PRelu": nil, "Pow": nil,
	"Reciprocal": nil, "Relu": nil, "Selu": nil, "Sigmoid": nil, "Softplus": nil, "Softsign": nil, "Sqrt": nil, "Sub": nil, "SwiGLU": nil, "Swish": nil,
	"Tanh": nil, "ThresholdedRelu": nil, "Where": nil, microsoft + ".BiasGelu": nil, microsoft + ".FastGelu": nil, microsoft + ".Gelu": nil,
	microsoft + ".QuickGelu": nil,
}

// rows returns the inputs of a node with more than one row, if row i of each output, along the last
// axis but one, follows from row i of these inputs and from the other inputs. Otherwise it returns
// nil.
func (r *rowCutter) rows(n *graph.Node) []int {
	if r.cutters[n] {
		return []int{0}
	}
	name := n.Op
	if n.Domain != "" {
		name = n.Domain + "." + n.Op
	}
	operands, ok := rowOperands[name]
	if !ok || !r.bound[n] || !r.keepsRows(n) {
		return nil
	}
	var list []int
	for i, x := range n.Inputs {
		if x == "" || operands != nil && !slices.Contains(operands, i) {
			continue
		}
		rank, ok := r.rank(x)
		if !ok {
			return nil
		}
		if rank >= 2 && !r.dims(x)[rank-2].Is(1) {
			list = append(list, i)
		}
	}
	return list
}

// keepsRows reports whether a node of rowOperands computes along the last axis alone.
func (r *rowCutter) keepsRows(n *graph.Node) bool {
	out, ok := r.rank(n.Outputs[0])
	if !ok || out < 2 {
		return false
	}
	switch n.Op {
	case "MatMul", "MatMulNBits", "FusedMatMul", "Gemm", "FusedGemm":
		b, ok := r.rank(n.Inputs[1])
		return ok && b >= 2 && intOr(n, "transA", 0) == 0 && intOr(n, "transBatchA", 0) == 0
	case "LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization":
		axis := intOr(n, "axis", -1)
		return (axis == -1 || axis == int64(out-1)) && !slices.ContainsFunc(n.Inputs[1:], r.hasRows)
	case "Softmax", "LogSoftmax":
		axis := intOr(n, "axis", -1)
		return n.Version >= 13 && (axis == -1 || axis == int64(out-1))
	case "Split", "Concat":
		axis := intOr(n, "axis", 0)
		return axis == -1 || axis == int64(out-1)
	}
	// Before version 7 the second operand may be aligned with the first axes.
	return len(n.Inputs) == 1 || n.Domain != "" || n.Version >= 7
}

// hasRows reports whether a value may have several rows.
func (r *rowCutter) hasRows(name string) bool {
	rank, ok := r.rank(name)
	return name != "" && (!ok || rank >= 2 && !r.dims(name)[rank-2].Is(1))
}
