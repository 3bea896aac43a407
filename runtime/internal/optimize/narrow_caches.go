package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// narrowForm returns, for attention with caches of keys and values, the operator of nacreDomain with
// narrow caches, and the input past_key. Input past_value follows. Outputs 1 and 2 are the caches.
func narrowForm(n *graph.Node) (narrow string, pastKey int, ok bool) {
	switch {
	case is(n, "Attention"):
		return "NarrowAttention", 4, true
	case is(n, "com.microsoft.MultiHeadAttention"):
		return "NarrowMultiHeadAttention", 6, true
	case is(n, "com.microsoft.GroupQueryAttention"):
		return "NarrowGroupQueryAttention", 3, true
	}
	return "", 0, false
}

// NarrowCaches returns a model with caches of keys and values of element type d: float16, or int8
// with a scale for each block of a row. The caches are the growing states of floats. States with d's
// number of bits or fewer stay as they are. Attention extends a cache, or a Concat, whose result other
// nodes read as the floats that it was. If the model has no growing state of floats, or another node
// reads or computes the elements of one, the error is graph.ErrUnsupported.
func NarrowCaches(m *graph.Model, d tensor.DType) (*graph.Model, error) {
	n := &cacheNarrower{dtype: d, attention: map[*graph.Node]bool{}, joins: newJoins(m.Graph),
		wide: map[string]graph.Type{}}
	if err := n.find(m); err != nil {
		return nil, &graph.Error{Stage: "optimize", File: m.File, Offset: -1, Err: err}
	}
	g, narrow := *m.Graph, *m
	g.Inputs, g.Outputs = n.values(g.Inputs), n.values(g.Outputs)
	g.Nodes = n.nodes(g.Nodes)
	narrow.Graph = &g
	return &narrow, nil
}

// cacheNarrower has the parts of a graph that change.
type cacheNarrower struct {
	dtype     tensor.DType
	attention map[*graph.Node]bool
	joins     joins
	wide      map[string]graph.Type // of inputs and outputs that become narrow
}

// nodes returns the list with attention in its narrow form, and Concat and Shape nodes of narrow
// values.
func (n *cacheNarrower) nodes(list []*graph.Node) (out []*graph.Node) {
	for _, node := range list {
		if shape := n.shape(node); shape != nil {
			out = append(out, shape...)
			continue
		}
		if n.attention[node] {
			own := *node
			own.Domain = nacreDomain
			own.Op, _, _ = narrowForm(node)
			node = &own
		}
		out = append(out, n.joins.nodes(node, n.dtype)...)
	}
	return out
}

// values returns the list with the new types.
func (n *cacheNarrower) values(list []*graph.Value) []*graph.Value {
	list = slices.Clone(list)
	for i, v := range list {
		if t, ok := n.wide[v.Name]; ok {
			own := *v
			own.Type = n.narrow(t)
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
		if in.Type.DType.Bits() <= n.dtype.Bits() {
			continue
		}
		joins, err := n.joined(m.Graph, s, in.Type)
		if err != nil {
			return err
		}
		if !joins {
			node, err := n.node(m.Graph, s, in.Type)
			if err != nil {
				return err
			}
			n.attention[node] = true
		}
		n.wide[in.Name], n.wide[out.Name] = in.Type, out.Type
	}
	if caches == 0 {
		return graph.Errorf(graph.ErrUnsupported, "the model has no cache of keys and values that could be %v", n.dtype)
	}
	return nil
}

// node returns the attention that a state of type t belongs to.
func (n *cacheNarrower) node(g *graph.Graph, s graph.State, t graph.Type) (*graph.Node, error) {
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
		case reads && !n.extents(node, t):
			return nil, graph.Errorf(graph.ErrUnsupported,
				"the cache of state %q cannot be %v: node %q of operator %s reads its elements, and only attention "+
					"with inputs for a past and a Concat of past and new rows do so in that type; leave the type of caches as the model has it", s.Input,
				n.dtype, node.Name, opName(node))
		}
	}
	if found == nil {
		return nil, graph.Errorf(graph.ErrUnsupported,
			"the cache of state %q cannot be %v: no attention with inputs for a past and no Concat computes output %q; leave the "+
				"type of caches as the model has it", s.Input, n.dtype, s.Output)
	}
	return found, nil
}

// narrow returns the type of a cache.
func (n *cacheNarrower) narrow(t graph.Type) graph.Type {
	t.DType = n.dtype
	t.Dims = slices.Clone(t.Dims)
	if last := len(t.Dims) - 1; last >= 0 {
		t.Dims[last] = kit.CacheWidth(n.dtype, t.Dims[last])
	}
	return t
}

// valueNamed returns the value of that name, or nil.
func valueNamed(list []*graph.Value, name string) *graph.Value {
	if i := slices.IndexFunc(list, func(v *graph.Value) bool { return v.Name == name }); i >= 0 {
		return list[i]
	}
	return nil
}
