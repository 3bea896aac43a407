package exec

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// body runs a body of the step's node, in frames of its own.
func (r *run) body(f *frame, s *plan.Step, attr string, in []tensor.Value) ([]tensor.Value, error) {
	b, err := bodyOf(s, attr, in, nil)
	if err != nil {
		return nil, err
	}
	if err := r.ended(); err != nil {
		return nil, err
	}
	in = f.captured(b, in)
	pl, err := b.Program.For(r.ctx, in)
	if err != nil {
		return nil, err
	}
	return r.inner(f, s, attr, func() ([]tensor.Value, error) { return r.program(pl, in, nil) })
}

// bodyOf returns the body of the step under attr, a graph that its node holds as an attribute. The
// inputs must have the types that the body declares. Inputs for which isState is true are not
// checked.
func bodyOf(s *plan.Step, attr string, in []tensor.Value, isState func(input int) bool) (*plan.Body, error) {
	b := s.Bodies[attr]
	if b == nil {
		return nil, graph.Errorf(graph.ErrFormat, "attribute %q, a graph, is missing", attr)
	}
	if len(in) != len(b.Decl) {
		return nil, graph.Errorf(graph.ErrFormat, "graph %q takes %d inputs and is given %d", attr, len(b.Decl), len(in))
	}
	for i, v := range in {
		want := b.Decl[i].Type
		if (isState == nil || !isState(i)) && !takes(want, op.TypeOf(v)) {
			return nil, graph.Errorf(graph.ErrShape, "graph %q takes %v as %q and is given %v", attr, want, b.Decl[i].Name, v)
		}
	}
	return b, nil
}

// captured returns in followed by the values that the body captures.
func (f *frame) captured(b *plan.Body, in []tensor.Value) []tensor.Value {
	in = slices.Clone(in)
	for _, id := range b.Captures {
		in = append(in, f.value(id))
	}
	return in
}

// inner runs program, a body of the step's node, and counts the memory of its results.
func (r *run) inner(
	f *frame, s *plan.Step, attr string, program func() ([]tensor.Value, error),
) ([]tensor.Value, error) {
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

// enterBody names the body in the profile of the steps that run until leave is called.
func (r *run) enterBody(s *plan.Step, attr string) (leave func()) {
	outer := r.within
	if r.within = s.Label() + "." + attr; outer != "" {
		r.within = outer + " > " + r.within
	}
	return func() { r.within = outer }
}

// bodyGarbage is roughly the memory in bytes of Go's heap that running a body takes beside its
// values.
const bodyGarbage = 2 << 10

// takes reports whether a body that declares type want accepts type have. An optional accepts a
// value of its element type.
func takes(want, have graph.Type) bool {
	if want.Kind == graph.OptionalType && have.Kind != graph.OptionalType && want.Elem != nil {
		return takes(*want.Elem, have)
	}
	return want.Kind == have.Kind && (want.Kind != graph.TensorType || want.DType == have.DType)
}
