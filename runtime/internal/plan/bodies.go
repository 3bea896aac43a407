package plan

import (
	"context"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// bodyPlan is the plan of a graph in a node. If the types of the graph's inputs are known only
// while running, or do not fit the graph, plan is nil.
type bodyPlan struct {
	attr  string
	plan  *Plan
	first bool       // plan is for the first iteration
	loops *kit.Loops // plan is for runs in a stream; nil for others
	err   error      // the reason why there is no plan
}

// bodies plans the graphs that the node of a step may run, in the order of its attributes.
func (pl *Plan) bodies(s *Step) []bodyPlan {
	if s.Bodies == nil {
		return nil
	}
	in := pl.operands(s.inputs())
	own := pl.bodyInputs(s, in)
	var list []bodyPlan
	for _, a := range s.Attrs {
		b := s.Bodies[a.Name]
		if b == nil {
			continue
		}
		if t, ok := s.Op.(op.BodyTyper); ok {
			if _, used := t.BodyTypes(a.Name, in); !used {
				continue
			}
		}
		x := bodyPlan{attr: a.Name}
		if o, ok := s.Op.(kit.BodyLooper); ok {
			if x.loops = o.Loops(a.Name, in); x.loops != nil {
				x.plan, x.err = pl.loop(b, x.loops)
				list = append(list, x)
				continue
			}
		}
		types := own[a.Name]
		if t, ok := s.Op.(op.BodyStarter); ok {
			x.first, types = true, t.FirstTypes(a.Name, in)
		}
		x.plan, x.err = pl.body(b, types)
		list = append(list, x)
	}
	return list
}

// body plans a graph for its own inputs of the given types.
func (pl *Plan) body(b *Body, types []graph.Type) (*Plan, error) {
	if types == nil && len(b.Decl) > 0 {
		return nil, graph.Errorf(graph.ErrShape, "its inputs are known only then")
	}
	types = slices.Clone(types)
	for _, id := range b.Captures {
		types = append(types, pl.values[id].Type)
	}
	if len(types) != len(b.Inputs) {
		return nil, graph.Errorf(graph.ErrFormat, "the graph takes %d inputs and is given %d", len(b.Inputs), len(types))
	}
	return b.Program.ForTypes(context.Background(), types)
}

// bodyInputs returns the types that a node's shape rule passes to each of its graphs.
func (pl *Plan) bodyInputs(s *Step, in []*op.Value) map[string][]graph.Type {
	seen := map[string][]graph.Type{}
	c := &op.Infer{In: in, Body: func(attr string, in []*op.Value) ([]*op.Value, error) {
		types := make([]graph.Type, len(in))
		for i, v := range in {
			types[i] = v.Type
		}
		seen[attr] = types
		return s.Bodies[attr].outputs(in, pl.values)
	}}
	// If a graph does not fit, it never runs or it fails the run. Both are ignored here.
	_, _ = kit.InferWith(s.Op, s.Node.Node, c)
	return seen
}

// declaredTypes returns the types of the outputs as the graph declares them. Extents that follow
// from the declared inputs are added. An extent that contradicts the declared one becomes unknown.
func (b *Body) declaredTypes() []graph.Type {
	in := make([]*op.Value, len(b.Inputs))
	for k, id := range b.Inputs {
		in[k] = b.values[id]
		if k < len(b.Decl) {
			in[k] = &op.Value{Type: b.Decl[k].Type}
		}
	}
	// If the graph does not fit its own declarations, infer says nothing about its outputs.
	values, err := b.infer(in)
	list := make([]graph.Type, len(b.Outputs))
	for i, id := range b.Outputs {
		list[i] = b.Type(id)
		if list[i].Kind != graph.TensorType {
			continue
		}
		if err == nil {
			list[i].Dims = values[id].Dims
		}
		list[i] = declaredAs(list[i], b.results[i].Type.Dims)
	}
	return list
}

// declaredAs merges the declared extents into a type.
func declaredAs(t graph.Type, said graph.Dims) graph.Type {
	switch {
	case said == nil:
	case len(said) != len(t.Dims):
		t.Dims = said
	default:
		t.Dims = slices.Clone(t.Dims)
		for a, d := range said {
			switch {
			case !t.Dims[a].IsKnown():
				t.Dims[a] = d
			case d.IsKnown() && !d.Same(t.Dims[a]):
				t.Dims[a] = graph.Unknown()
			}
		}
	}
	return t
}
