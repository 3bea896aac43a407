package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// matcher looks for patterns in one graph and collects the edit that replaces them. It identifies a
// value with copies of it: by Identity, and by Cast to its own type. Only nodes that bind to an
// operator take part in patterns. A consumer reads elements of a value: dead nodes, Shape and Size
// are no consumers.
type matcher struct {
	*Scope
	*index
	replaced map[*graph.Node]bool // nodes of patterns that edit replaces
	vectors  map[string]string    // names of added vectors of integers, by content
	edit     *Edit
}

// index is the knowledge of matchers about one graph. It does not change.
type index struct {
	live      []*graph.Node            // nodes that bind, in topological order
	bound     map[*graph.Node]bool     // set of live
	consumers map[string][]*graph.Node // by canonical name, one entry per input
	escaping  map[string]bool          // canonical names of graph outputs and captured values
	copies    map[string]string        // canonical names of copies
	makes     map[string][]int         // by operator: indices in live of nodes with a first output that it computes, or copies of it
	extents   classes
}

func newMatcher(s *Scope) *matcher {
	m := &matcher{Scope: s, index: s.index, edit: newEdit()}
	m.replaced, m.vectors = map[*graph.Node]bool{}, map[string]string{}
	if m.index == nil {
		m.read()
		s.index = m.index
	}
	return m
}

// read makes the index.
func (m *matcher) read() {
	n := len(m.Nodes)
	m.index = &index{
		live: make([]*graph.Node, 0, n), bound: make(map[*graph.Node]bool, n), consumers: make(map[string][]*graph.Node, n),
		escaping: map[string]bool{}, copies: map[string]string{}, makes: map[string][]int{}, extents: classes{},
	}
	for _, n := range m.Graph.Live() {
		if _, _, err := m.Registry.New(n); err == nil && len(n.Inputs) > 0 && len(n.Outputs) > 0 && !alignsAxes(n) {
			m.live, m.bound[n] = append(m.live, n), true
		}
		m.note(n)
	}
	for _, o := range m.Graph.Outputs {
		m.escaping[m.canonical(o.Name)] = true
	}
	for i, n := range m.live {
		if by := m.maker(m.canonical(n.Outputs[0])); m.bound[by] {
			m.makes[opName(by)] = append(m.makes[opName(by)], i)
		}
	}
}

// opName returns the name of an operator as function is takes it.
func opName(n *graph.Node) string {
	if n.Domain == "" {
		return n.Op
	}
	return n.Domain + "." + n.Op
}

// alignsAxes reports whether a node of an operator set before 7 aligns the axes of its operands by
// attributes.
func alignsAxes(n *graph.Node) bool {
	return n.Version < 7 && is(n, "Add", "Sub", "Mul", "Div", "Pow") && len(n.Attrs) > 0
}

// note records the values that a node reads.
func (m *matcher) note(n *graph.Node) {
	switch {
	case m.bound[n] && m.isCopy(n):
		m.copies[n.Outputs[0]] = m.canonical(n.Inputs[0])
		return
	case m.bound[n] && is(n, "Shape", "Size"):
		return
	case m.bound[n]:
		m.extents.learn(m.Scope, n)
	}
	for _, name := range n.Inputs {
		if name != "" {
			m.consumers[m.canonical(name)] = append(m.consumers[m.canonical(name)], n)
		}
	}
	for _, name := range n.Captured() {
		m.escaping[m.canonical(name)] = true
	}
}

// isCopy reports whether the output of a node has the elements of its input.
func (m *matcher) isCopy(n *graph.Node) bool {
	if !is(n, "Cast") {
		return is(n, "Identity")
	}
	d := m.dtype(n.Inputs[0])
	return d != tensor.Invalid && d == m.dtype(n.Outputs[0])
}

// canonical returns the name shared by a value and its copies.
func (m *matcher) canonical(name string) string {
	if of, ok := m.copies[name]; ok {
		return of
	}
	return name
}

// same reports whether two names denote one value or copies of it.
func (m *matcher) same(a, b string) bool { return m.canonical(a) == m.canonical(b) }

// producer returns the node that computes a value as its first output. If it applies none of the
// operators, producer returns nil. Without ops, any operator matches.
func (m *matcher) producer(name string, ops ...string) *graph.Node {
	n := m.maker(m.canonical(name))
	if m.bound[n] && (len(ops) == 0 || is(n, ops...)) && m.same(n.Outputs[0], name) {
		return n
	}
	return nil
}

