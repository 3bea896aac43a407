package optimize

import (
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// finder answers what passes ask about a graph when they look for a pattern,
// and collects what they put in its place. Names stand for the values that they
// have the elements of: Identity, and Cast to the type that a value has, are
// looked through. Dead nodes do not count, nor do those that only ask for a
// value's shape.
type finder struct {
	Context
	nodes  []*graph.Node // in an order in which they can run
	maker  map[string]*graph.Node
	users  map[string][]*graph.Node // of canonical names; one entry per input
	result map[string]bool          // canonical names of values that the graph returns or bodies read
	known  map[string]*op.Value
	same   map[string]string // name of an alias to the name that it stands for
	made   int               // names
	edit   *Edit
}

// newFinder reads a model's main graph.
func newFinder(m *graph.Model, c Context) *finder {
	f := &finder{Context: c, nodes: m.Graph.Live(), maker: map[string]*graph.Node{}, users: map[string][]*graph.Node{},
		result: map[string]bool{}, same: map[string]string{}, edit: &Edit{Replace: map[*graph.Node][]*graph.Node{}}}
	f.known = infer(m.Graph, f.nodes, c)
	for _, n := range f.nodes {
		for _, out := range n.Outputs {
			f.maker[out] = n
		}
		if f.passes(n) {
			f.same[n.Outputs[0]] = f.name(n.Inputs[0])
			continue
		}
		if standard(n, "Shape", "Size") {
			continue
		}
		for _, name := range n.Inputs {
			if name != "" {
				f.users[f.name(name)] = append(f.users[f.name(name)], n)
			}
		}
		for _, name := range n.Captured() {
			f.result[f.name(name)] = true
		}
	}
	for _, o := range m.Graph.Outputs {
		f.result[f.name(o.Name)] = true
	}
	return f
}

// passes reports whether a node's output has the elements of its input.
func (f *finder) passes(n *graph.Node) bool {
	switch {
	case standard(n, "Identity"):
		return len(n.Inputs) == 1 && len(n.Outputs) == 1
	case standard(n, "Cast"):
		to := n.Attr("to")
		return to != nil && len(n.Inputs) == 1 && f.dtype(n.Inputs[0]) != tensor.Invalid && f.dtype(n.Inputs[0]) == f.dtype(n.Outputs[0])
	}
	return false
}

// standard reports whether a node applies one of these operators of ONNX.
func standard(n *graph.Node, ops ...string) bool {
	return n != nil && n.Domain == "" && slices.Contains(ops, n.Op)
}

// name returns the name that a value is known by.
func (f *finder) name(s string) string {
	if by, ok := f.same[s]; ok {
		return by
	}
	return s
}

// is reports whether two names stand for one value.
func (f *finder) is(a, b string) bool { return f.name(a) == f.name(b) }

// from returns the node that computes a value as its first output, if it applies
// one of these operators of ONNX, else nil.
func (f *finder) from(name string, ops ...string) *graph.Node {
	n := f.maker[f.name(name)]
	if standard(n, ops...) && f.is(n.Outputs[0], name) {
		return n
	}
	return nil
}

// user returns the only node that reads the first output of n, and nil if there
// are several, if it reads it twice or if the graph returns the value.
func (f *finder) user(n *graph.Node) *graph.Node {
	name := f.name(n.Outputs[0])
	if f.result[name] || len(f.users[name]) != 1 {
		return nil
	}
	return f.users[name][0]
}

// inside reports whether nothing but the nodes reads what they compute, except
// what root computes.
func (f *finder) inside(root *graph.Node, nodes ...*graph.Node) bool {
	for _, n := range nodes {
		if n == root {
			continue
		}
		for _, out := range n.Outputs {
			name := f.name(out)
			if out == "" {
				continue
			}
			if f.result[name] {
				return false
			}
			for _, u := range f.users[name] {
				if u != root && !slices.Contains(nodes, u) {
					return false
				}
			}
		}
	}
	return true
}

// dtype returns the element type of a value; Invalid when it is not known.
func (f *finder) dtype(name string) tensor.DType {
	if v := f.known[name]; v != nil {
		return v.DType
	}
	return tensor.Invalid
}

// dims returns the extents of a value; nil when not even their number is known.
func (f *finder) dims(name string) graph.Dims {
	if v := f.known[name]; v != nil {
		return v.Dims
	}
	return nil
}

// constant returns the tensor that a value is known to be, or nil.
func (f *finder) constant(name string) *tensor.Tensor {
	if v := f.known[name]; v != nil {
		return v.Const
	}
	return nil
}

// number returns the element of a constant of one element with at most that many
// axes: with more it would add axes to what it meets.
func (f *finder) number(name string, axes int) (float64, bool) {
	t := f.constant(name)
	if t == nil || len(t.Shape()) > axes {
		return 0, false
	}
	return op.Number(t)
}

// numberFor is number for an operand of a node with two: it has no more axes
// than the other.
func (f *finder) numberFor(n *graph.Node, i int) (float64, bool) {
	if len(n.Inputs) != 2 {
		return 0, false
	}
	return f.number(n.Inputs[i], len(f.dims(n.Inputs[1-i])))
}

// split tells the operands of a node with two apart: the number and the other.
func (f *finder) split(n *graph.Node) (other string, c float64, ok bool) {
	if len(n.Inputs) != 2 {
		return "", 0, false
	}
	for i := range 2 {
		if c, ok := f.numberFor(n, i); ok {
			return n.Inputs[1-i], c, true
		}
	}
	return "", 0, false
}

// scaled sees a value as another times a number: made by Mul or Div with a
// number, which node is returned, or itself times 1.
func (f *finder) scaled(name string) (of string, c float64, n *graph.Node) {
	switch n := f.from(name, "Mul", "Div"); {
	case n == nil:
	case n.Op == "Mul":
		if other, c, ok := f.split(n); ok {
			return other, c, n
		}
	default:
		if c, ok := f.numberFor(n, 1); ok && c != 0 {
			return n.Inputs[0], 1 / c, n
		}
	}
	return name, 1, nil
}

// near reports whether a number of the element type of a value stands for want.
func (f *finder) near(c, want float64, like string) bool {
	tolerance := 2e-6
	switch f.dtype(like) {
	case tensor.F16:
		tolerance = 1e-3
	case tensor.BF16:
		tolerance = 8e-3
	}
	return math.Abs(c-want) <= tolerance*math.Abs(want)
}

// replace puts nodes in the place of root, whose outputs they compute, unless
// an operator of theirs is not there or gives another type.
func (f *finder) replace(root *graph.Node, by ...*graph.Node) bool {
	if _, gone := f.edit.Replace[root]; gone {
		return false
	}
	in := &inference{Context: f.Context, values: map[string]*op.Value{}}
	for _, n := range by {
		for _, name := range n.Inputs {
			if in.values[name] == nil && f.known[name] != nil {
				in.values[name] = f.known[name]
			}
		}
		out := in.node(n)
		if out == nil {
			return false
		}
		for i, v := range out {
			in.define(n.Outputs[i], v)
		}
	}
	for _, out := range root.Outputs {
		if v := in.values[out]; out != "" && (v == nil || f.known[out] != nil && v.DType != f.known[out].DType || len(v.Dims) != len(f.known[out].Dims)) {
			return false
		}
	}
	f.edit.Replace[root] = by
	return true
}

// add adds a constant and returns its name.
func (f *finder) add(what string, t *tensor.Tensor) string {
	name := f.fresh(what)
	f.edit.Add = append(f.edit.Add, &graph.Initializer{Name: name, Tensor: t})
	f.known[name] = op.Known(t)
	return name
}

// ints adds a vector of integers and returns its name.
func (f *finder) ints(list ...int) string {
	t := tensor.New(tensor.I64, len(list))
	for i, v := range list {
		tensor.View[int64](t)[i] = int64(v)
	}
	return f.add("ints", t)
}

// fresh returns a name that the graph has not.
func (f *finder) fresh(what string) string {
	for {
		f.made++
		name := fmt.Sprintf("fused.%d/%s", f.made, what)
		if _, taken := f.known[name]; !taken && f.maker[name] == nil {
			return name
		}
	}
}

// node returns one that computes the first output of root by another operator.
func node(root *graph.Node, domain, op string, version int, inputs []string, attrs ...*graph.Attr) *graph.Node {
	return &graph.Node{Name: root.Name, Domain: domain, Op: op, Version: version, Inputs: inputs, Outputs: root.Outputs[:1:1], Attrs: attrs,
		Doc: root.Doc, Meta: root.Meta}
}

func floatAttr(name string, v float64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrFloat, Float: float32(v)}
}
