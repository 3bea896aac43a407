package exec

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/plan"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// body runs a graph that the step's node holds, in frames of its own.
func (r *run) body(f *frame, s *plan.Step, attr string, in []tensor.Value) ([]tensor.Value, error) {
	b, err := bodyOf(s, attr, in, nil)
	if err != nil {
		return nil, err
	}
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	in = f.captured(b, in)
	pl, err := b.Program.For(r.ctx, in)
	if err != nil {
		return nil, err
	}
	return r.inner(f, s, attr, func() ([]tensor.Value, error) { return r.program(pl, in, nil) })
}

// bodyOf returns a graph that the step's node holds. Inputs of the graph must be of the
// types that it declares; those of held are not looked at.
func bodyOf(s *plan.Step, attr string, in []tensor.Value, held func(input int) bool) (*plan.Body, error) {
	b := s.Bodies[attr]
	if b == nil {
		return nil, graph.Errorf(graph.ErrFormat, "attribute %q, a graph, is missing", attr)
	}
	if len(in) != len(b.Decl) {
		return nil, graph.Errorf(graph.ErrFormat, "graph %q takes %d inputs and is given %d", attr, len(b.Decl), len(in))
	}
	for i, v := range in {
		want := b.Decl[i].Type
		if (held == nil || !held(i)) && !takes(want, op.TypeOf(v)) {
			return nil, graph.Errorf(graph.ErrShape, "graph %q takes %v as %q and is given %v", attr, want, b.Decl[i].Name, v)
		}
	}
	return b, nil
}

// captured returns the inputs of a graph with the values behind them that it captures.
func (f *frame) captured(b *plan.Body, in []tensor.Value) []tensor.Value {
	in = slices.Clone(in)
	for _, id := range b.Captures {
		in = append(in, f.value(id))
	}
	return in
}

// inner runs a graph that the step's node holds, and counts what it gives.
func (r *run) inner(f *frame, s *plan.Step, attr string, program func() ([]tensor.Value, error)) ([]tensor.Value, error) {
	if r.prof != nil {
		defer r.enterBody(s, attr)()
	}
	out, err := program()
	if err != nil {
		return nil, err
	}
	r.garbage += bodyGarbage
	for _, v := range out {
		if v == nil {
			continue
		}
		n := tensor.Footprint(v)
		r.garbage = max(r.garbage-n, 0) // the frame gave it back
		if err := f.Reserve(n); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// enterBody has the profile say of steps that they are of a graph that the step's node holds, until
// leave is called.
func (r *run) enterBody(s *plan.Step, attr string) (leave func()) {
	outer := r.within
	if r.within = s.Label() + "." + attr; outer != "" {
		r.within = outer + " > " + r.within
	}
	return func() { r.within = outer }
}

// bodyGarbage is about the memory in bytes of Go's heap that running a graph which a node
// holds takes beside its values.
const bodyGarbage = 2 << 10

// takes reports whether a body that declares one type can be given another. A
// value stands for an optional that holds it.
func takes(want, have graph.Type) bool {
	if want.Kind == graph.OptionalType && have.Kind != graph.OptionalType && want.Elem != nil {
		return takes(*want.Elem, have)
	}
	return want.Kind == have.Kind && (want.Kind != graph.TensorType || want.DType == have.DType)
}
