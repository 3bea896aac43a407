package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// narrowForm returns, for attention with caches of keys and values, the operator of nacreDomain that
// takes them as other floats, or "" if the operator itself does, and the input past_key. Input
// past_value follows. Outputs 1 and 2 are the caches.
func narrowForm(n *graph.Node) (narrow string, pastKey int, ok bool) {
	switch {
	case is(n, "Attention"):
		return "NarrowAttention", 4, true
	case is(n, "com.microsoft.MultiHeadAttention"):
		return "NarrowMultiHeadAttention", 6, true
	case is(n, "com.microsoft.GroupQueryAttention"):
		return "", 3, true
	}
	return "", 0, false
}

// NarrowCaches returns a model with caches of keys and values of element type d, which is float16.
// The caches are the growing states of float32. States of 16 bits stay as they are. If the model has no
// growing state of floats, or a node that is no attention reads or computes the elements of one, the
// error is graph.ErrUnsupported.
func NarrowCaches(m *graph.Model, d tensor.DType) (*graph.Model, error) {
	n := &cacheNarrower{dtype: d, nodes: map[*graph.Node]bool{}, types: map[string]graph.Type{}}
	if err := n.find(m); err != nil {
		return nil, &graph.Error{Stage: "optimize", File: m.File, Offset: -1, Err: err}
	}
	g, narrow := *m.Graph, *m
	g.Inputs, g.Outputs = n.values(g.Inputs), n.values(g.Outputs)
	g.Nodes = slices.Clone(g.Nodes)
	for i, node := range g.Nodes {
		if n.nodes[node] {
			g.Nodes[i] = node
			if narrow, _, _ := narrowForm(node); narrow != "" {
				own := *node
				own.Domain, own.Op = nacreDomain, narrow
				g.Nodes[i] = &own
			}
		}
	}
	narrow.Graph = &g
	return &narrow, nil
}

// cacheNarrower has the parts of a graph that change.
type cacheNarrower struct {
	dtype tensor.DType
	nodes map[*graph.Node]bool  // attention
	types map[string]graph.Type // of inputs and outputs
}

// values returns the list with the new types.
func (n *cacheNarrower) values(list []*graph.Value) []*graph.Value {
	list = slices.Clone(list)
	for i, v := range list {
		if t, ok := n.types[v.Name]; ok {
			own := *v
			own.Type = t
			list[i] = &own
		}
	}
	return list
}

// find finds the caches and the nodes that they belong to.
func (n *cacheNarrower) find(m *graph.Model) error {
	states := m.States
	if states == nil {
		states = graph.FindStates(m.Graph)
	}
	caches := 0
	for _, s := range states {
		in, out := valueNamed(m.Graph.Inputs, s.Input), valueNamed(m.Graph.Outputs, s.Output)
		if s.Axis < 0 || in == nil || out == nil || !kit.ComputedInF32.Has(in.Type.DType) {
			continue
		}
		caches++
		if in.Type.DType != tensor.F32 {
			continue
		}
		node, err := n.node(m.Graph, s)
		if err != nil {
			return err
		}
		n.nodes[node] = true
		for _, v := range []*graph.Value{in, out} {
			t := v.Type
			t.DType = n.dtype
			n.types[v.Name] = t
		}
	}
	if caches == 0 {
		return graph.Errorf(graph.ErrUnsupported, "the model has no cache of keys and values that could be %v", n.dtype)
	}
	return nil
}

// node returns the attention that a state belongs to.
func (n *cacheNarrower) node(g *graph.Graph, s graph.State) (*graph.Node, error) {
	var found *graph.Node
	for _, node := range g.Nodes {
		_, pastKey, ok := narrowForm(node)
		k := -1
		if ok {
			k = slices.Index(node.Inputs, s.Input) - pastKey
		}
		at := ok && (k == 0 || k == 1) && 1+k < len(node.Outputs) && node.Outputs[1+k] == s.Output
		reads := slices.Contains(node.Captured(), s.Input) || slices.Contains(node.Captured(), s.Output)
		for i, name := range node.Inputs {
			if name == s.Input || name == s.Output {
				reads = reads || !at || i != pastKey+k
			}
		}
		switch {
		case at && !reads:
			found = node
		case reads && !is(node, "Shape"):
			return nil, graph.Errorf(graph.ErrUnsupported,
				"the cache of state %q cannot be %v: node %q of operator %s reads its elements, and only attention "+
					"with inputs for a past does so in that type; leave the type of caches as the model has it", s.Input,
				n.dtype, node.Name, opName(node))
		}
	}
	if found == nil {
		return nil, graph.Errorf(graph.ErrUnsupported,
			"the cache of state %q cannot be %v: no attention with inputs for a past computes output %q; leave the "+
				"type of caches as the model has it", s.Input, n.dtype, s.Output)
	}
	return found, nil
}

// valueNamed returns the value of that name, or nil.
func valueNamed(list []*graph.Value, name string) *graph.Value {
	if i := slices.IndexFunc(list, func(v *graph.Value) bool { return v.Name == name }); i >= 0 {
		return list[i]
	}
	return nil
}
