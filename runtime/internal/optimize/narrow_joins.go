package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// joins has the caches that nodes Concat extend, with the new rows after the past, by the name of
// the result. A narrow one is widened for its readers, and attention reads it as it is.
type joins struct {
	caches map[string]joined
	names  *graph.Names
}

// joined is a cache before it is narrow: its element type, rank and growing axis.
type joined struct {
	dtype      tensor.DType
	rank, axis int
	wide       string // the name of its widened elements
}

func newJoins(g *graph.Graph) joins {
	return joins{caches: map[string]joined{}, names: graph.NamesOf(g)}
}

// joined adds a state of type t if a Concat extends it along its axis, and reports whether one does.
// Only that node may read the elements of the input, and only nodes of the main graph those of the
// output. Codes of int8 have scales for whole rows, so their Concat must not be along the last axis.
func (n *cacheNarrower) joined(g *graph.Graph, s graph.State, t graph.Type) (bool, error) {
	x := joined{dtype: t.DType, rank: cacheRank, axis: s.Axis}
	if t.Dims != nil {
		x.rank = len(t.Dims)
	}
	at := slices.IndexFunc(g.Nodes, func(node *graph.Node) bool { return x.extends(node, s) })
	if at < 0 {
		return false, nil
	}
	by := g.Nodes[at]
	if n.dtype == tensor.I8 && x.axis == x.rank-1 {
		return false, graph.Errorf(graph.ErrUnsupported,
			"the cache of state %q cannot be %v: node %q of operator %s adds to its last axis, and a scale is for whole "+
				"rows; take float16", s.Input, n.dtype, by.Name, opName(by))
	}
	for _, node := range g.Nodes {
		captures := slices.Contains(node.Captured(), s.Input) || slices.Contains(node.Captured(), s.Output)
		reads := slices.Contains(node.Inputs, s.Input) || is(node, "Shape") && slices.Contains(node.Inputs, s.Output)
		if captures || reads && node != by && !n.extents(node, t) {
			return false, graph.Errorf(graph.ErrUnsupported,
				"the cache of state %q cannot be %v: node %q of operator %s reads its elements beside the Concat %q, or in a "+
					"graph of its own; leave the type of caches as the model has it", s.Input, n.dtype, node.Name, opName(node), by.Name)
		}
	}
	x.wide = n.joins.names.New(s.Output)
	n.joins.caches[s.Output] = x
	return true, nil
}

// extends reports whether a node is a Concat of the input of s and its new rows.
func (x *joined) extends(n *graph.Node, s graph.State) bool {
	if !is(n, "Concat") || len(n.Inputs) != 2 || n.Inputs[0] != s.Input || n.Inputs[1] == s.Input ||
		!slices.Contains(n.Outputs, s.Output) {
		return false
	}
	axis := n.Attr("axis")
	return axis != nil && (axis.Int == int64(x.axis) || axis.Int == int64(x.axis-x.rank))
}

// cacheRank is the number of axes of a cache, [batch,heads,rows,size].
const cacheRank = 4

// nodes returns what replaces a node: a Concat of values of type d with its conversions, or a reader
// of widened elements.
func (j *joins) nodes(n *graph.Node, d tensor.DType) []*graph.Node {
	joins := func(name string) bool { return j.caches[name].wide != "" }
	switch {
	case slices.ContainsFunc(n.Outputs, joins):
		return j.join(n, j.caches[n.Outputs[0]], d)
	case is(n, "Shape") || !slices.ContainsFunc(n.Inputs, joins):
		return []*graph.Node{n}
	}
	own := *n
	own.Inputs = slices.Clone(n.Inputs)
	codes := d == tensor.I8 && j.attends(n)
	if codes {
		own.Domain = nacreDomain
		own.Op, _, _ = narrowForm(n)
	}
	for i, name := range n.Inputs {
		if joins(name) && !(codes && (i == keyInput || i == valueInput)) {
			own.Inputs[i] = j.caches[name].wide
		}
	}
	return []*graph.Node{&own}
}

// join returns the nodes that extend a cache of type d, and widen it.
func (j *joins) join(n *graph.Node, x joined, d tensor.DType) []*graph.Node {
	past, rows, out := n.Inputs[0], n.Inputs[1], n.Outputs[0]
	if d == tensor.I8 {
		return []*graph.Node{
			{Name: n.Name, Domain: nacreDomain, Op: "AppendCodes", Version: 1, Inputs: []string{past, rows},
				Outputs: []string{out}, Attrs: []*graph.Attr{intAttr("axis", int64(x.axis))}},
			{Domain: nacreDomain, Op: "WidenCodes", Version: 1, Inputs: []string{out}, Outputs: []string{x.wide},
				Attrs: []*graph.Attr{typeAttr("to", x.dtype)}},
		}
	}
	own := *n
	own.Inputs = []string{past, j.names.New(rows)}
	return []*graph.Node{cast(rows, own.Inputs[1], d), &own, cast(out, x.wide, x.dtype)}
}

// The inputs of attention with keys and values.
const (
	keyInput   = 1
	valueInput = 2
)

// attends reports whether a node is attention without a past that reads joined caches of codes,
// [batch,heads,rows,size], as keys and values.
func (j *joins) attends(n *graph.Node) bool {
	_, past, ok := narrowForm(n)
	if !ok || is(n, "com.microsoft.GroupQueryAttention") || len(n.Inputs) <= valueInput {
		return false
	}
	named := func(list []string, i int) bool { return i < len(list) && list[i] != "" }
	if named(n.Inputs, past) || named(n.Inputs, past+1) || named(n.Outputs, 1) || named(n.Outputs, 2) {
		return false
	}
	for _, name := range n.Inputs[keyInput : valueInput+1] {
		if x, ok := j.caches[name]; !ok || x.rank != cacheRank {
			return false
		}
	}
	return true
}

// cast returns the node that converts a value to type d.
func cast(from, to string, d tensor.DType) *graph.Node {
	return &graph.Node{Op: "Cast", Version: 13, Inputs: []string{from}, Outputs: []string{to},
		Attrs: []*graph.Attr{typeAttr("to", d)}}
}
