package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/fold"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// infer computes the facts about every value of the graph. The outputs of an invalid
// node stay unknown: the planner reports it.
func (s *Scope) infer() {
	s.facts.begin()
	defer s.facts.end()
	in := make([]*op.Value, len(s.Graph.Inputs))
	for i, v := range s.Graph.Inputs {
		t := v.Type
		if t.Kind == graph.NoType && i < len(s.inputs) {
			t = s.inputs[i]
		}
		if s.outer != nil {
			t.Dims = nil // declared extents hold for a single run of the body
		}
		t.Dims = declared(t.Dims)
		in[i] = s.facts.input(v, func() *op.Value { return s.named(&op.Value{Type: t}) })
	}
	s.inferFrom(in)
}

// declared returns the extents of an input with symbols instead of expressions. A run checks that
// equal expressions have equal lengths, but does not evaluate them.
func declared(dims graph.Dims) graph.Dims {
	dims = slices.Clone(dims)
	for i, d := range dims {
		if !d.IsKnown() {
			dims[i] = graph.Symbol(d.String())
		}
	}
	return dims
}

// inferFrom is infer with given facts about the graph's inputs. Every unknown extent
// becomes a new symbol, so that it equals itself wherever it propagates.
func (s *Scope) inferFrom(in []*op.Value) {
	s.known = make(map[string]*op.Value, len(s.Graph.Inputs)+len(s.Graph.Initializers)+len(s.Nodes))
	define(s.Graph, s.known, nil)
	for i, v := range s.Graph.Inputs {
		s.known[v.Name] = s.named(in[i])
	}
	for _, init := range s.Graph.Initializers {
		s.known[init.Name] = s.facts.constant(init.Tensor)
	}
	for _, n := range s.Nodes {
		if s.done() != nil {
			return // and so does the pass
		}
		for i, v := range s.learned(n) {
			if n.Outputs[i] != "" {
				s.known[n.Outputs[i]] = v
			}
		}
	}
}

// learned infers the outputs of a node, with symbols for unknown extents. If the last inference met
// the node with the same inputs, it returns the outputs of the last time.
func (s *Scope) learned(n *graph.Node) []*op.Value {
	in := s.operands(n)
	if in == nil {
		return nil
	}
	if x, met := s.facts.of(n); met && slices.Equal(x.in, in) {
		*s.room -= x.bytes
		s.facts.note(n, x)
		return x.out
	}
	before := *s.room
	out := s.inferWith(n, in)
	for i, v := range out {
		if n.Outputs[i] != "" {
			out[i] = s.named(v)
		}
	}
	// With more bytes left a node may be computed, and facts about captured values may change.
	if before > 0 && len(subgraphs(n)) == 0 {
		s.facts.note(n, inferred{in, out, before - *s.room})
	}
	return out
}

// named returns the facts with new symbols for unknown extents.
func (s *Scope) named(v *op.Value) *op.Value {
	if !slices.ContainsFunc(v.Dims, graph.Dim.IsUnknown) {
		return v
	}
	known := *v
	known.Dims = slices.Clone(v.Dims)
	for i, d := range v.Dims {
		if d.IsUnknown() {
			known.Dims[i] = s.names.symbol()
		}
	}
	return &known
}

// node infers the outputs of a node. If nothing is known about them, it returns nil.
func (s *Scope) node(n *graph.Node) []*op.Value {
	in := s.operands(n)
	if in == nil {
		return nil
	}
	return s.inferWith(n, in)
}

// operands returns the facts about the inputs of a node. If the type of an input is unknown, it
// returns nil.
func (s *Scope) operands(n *graph.Node) []*op.Value {
	in := make([]*op.Value, len(n.Inputs))
	for i, name := range n.Inputs {
		if name == "" {
			continue
		}
		if in[i] = s.value(name); in[i].Kind == graph.NoType {
			return nil
		}
	}
	return in
}

// inferWith is node with the facts about the inputs.
func (s *Scope) inferWith(n *graph.Node, in []*op.Value) []*op.Value {
	o, row, err := s.Registry.New(n)
	if err != nil || row.CheckTypes(in) != nil {
		return nil
	}
	out, err := kit.InferWith(o, n,
		&op.Infer{In: in, Body: func(attr string, in []*op.Value) ([]*op.Value, error) { return s.body(n, attr, in) }})
	if err != nil {
		return nil
	}
	if *s.room <= 0 {
		return out
	}
	list := s.compute(n, row, in, out, fold.Facts)
	if list == nil {
		return out
	}
	for _, t := range list {
		if t != nil {
			*s.room -= tensor.SizeOf(t.DType(), t.Shape())
		}
	}
	return kit.Values(list)
}

// body infers the outputs of a subgraph of a node.
func (s *Scope) body(n *graph.Node, attr string, in []*op.Value) ([]*op.Value, error) {
	a := n.Attr(attr)
	if a == nil || a.Graph == nil {
		return nil, graph.Errorf(graph.ErrFormat, "attribute %q, a graph, is missing", attr)
	}
	if len(in) != len(a.Graph.Inputs) {
		return nil, graph.Errorf(graph.ErrFormat, "the graph takes %d inputs and is given %d", len(a.Graph.Inputs), len(in))
	}
	b := newScope(s.Context, s.Model, a.Graph, s, s.names)
	b.inferFrom(in)
	out := make([]*op.Value, len(a.Graph.Outputs))
	for i, v := range a.Graph.Outputs {
		// New symbols denote extents of a single run of the body.
		result := *b.value(v.Name)
		result.Dims, result.Ints = s.names.without(result.Dims), s.names.without(result.Ints)
		out[i] = &result
	}
	return out, nil
}

// bodyTypes returns the types that a node passes to the inputs of a subgraph.
func (s *Scope) bodyTypes(n *graph.Node, attr string) []graph.Type {
	o, _, err := s.Registry.New(n)
	t, ok := o.(op.BodyTyper)
	if err != nil || !ok {
		return nil
	}
	in := make([]*op.Value, len(n.Inputs))
	for i, name := range n.Inputs {
		if name != "" {
			in[i] = s.value(name)
		}
	}
	types, _ := t.BodyTypes(attr, in)
	return types
}

// compute returns the outputs of a node. If the limits or the node do not let it be computed, it
// returns nil.
func (s *Scope) compute(n *graph.Node, row *op.Row, in, out []*op.Value, l fold.Limits) []*tensor.Tensor {
	list, ok := l.Operands(n, row, in, out)
	if !ok {
		return nil
	}
	list, err := s.Eval(n, list)
	if err != nil {
		return nil
	}
	return list
}
