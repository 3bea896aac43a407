package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// maxTableNodes bounds the nodes that a table replaces. codeCount is the number of codes of 8 bits.
const (
	maxTableNodes = 64
	codeCount     = 256
)

// codeChain is a set of elementwise nodes between values of codes.
type codeChain struct {
	*matcher
	nodes  []*graph.Node
	leaves []string // codes that the chain starts from
}

// codedTable computes y by a table, if it is a function of the codes of one value.
func (m *matcher) codedTable(root *graph.Node, y coded) (by, used []*graph.Node) {
	c := &codeChain{matcher: m}
	if !c.take(root) {
		return nil, nil
	}
	for i := 0; i < len(c.leaves); {
		from := m.producer(c.leaves[i], quantizers...)
		if from == nil || !c.inside(from) || !c.extend(from) {
			i++
			continue
		}
		i = 0
	}
	if len(c.leaves) != 1 || !m.sameDims(c.leaves[0], y.codes) || !c.closed(root) {
		return nil, nil
	}
	table := c.table(root.Outputs[0])
	if table == nil {
		return nil, nil
	}
	return []*graph.Node{instead(root, nacreDomain, "CodeTable", 1, []string{c.leaves[0], m.add("table", table)})}, nil
}

// convert appends to list a CodeTable that computes value from the codes of the chain's only leaf.
// The table applies the chain, a DequantizeLinear, and then to, a QuantizeLinear. If there is no
// table, convert appends nothing and reports false.
func (c *codeChain) convert(to *graph.Node, value string, list *[]*graph.Node) bool {
	from := *to
	from.Inputs = append([]string{c.nodes[0].Outputs[0]}, to.Inputs[1:]...)
	c.nodes = append(c.nodes, &from)
	table := c.table(to.Outputs[0])
	if table == nil {
		return false
	}
	*list = append(*list, &graph.Node{Name: value, Domain: nacreDomain, Op: "CodeTable", Version: 1,
		Inputs: []string{c.leaves[0], c.add("table", table)}, Outputs: []string{value}})
	return true
}

// take adds a node and the nodes that compute its inputs, back to values of codes.
func (c *codeChain) take(n *graph.Node) bool {
	if slices.Contains(c.nodes, n) {
		return true
	}
	if c.nodes = append(c.nodes, n); len(c.nodes) > maxTableNodes {
		return false
	}
	if is(n, dequantizers...) {
		p, ok := c.point(n, n.Inputs[0])
		if !ok || c.constant(p.scale) == nil || c.constant(p.zero) == nil {
			return false
		}
		if leaf := c.canonical(p.codes); !slices.Contains(c.leaves, leaf) {
			c.leaves = append(c.leaves, leaf)
		}
		return true
	}
	if is(n, quantizers...) {
		if p, ok := c.point(n, n.Outputs[0]); !ok || c.constant(p.scale) == nil || c.constant(p.zero) == nil {
			return false
		}
	} else if !c.row(n).Elementwise {
		return false
	}
	for _, name := range n.Inputs {
		if t := c.constant(name); name == "" || t != nil && t.Len() == 1 {
			continue
		}
		if p := c.producer(name); p == nil || !c.take(p) {
			return false
		}
	}
	return true
}

// inside reports whether only nodes of the chain read the first output of a node.
func (c *codeChain) inside(n *graph.Node) bool {
	name := c.canonical(n.Outputs[0])
	return !c.escaping[name] && !slices.ContainsFunc(c.consumers[name],
		func(by *graph.Node) bool { return !slices.Contains(c.nodes, by) })
}

// extend replaces a leaf by from, the node that quantises it, and the nodes before it. If that
// fails, it changes nothing and reports false.
func (c *codeChain) extend(from *graph.Node) bool {
	nodes, leaves := slices.Clone(c.nodes), slices.Clone(c.leaves)
	leaf := c.canonical(from.Outputs[0])
	c.leaves = slices.DeleteFunc(c.leaves, func(name string) bool { return name == leaf })
	if c.take(from) && len(c.leaves) > 0 {
		return true
	}
	c.nodes, c.leaves = nodes, leaves
	return false
}

// closed reports whether only the chain reads the values between the leaves and the result.
// Dequantised leaves may have other readers.
func (c *codeChain) closed(root *graph.Node) bool {
	return !slices.ContainsFunc(c.nodes,
		func(n *graph.Node) bool { return n != root && !is(n, dequantizers...) && !c.inside(n) })
}

// sorted returns the nodes in topological order.
func (c *codeChain) sorted() []*graph.Node { return graph.Sorted(c.nodes) }

// table returns, for each code, the code that the chain computes from it. If a node cannot be
// evaluated, it returns nil.
func (c *codeChain) table(result string) *tensor.Tensor {
	d := c.dtype(c.leaves[0])
	codes := tensor.New(d, codeCount)
	for i := range codes.Bytes() {
		codes.Bytes()[i] = byte(i)
	}
	known := map[string]*tensor.Tensor{c.leaves[0]: codes}
	for _, n := range c.sorted() {
		in := make([]*tensor.Tensor, len(n.Inputs))
		for i, name := range n.Inputs {
			if in[i] = known[c.canonical(name)]; in[i] == nil && name != "" {
				in[i] = c.constant(name)
			}
		}
		out, err := c.Eval(n, in)
		if err != nil || out[0] == nil {
			return nil
		}
		known[c.canonical(n.Outputs[0])] = out[0]
	}
	t := known[c.canonical(result)]
	if t == nil || t.Len() != codeCount {
		return nil
	}
	t, err := t.Reshape(tensor.Shape{codeCount})
	if err != nil {
		return nil
	}
	return t
}
