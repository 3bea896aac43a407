package optimize

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

const trainingDomain = "ai.onnx.preview.training"

// expandGradient replaces every Gradient node of the main graph by nodes that compute the
// derivatives of the sum of y's elements with respect to xs, in reverse mode. If the inputs of the
// node are other values than xs and zs name, it copies the nodes between these and y to compute
// from the inputs. A Gradient may differentiate the output of another.
func expandGradient(s *Scope) (*Edit, error) {
	isGradient := func(n *graph.Node) bool { return n.Domain == trainingDomain && n.Op == "Gradient" }
	if s.outer != nil || !slices.ContainsFunc(s.Graph.Nodes, isGradient) {
		return nil, nil
	}
	e := &Edit{Replace: map[*graph.Node][]*graph.Node{}}
	d := &differentiator{registry: s.Registry, maker: map[string]*graph.Node{}, prefix: freePrefix(s.Graph)}
	var list []*graph.Node
	for _, n := range s.Graph.Nodes {
		d.record(n)
		if isGradient(n) {
			list = append(list, n)
		}
	}
	for len(list) > 0 {
		// Expand a Gradient with a y that depends on no other Gradient.
		i := slices.IndexFunc(list, func(n *graph.Node) bool { return !slices.ContainsFunc(d.between(n), isGradient) })
		if i < 0 {
			return nil, graph.Errorf(graph.ErrFormat, "the Gradient nodes depend on each other in a circle")
		}
		n := list[i]
		list = slices.Delete(list, i, i+1)
		nodes, err := d.expand(n)
		if err != nil {
			return nil, fmt.Errorf("node %q (%s): %w", n.Label(), n.OpName(), err)
		}
		e.Replace[n] = nodes
	}
	e.Add = d.constants
	return e, nil
}

// freePrefix returns a prefix that no name of the graph has.
func freePrefix(g *graph.Graph) string {
	prefix := "gradient"
	taken := func(name string) bool { return strings.HasPrefix(name, prefix) }
	for slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool { return slices.ContainsFunc(n.Outputs, taken) }) ||
		slices.ContainsFunc(g.Inputs, func(v *graph.Value) bool { return taken(v.Name) }) ||
		slices.ContainsFunc(g.Initializers, func(v *graph.Initializer) bool { return taken(v.Name) }) {
		prefix += "_"
	}
	return prefix
}

// differentiator adds nodes that compute derivatives to a graph.
type differentiator struct {
	registry  *op.Registry
	prefix    string
	made      int
	maker     map[string]*graph.Node // the node that computes each value
	constants []*graph.Initializer

	nodes []*graph.Node     // nodes for the current Gradient node
	grads map[string]string // the derivatives of values found so far
}

func (d *differentiator) record(n *graph.Node) {
	for _, name := range n.Outputs {
		if name != "" {
			d.maker[name] = n
		}
	}
}

// name returns a new name that ends with the given text.
func (d *differentiator) name(of string) string {
	d.made++
	return fmt.Sprintf("%s.%d/%s", d.prefix, d.made, of)
}

// Add implements op.Derivation.
func (d *differentiator) Add(op string, inputs []string, attrs ...*graph.Attr) string {
	return d.AddNode(graph.Node{Op: op, Version: 18, Inputs: inputs, Attrs: attrs})
}

// AddNode implements op.Derivation.
func (d *differentiator) AddNode(n graph.Node) string {
	n.Name = d.name(n.Op)
	n.Outputs = []string{n.Name}
	d.append(&n)
	return n.Name
}

func (d *differentiator) append(n *graph.Node) {
	d.nodes = append(d.nodes, n)
	d.record(n)
}

// Number implements op.Derivation.
func (d *differentiator) Number(v float32, like string) string {
	t := tensor.New(tensor.F32)
	tensor.View[float32](t)[0] = v
	name := d.name("number")
	d.constants = append(d.constants, &graph.Initializer{Name: name, Tensor: t})
	return d.Add("CastLike", []string{name, like})
}

// filled adds a tensor with the shape and type of like, filled with a number, and
// returns its name.
func (d *differentiator) filled(v float32, like string) string {
	return kit.ExpandTo(d, d.Number(v, like), like)
}

func strs(n *graph.Node, name string) []string {
	var list []string
	if a := n.Attr(name); a != nil {
		for _, s := range a.Strs {
			list = append(list, string(s))
		}
	}
	return list
}

// between returns the nodes that compute y from xs and zs in topological order.
func (d *differentiator) between(n *graph.Node) []*graph.Node {
	met := map[string]bool{}
	for _, name := range slices.Concat(strs(n, "xs"), strs(n, "zs")) {
		met[name] = true
	}
	var list []*graph.Node
	found := map[*graph.Node]bool{}
	stack := []string{target(n)}
	for len(stack) > 0 {
		name := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		maker := d.maker[name]
		if met[name] || maker == nil {
			continue
		}
		met[name] = true
		if !found[maker] {
			found[maker] = true
			list = append(list, maker)
			stack = append(append(stack, maker.Inputs...), maker.Captured()...)
		}
	}
	return graph.Sorted(list)
}

