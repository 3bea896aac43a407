package op

import (
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Node is a node as the constructor of a Row sees it. The attribute methods record the names that
// were asked for. After the constructor, the registry reports attributes of the wrong kind and
// attributes that nobody asked for.
type Node struct {
	*graph.Node
	Since int // the version of the operator that applies to the node
	asked []string
	err   error
}

func (n *Node) attr(name string, kind graph.AttrKind) *graph.Attr {
	n.asked = append(n.asked, name)
	a := n.Attr(name)
	if a != nil && a.Kind != kind {
		// Writers leave out the kind of an empty list, or write another.
		if n.err == nil {
			n.err = fmt.Errorf("attribute %q is of kind %v, not %v", name, a.Kind, kind)
		}
		return nil
	}
	return a
}

// Has reports whether the node has the attribute.
func (n *Node) Has(name string) bool { return n.Attr(name) != nil }

// HasIn reports whether the node has input i.
func (n *Node) HasIn(i int) bool { return i < len(n.Inputs) && n.Inputs[i] != "" }

// Int returns an attribute, or def if it is missing.
func (n *Node) Int(name string, def int) int {
	if a := n.attr(name, graph.AttrInt); a != nil {
		return int(a.Int)
	}
	return def
}

// Bool returns an attribute that is 0 or 1, or def if it is missing. Another number is an error:
// ONNX Runtime reads it as 1 in some operators and as 0 in others, and no exporter writes it.
func (n *Node) Bool(name string, def bool) bool {
	a := n.attr(name, graph.AttrInt)
	if a == nil {
		return def
	}
	if a.Int != 0 && a.Int != 1 && n.err == nil {
		n.err = graph.Errorf(graph.ErrFormat, "attribute %q is %d; it is a flag, which is 0 or 1", name, a.Int)
	}
	return a.Int == 1
}

// Float returns an attribute, or def if it is missing.
func (n *Node) Float(name string, def float32) float32 {
	if a := n.attr(name, graph.AttrFloat); a != nil {
		return a.Float
	}
	return def
}

// Str returns an attribute, or def if it is missing.
func (n *Node) Str(name, def string) string {
	if a := n.attr(name, graph.AttrString); a != nil {
		return string(a.Str)
	}
	return def
}

// Ints returns an attribute, or nil if it is missing. An empty list is not nil.
func (n *Node) Ints(name string) []int {
	a := n.attr(name, graph.AttrInts)
	if a == nil {
		return nil
	}
	list := make([]int, len(a.Ints))
	for i, v := range a.Ints {
		list[i] = int(v)
	}
	return list
}

// Int64s returns an attribute in the memory of the model, or nil if it is missing.
func (n *Node) Int64s(name string) []int64 {
	if a := n.attr(name, graph.AttrInts); a != nil {
		return a.Ints
	}
	return nil
}

// Words returns an attribute of strings in the memory of the model, or nil if it is missing.
func (n *Node) Words(name string) [][]byte {
	if a := n.attr(name, graph.AttrStrings); a != nil {
		return a.Strs
	}
	return nil
}

// Floats returns an attribute, or nil if it is missing.
func (n *Node) Floats(name string) []float32 {
	if a := n.attr(name, graph.AttrFloats); a != nil {
		return append(make([]float32, 0, len(a.Floats)), a.Floats...)
	}
	return nil
}

// Strs returns an attribute, or nil if it is missing.
func (n *Node) Strs(name string) []string {
	a := n.attr(name, graph.AttrStrings)
	if a == nil {
		return nil
	}
	list, all := make([]string, len(a.Strs)), string(slices.Concat(a.Strs...)) // one allocation for all strings
	for i, s := range a.Strs {
		list[i], all = all[:len(s)], all[len(s):]
	}
	return list
}

// Tensor returns an attribute, or nil if it is missing.
func (n *Node) Tensor(name string) *tensor.Tensor {
	if a := n.attr(name, graph.AttrTensor); a != nil {
		return a.Tensor
	}
	return nil
}

// Sparse returns an attribute, or nil if it is missing.
func (n *Node) Sparse(name string) *graph.SparseTensor {
	if a := n.attr(name, graph.AttrSparse); a != nil {
		return a.Sparse
	}
	return nil
}

// Graph records that the op runs the graph in the named attribute by Body. A missing graph is an
// error.
func (n *Node) Graph(name string) error {
	if n.attr(name, graph.AttrGraph) == nil && n.err == nil {
		return graph.Errorf(graph.ErrFormat, "attribute %q, a graph, is missing", name)
	}
	return n.err
}

// Type returns an attribute, or nil if it is missing.
func (n *Node) Type(name string) *graph.Type {
	if a := n.attr(name, graph.AttrType); a != nil {
		return a.Type
	}
	return nil
}

// Err returns the first error of the attributes read so far.
func (n *Node) Err() error { return n.err }

// Ignore accepts attributes that change nothing, such as consumed_inputs, a memory hint of opset 1.
func (n *Node) Ignore(names ...string) { n.asked = append(n.asked, names...) }

// finish returns an error if an attribute was of the wrong kind or was not asked for.
func (n *Node) finish() error {
	if n.err != nil {
		return n.err
	}
	for _, a := range n.Attrs {
		if !slices.Contains(n.asked, a.Name) {
			return graph.Errorf(graph.ErrUnsupported, "attribute %q is not one of %s, which has %q", a.Name, n.OpName(), n.asked)
		}
	}
	return nil
}