// consumer returns the only node that reads the first output of n. If there are several, if the
// node reads it twice or if the value escapes, it returns nil.
func (m *matcher) consumer(n *graph.Node) *graph.Node {
	name := m.canonical(n.Outputs[0])
	if m.escaping[name] || len(m.consumers[name]) != 1 || !m.bound[m.consumers[name][0]] {
		return nil
	}
	return m.consumers[name][0]
}

// private reports whether only nodes of a pattern read the pattern's values, except for the outputs
// of its roots.
func (m *matcher) private(nodes []*graph.Node, roots ...*graph.Node) bool {
	outside := func(n *graph.Node) bool { return !slices.Contains(roots, n) && !slices.Contains(nodes, n) }
	for _, n := range nodes {
		if slices.Contains(roots, n) {
			continue
		}
		for _, out := range n.Outputs {
			if name := m.canonical(out); out != "" && (m.escaping[name] || slices.ContainsFunc(m.consumers[name], outside)) {
				return false
			}
		}
	}
	return true
}

// equal reports whether two extents are equal in every run that succeeds.
func (m *matcher) equal(d, e graph.Dim) bool { return m.extents.equal(d, e) }

// hasDims reports whether a value is known to have extents want.
func (m *matcher) hasDims(name string, want graph.Dims) bool {
	d := m.dims(name)
	return d != nil && slices.EqualFunc(d, want, m.equal)
}

// number returns the element of a constant of one element with at most the given number of axes. A
// constant with more axes would add axes to the other operand.
func (m *matcher) number(name string, axes int) (float64, bool) {
	if t := m.constant(name); t == nil || len(t.Shape()) > axes {
		return 0, false
	}
	return m.scalar(name)
}

// numericOperand returns operand i of a binary node if it is a number that adds no
// axes to the other operand.
func (m *matcher) numericOperand(n *graph.Node, i int) (float64, bool) {
	if len(n.Inputs) != 2 {
		return 0, false
	}
	return m.number(n.Inputs[i], len(m.dims(n.Inputs[1-i])))
}

// withNumber separates the operands of a binary node into the number and the other operand.
func (m *matcher) withNumber(n *graph.Node) (other string, c float64, ok bool) {
	for i := range 2 {
		if c, ok := m.numericOperand(n, i); ok {
			return n.Inputs[1-i], c, true
		}
	}
	return "", 0, false
}

// scaled returns the value and the number that a value is the product of, and the node that
// multiplies or divides. If the value is no such product, the node is nil.
func (m *matcher) scaled(name string) (of string, c float64, n *graph.Node) {
	n = m.producer(name, "Mul", "Div")
	if n == nil {
		return name, 1, nil
	}
	if values, c := m.factorsOf(n); len(values) == 1 {
		return values[0], c, n
	}
	return name, 1, nil
}

// replace replaces root by nodes that compute its outputs. If root is replaced already, a new node
// does not bind or an output would have another type, it replaces nothing and reports false.
func (m *matcher) replace(root *graph.Node, by ...*graph.Node) bool {
	if m.edit.removes(root) {
		return false
	}
	types := map[string]*op.Value{}
	for _, n := range by {
		out := m.node(n)
		if out == nil {
			return false
		}
		for i, v := range out {
			types[n.Outputs[i]] = v
			if m.maker(n.Outputs[i]) == nil {
				m.learn(n.Outputs[i], v)
			}
		}
	}
	for _, name := range root.Outputs {
		was, now := m.value(name), types[name]
		if name != "" && (now == nil || was.DType != now.DType || was.Dims != nil && len(was.Dims) != len(now.Dims)) {
			return false
		}
	}
	m.edit.Replace[root] = by
	return true
}

// result returns the edit. It also removes the nodes that became dead.
func (m *matcher) result() (*Edit, error) {
	if len(m.edit.Replace) == 0 {
		return nil, nil
	}
	needed := map[*graph.Node]bool{}
	for _, n := range m.edit.apply(m.Graph).Live() {
		needed[n] = true
	}
	for _, n := range m.Graph.Nodes {
		if !m.edit.removes(n) && !needed[n] {
			m.edit.Replace[n] = nil
		}
	}
	return m.edit, nil
}