func target(n *graph.Node) string {
	if a := n.Attr("y"); a != nil {
		return string(a.Str)
	}
	return ""
}

// expand returns the nodes that replace a Gradient node.
func (d *differentiator) expand(n *graph.Node) ([]*graph.Node, error) {
	xs, y := strs(n, "xs"), target(n)
	names := slices.Concat(xs, strs(n, "zs"))
	if len(xs) == 0 || y == "" || len(names) != len(n.Inputs) || len(n.Outputs) > len(xs) {
		return nil, graph.Errorf(graph.ErrFormat, "has %d inputs and %d outputs for xs %q, zs %q and y %q", len(n.Inputs),
			len(n.Outputs), xs, strs(n, "zs"), y)
	}
	d.nodes, d.grads = nil, map[string]string{}
	forward := d.between(n)
	if len(forward) == 0 && !slices.Contains(names, y) {
		return nil, graph.Errorf(graph.ErrFormat, "y is %q, which no node computes", y)
	}
	as := func(name string) string { return name }
	if !slices.Equal(names, n.Inputs) {
		forward, as = d.anew(forward, names, n.Inputs)
	}
	wanted := make([]string, len(xs))
	for i, x := range xs {
		wanted[i] = as(x)
	}
	y = as(y)
	d.grads[y] = d.filled(1, y)
	if err := d.backward(forward, wanted); err != nil {
		return nil, err
	}
	for i, out := range n.Outputs {
		if out == "" {
			continue
		}
		g := d.grads[wanted[i]]
		if g == "" {
			g = d.filled(0, wanted[i])
		}
		d.append(&graph.Node{Name: out, Op: "Identity", Version: 16, Inputs: []string{g}, Outputs: []string{out}})
	}
	if d.made > maxInlined {
		return nil, graph.Errorf(graph.ErrUnsupported, "derivatives expand to more than %d nodes", maxInlined)
	}
	return d.nodes, nil
}

// anew adds copies of nodes that compute from values instead of names. It returns the copies, and a
// function from a name to the name in the copies.
func (d *differentiator) anew(nodes []*graph.Node, names, values []string) ([]*graph.Node, func(string) string) {
	called := map[string]string{}
	for i, name := range names {
		called[name] = values[i]
	}
	as := func(name string) string {
		if other, ok := called[name]; ok {
			return other
		}
		return name
	}
	list := make([]*graph.Node, len(nodes))
	for i, n := range nodes {
		r := *n
		r.Inputs, r.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs)
		for k, name := range r.Inputs {
			r.Inputs[k] = as(name)
		}
		for k, name := range r.Outputs {
			if _, given := called[name]; name != "" && !given {
				called[name] = d.name(name)
			}
			if name != "" {
				r.Outputs[k] = called[name]
			}
		}
		r.Name = d.name(n.Label())
		list[i] = &r
		d.append(&r)
	}
	return list, as
}

// row returns the row of a node's operator; nil if it has none.
func (d *differentiator) row(n *graph.Node) *op.Row {
	row, _, _ := d.registry.Find(n)
	return row
}

// flat reports whether the derivative of a node is zero or undefined.
func (d *differentiator) flat(n *graph.Node) bool {
	row := d.row(n)
	return row != nil && row.Flat
}

// backward visits the nodes from last to first. At each it accumulates the
// derivatives of the inputs that depend on a wanted value.
func (d *differentiator) backward(nodes []*graph.Node, wanted []string) error {
	active := map[string]bool{}
	for _, name := range wanted {
		active[name] = true
	}
	for _, n := range nodes {
		if !d.flat(n) && slices.ContainsFunc(n.Inputs, func(name string) bool { return active[name] }) {
			for _, name := range n.Outputs {
				active[name] = name != ""
			}
		}
	}
	for _, n := range slices.Backward(nodes) {
		if d.flat(n) || !slices.ContainsFunc(n.Inputs, func(name string) bool { return active[name] }) {
			continue
		}
		if len(n.Outputs) > 1 && slices.ContainsFunc(n.Outputs[1:], func(name string) bool { return d.grads[name] != "" }) {
			return graph.Errorf(graph.ErrUnsupported, "no derivative through outputs of %s %q after the first", n.OpName(),
				n.Label())
		}
		dy := d.grads[n.Outputs[0]]
		if dy == "" {
			continue
		}
		row := d.row(n)
		if row == nil || row.Derivative == nil || n.Attr("broadcast") != nil {
			return graph.Errorf(graph.ErrUnsupported, "no derivative of operator %s (node %q); leave it out between xs and y",
				n.OpName(), n.Label())
		}
		if _, _, err := d.registry.Match(n); err != nil {
			return fmt.Errorf("node %q (%s): %w", n.Label(), n.OpName(), err)
		}
		for i, name := range n.Inputs {
			if name == "" || !active[name] {
				continue
			}
			g, err := row.Derivative(d, n, dy, i)
			if err != nil {
				return err
			}
			switch had := d.grads[name]; {
			case g == "":
			case had == "":
				d.grads[name] = g
			default:
				d.grads[name] = d.Add("Add", []string{had, g})
			}
		}
	}
	return nil
}
