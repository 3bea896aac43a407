package optimize

import (
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Items proves that a model keeps the items of a batch apart: that the results for an item do not
// depend on the other items, nor on their number. Inputs lists the axis of items by the names of
// inputs that have one. Items returns the axis of every output, op.Shared for an output that is the
// same for every item. If nothing proves it, the error is of kind graph.ErrOption and names the node.
func Items(m *graph.Model, inputs map[string]int, c Context) ([]int, error) {
	counted := *m
	counted.Graph = withItemCount(m.Graph, inputs)
	s := newScope(c, &counted, counted.Graph, nil, newNames(&counted))
	p := itemProver{Scope: s, at: map[string]int{"": op.Shared}}
	for _, v := range s.Graph.Inputs {
		p.at[v.Name] = op.Shared
		if axis, ok := inputs[v.Name]; ok {
			p.at[v.Name] = axis
		}
	}
	for _, init := range s.Graph.Initializers {
		p.at[init.Name] = op.Shared
	}
	for _, init := range s.Graph.Sparse {
		p.at[init.Name] = op.Shared
	}
	for _, n := range graph.Sorted(s.Graph.Nodes) {
		err := p.node(n)
		if ended := c.done(); ended != nil {
			return nil, ended
		}
		if err != nil {
			return nil, &graph.Error{Stage: "batch", File: m.File, Node: n.Label(), Op: n.OpName(), Offset: -1,
				Kind: graph.ErrOption, Err: err}
		}
	}
	axes := make([]int, len(s.Graph.Outputs))
	for i, v := range s.Graph.Outputs {
		if axes[i] = p.at[v.Name]; axes[i] == op.Sized {
			return nil, &graph.Error{Stage: "batch", File: m.File, Offset: -1, Kind: graph.ErrOption,
				Err: fmt.Errorf("output %q depends on the number of items", v.Name)}
		}
	}
	return axes, nil
}

// withItemCount returns a graph with inputs that have kit.ItemCount items.
func withItemCount(g *graph.Graph, inputs map[string]int) *graph.Graph {
	counted := *g
	counted.Inputs = slices.Clone(g.Inputs)
	for i, v := range g.Inputs {
		if axis, ok := inputs[v.Name]; ok {
			with := *v
			with.Type.Dims = slices.Clone(v.Type.Dims)
			with.Type.Dims[axis] = kit.ItemCount
			counted.Inputs[i] = &with
		}
	}
	return &counted
}

// itemProver finds the axes of items of values.
type itemProver struct {
	*Scope
	at map[string]int // by value: its axis of items, op.Shared or op.Sized
}

// node finds the axes of the outputs of a node. Its inputs are known.
func (p *itemProver) node(n *graph.Node) error {
	_, row, err := p.Registry.New(n)
	if err != nil {
		return err
	}
	if row.Impure {
		return fmt.Errorf("its results are random, and so depend on the runs before")
	}
	sized := false
	for _, name := range slices.Concat(n.Inputs, n.Captured()) {
		sized = sized || p.at[name] == op.Sized
		if p.at[name] >= 0 && !slices.Contains(n.Inputs, name) {
			return fmt.Errorf("a graph within it reads %q, which has items", name)
		}
	}
	in, at := make([]*op.Value, len(n.Inputs)), make([]int, len(n.Inputs))
	for i, name := range n.Inputs {
		if at[i] = p.at[name]; name != "" {
			in[i] = p.value(name)
		}
	}
	out := make([]*op.Value, len(n.Outputs))
	computed := false // from items, or of extents that count them
	for i, name := range n.Outputs {
		out[i] = p.value(name)
		told := out[i].Const != nil || out[i].Ints != nil
		computed = computed || name != "" && !told && (!kit.NoItems(at) || slices.ContainsFunc(out[i].Dims, kit.CountsItems))
	}
	axes := slices.Repeat([]int{op.Shared}, len(n.Outputs))
	if computed {
		for i, axis := range at {
			if axis == op.Sized && in[i].Ints == nil {
				return fmt.Errorf("it reads %q, which depends on the number of items in a way that is not known", n.Inputs[i])
			}
		}
		items := kit.ItemsOf(row)
		if items == nil {
			return fmt.Errorf("the operator is not known to keep the items of a batch apart")
		}
		if axes = items(n, in, at, out); len(axes) != len(n.Outputs) {
			return fmt.Errorf("it mixes the items of a batch, or is not known to keep them apart: it reads %s", p.described(n))
		}
	}
	for i, name := range n.Outputs {
		axis, err := outputItems(out[i], axes[i], sized)
		if err != nil && name != "" {
			return err
		}
		p.at[name] = axis
	}
	p.at[""] = op.Shared
	return nil
}

// outputItems returns the axis of items of an output, for which the operator says axis. Sized reports
// whether the node reads a value that depends on the number of items.
func outputItems(v *op.Value, axis int, sized bool) (int, error) {
	switch {
	case v.Const != nil:
		return op.Shared, nil
	case v.Ints != nil:
		if slices.ContainsFunc(v.Ints, kit.CountsItems) {
			return op.Sized, nil
		}
		return op.Shared, nil
	case axis < 0 && sized:
		return op.Sized, nil
	case axis < 0:
		return op.Shared, nil
	case axis >= len(v.Dims):
		return 0, fmt.Errorf("the extents of its result are not known")
	}
	for k, d := range v.Dims {
		if k != axis && kit.CountsItems(d) {
			return 0, fmt.Errorf("the extent %v of its result depends on the number of items", d)
		}
	}
	if each := v.Dims[axis].Div(kit.ItemCount); kit.CountsItems(each) || !each.Mul(kit.ItemCount).Same(v.Dims[axis]) {
		return 0, fmt.Errorf("the extent %v of its result is no multiple of the number of items", v.Dims[axis])
	}
	return axis, nil
}

// described lists the inputs of a node with their types and axes of items.
func (p *itemProver) described(n *graph.Node) string {
	text := ""
	for i, name := range n.Inputs {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%q %v", name, p.value(name).Type)
		if axis := p.at[name]; axis >= 0 {
			text += fmt.Sprintf(" with items along axis %d", axis)
		}
	}
	return text
}
