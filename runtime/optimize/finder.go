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
// and collects what they put in its place. A name stands for a value with the
// elements of another where nodes only pass those on: Identity, and Cast to the
// type that they have. Readers are nodes that read elements: dead nodes do not
// count, nor do those that ask for a shape. Nodes that no operator can be bound to
// are part of no pattern; others have the inputs and outputs that theirs needs.
type finder struct {
	*Scope
	live    []*graph.Node            // of patterns, in an order in which they can run
	bound   map[*graph.Node]bool     // the same
	readers map[string][]*graph.Node // by canonical name; one for each input
	kept    map[string]bool          // canonical names of what the graph returns or graphs within read
	same    map[string]string        // canonical names of those that have another
	equals  map[string]graph.Dim     // extents that are equal to others, by their keys, whenever the graph runs
	vectors map[string]string        // names of constants that come, by their elements
	edit    *Edit
}

func newFinder(s *Scope) *finder {
	f := &finder{
		Scope: s, bound: map[*graph.Node]bool{}, readers: map[string][]*graph.Node{}, kept: map[string]bool{}, same: map[string]string{},
		equals: map[string]graph.Dim{}, vectors: map[string]string{}, edit: newEdit(),
	}
	for _, n := range s.Graph.Live() {
		if _, _, err := s.Registry.New(n); err == nil && len(n.Inputs) > 0 && len(n.Outputs) > 0 && !aligned(n) {
			f.live, f.bound[n] = append(f.live, n), true
		}
		f.read(n)
	}
	for _, o := range s.Graph.Outputs {
		f.kept[f.name(o.Name)] = true
	}
	return f
}

// aligned reports whether a node of an operator set before 7 says which axes of
// its operands go together.
func aligned(n *graph.Node) bool {
	return n.Version < 7 && is(n, "Add", "Sub", "Mul", "Div", "Pow") && len(n.Attrs) > 0
}

// read notes what a node reads.
func (f *finder) read(n *graph.Node) {
	switch {
	case f.bound[n] && f.passesOn(n):
		f.same[n.Outputs[0]] = f.name(n.Inputs[0])
		return
	case f.bound[n] && is(n, "Shape", "Size"):
		return
	case f.bound[n]:
		f.equate(n)
	}
	for _, name := range n.Inputs {
		if name != "" {
			f.readers[f.name(name)] = append(f.readers[f.name(name)], n)
		}
	}
	for _, name := range n.Captured() {
		f.kept[f.name(name)] = true
	}
}

// equate notes which extents a node must find equal to run.
func (f *finder) equate(n *graph.Node) {
	switch {
	case is(n, "Concat") && n.Attr("axis") != nil:
		first := f.dims(n.Inputs[0])
		axis := int(intOf(n, "axis"))
		if axis < 0 {
			axis += len(first)
		}
		for _, name := range n.Inputs[1:] {
			for i, d := range f.dims(name) {
				if i != axis && i < len(first) {
					f.join(first[i], d)
				}
			}
		}
	case is(n, "MatMul"):
		a, b := f.dims(n.Inputs[0]), f.dims(n.Inputs[1])
		if len(a) > 1 && len(b) > 1 {
			f.join(a[len(a)-1], b[len(b)-2])
		}
	}
}

// join makes two extents one.
func (f *finder) join(d, e graph.Dim) {
	if d, e = f.extent(d), f.extent(e); d.Same(e) || d.IsUnknown() || e.IsUnknown() || d.IsKnown() && e.IsKnown() {
		return
	}
	if d.IsKnown() {
		d, e = e, d
	}
	f.equals[d.Key()] = e
}

// extent returns the extent that stands for all that are equal to d.
func (f *finder) extent(d graph.Dim) graph.Dim {
	for !d.IsKnown() {
		e, ok := f.equals[d.Key()]
		if !ok {
			break
		}
		d = e
	}
	return d
}

// equal reports whether extents are equal whenever the graph runs to its end.
func (f *finder) equal(d, e graph.Dim) bool { return d.Same(e) || f.extent(d).Same(f.extent(e)) }

