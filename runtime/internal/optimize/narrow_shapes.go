package optimize

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// shape returns the nodes that replace a Shape of a cache that becomes int8: the size of a row is the
// number of its elements, without its scales. It returns nil for other nodes.
func (n *cacheNarrower) shape(node *graph.Node) []*graph.Node {
	if n.dtype != tensor.I8 || !is(node, "Shape") {
		return nil
	}
	t, ok := n.wide[node.Inputs[0]]
	if !ok {
		return nil
	}
	start, end, last := shapeAxes(node, t)
	size, known := rowSize(t)
	if end <= last || !known {
		return nil
	}
	row := constantOf(node.Outputs[0], int64(size))
	if start == last {
		return []*graph.Node{row}
	}
	names := n.joins.names
	row.Outputs = []string{names.New(node.Outputs[0])}
	before := &graph.Node{Name: node.Name, Op: "Shape", Version: 15, Inputs: node.Inputs,
		Outputs: []string{names.New(node.Outputs[0])},
		Attrs:   []*graph.Attr{intAttr("start", int64(start)), intAttr("end", int64(last))}}
	join := &graph.Node{Op: "Concat", Version: 13, Inputs: []string{before.Outputs[0], row.Outputs[0]},
		Outputs: node.Outputs, Attrs: []*graph.Attr{intAttr("axis", 0)}}
	return []*graph.Node{before, row, join}
}

// extents reports whether a node reads only extents of a cache of type t that it has when it is
// narrow, too, or that are known.
func (n *cacheNarrower) extents(node *graph.Node, t graph.Type) bool {
	if n.dtype != tensor.I8 || !is(node, "Shape") {
		return is(node, "Shape")
	}
	_, end, last := shapeAxes(node, t)
	_, known := rowSize(t)
	return known || end <= last
}

// shapeAxes returns the axes from start up to end that a Shape of a cache lists, and the last axis.
func shapeAxes(n *graph.Node, t graph.Type) (start, end, last int) {
	rank := cacheRank
	if t.Dims != nil {
		rank = len(t.Dims)
	}
	axis := func(name string, missing int) int {
		i := int(intOr(n, name, int64(missing)))
		if i < 0 {
			i += rank
		}
		return min(max(i, 0), rank)
	}
	return axis("start", 0), axis("end", rank), rank - 1
}

// rowSize returns the last extent of a type if it is known.
func rowSize(t graph.Type) (int, bool) {
	if len(t.Dims) == 0 {
		return 0, false
	}
	return t.Dims[len(t.Dims)-1].Value()
}

// constantOf returns the node of a vector of one integer.
func constantOf(name string, i int64) *graph.Node {
	x := tensor.New(tensor.I64, 1)
	tensor.View[int64](x)[0] = i
	return &graph.Node{Op: "Constant", Version: 13, Outputs: []string{name},
		Attrs: []*graph.Attr{graph.TensorAttr("value", x)}}
}