// passesOn reports whether a node's output has the elements of its input.
func (f *finder) passesOn(n *graph.Node) bool {
	d := f.dtype(n.Inputs[0])
	return is(n, "Identity") || is(n, "Cast") && d != tensor.Invalid && d == f.dtype(n.Outputs[0])
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
	n := f.maker(f.name(name))
	if f.bound[n] && is(n, ops...) && f.is(n.Outputs[0], name) {
		return n
	}
	return nil
}

// reader returns the only node that reads the first output of n, and nil if there
// are several, if it reads it twice or if the graph returns the value.
func (f *finder) reader(n *graph.Node) *graph.Node {
	name := f.name(n.Outputs[0])
	if f.kept[name] || len(f.readers[name]) != 1 || !f.bound[f.readers[name][0]] {
		return nil
	}
	return f.readers[name][0]
}

// inside reports whether nothing but the nodes reads what they compute, except
// what root computes.
func (f *finder) inside(root *graph.Node, nodes ...*graph.Node) bool {
	return f.insideOf([]*graph.Node{root}, nodes)
}

// insideOf is inside for several roots.
func (f *finder) insideOf(roots, nodes []*graph.Node) bool {
	for _, n := range nodes {
		if slices.Contains(roots, n) {
			continue
		}
		for _, out := range n.Outputs {
			if out == "" {
				continue
			}
			name := f.name(out)
			outside := func(n *graph.Node) bool { return !slices.Contains(roots, n) && !slices.Contains(nodes, n) }
			if f.kept[name] || slices.ContainsFunc(f.readers[name], outside) {
				return false
			}
		}
	}
	return true
}

// dims returns the extents of a value; nil when not even their number is known.
func (f *finder) dims(name string) graph.Dims { return f.value(name).Dims }

// number returns the element of a constant of one element with at most that many
// axes: with more it would add axes to what it meets.
func (f *finder) number(name string, axes int) (float64, bool) {
	t := f.constant(name)
	if t == nil || len(t.Shape()) > axes {
		return 0, false
	}
	return scalarOf(t)
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
	types := map[string]*op.Value{}
	for _, n := range by {
		out := f.node(n)
		if out == nil {
			return false
		}
		for i, v := range out {
			types[n.Outputs[i]] = v
			if f.maker(n.Outputs[i]) == nil {
				f.learn(n.Outputs[i], v)
			}
		}
	}
	for _, name := range root.Outputs {
		was, now := f.value(name), types[name]
		if name != "" && (now == nil || was.DType != now.DType || was.Dims != nil && len(was.Dims) != len(now.Dims)) {
			return false
		}
	}
	f.edit.Replace[root] = by
	return true
}

// result is the edit, by which nodes go too that nothing needs any more.
func (f *finder) result() (*Edit, error) {
	if len(f.edit.Replace) == 0 {
		return nil, nil
	}
	needed := map[*graph.Node]bool{}
	for _, n := range f.edit.apply(f.Graph).Live() {
		needed[n] = true
	}
	for _, n := range f.Graph.Nodes {
		if _, replaced := f.edit.Replace[n]; !replaced && !needed[n] {
			f.edit.Replace[n] = nil
		}
	}
	return f.edit, nil
}

// learn notes what is known of a value that comes.
func (f *finder) learn(name string, v *op.Value) {
	if f.known == nil {
		f.infer()
	}
	f.defined[name] = true
	f.known[name] = v
}

// add adds a constant and returns its name.
func (f *finder) add(what string, t *tensor.Tensor) string {
	name := f.fresh(what)
	f.learn(name, op.Known(t))
	return f.edit.add(name, t)
}

// vector adds a vector of integers, unless it was added before, and returns its
// name.
func (f *finder) vector(list ...int) string {
	key := fmt.Sprint(list)
	if f.vectors[key] == "" {
		t := tensor.New(tensor.I64, len(list))
		for i, v := range list {
			tensor.View[int64](t)[i] = int64(v)
		}
		f.vectors[key] = f.add("ints", t)
	}
	return f.vectors[key]
}

// instead returns a node that computes the first output of root.
func instead(root *graph.Node, domain, op string, version int, inputs []string, attrs ...*graph.Attr) *graph.Node {
	return &graph.Node{Name: root.Name, Domain: domain, Op: op, Version: version, Inputs: inputs, Outputs: root.Outputs[:1:1], Attrs: attrs,
		Doc: root.Doc, Meta: root.Meta}
}

func floatAttr(name string, v float64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrFloat, Float: float32(v)}
}
