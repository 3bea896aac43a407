package runtime

import (
	"slices"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/exec"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Step is the size of one run of a stream: the batch, the new rows, and the rows before them.
type Step struct{ Batch, Rows, Before int }

// Implied is an input that follows from the size of a run.
type Implied struct {
	Input int
	Rule  Rule
}

// Rule says how a tensor follows from the size of a run.
type Rule struct {
	Shape   func(s Step) tensor.Shape
	Element func(s Step, i int) int // element i
}

// imply returns the inputs, in a new slice, with the implied ones that are left out.
func (st *Stream) imply(inputs []tensor.Value) []tensor.Value {
	all := slices.Clone(inputs)
	s, ok := st.size(inputs)
	if !ok {
		return all
	}
	for _, x := range st.implied {
		if all[x.Input] == nil {
			if t := x.tensor(st.session.program.Decl[x.Input].Type, s); t != nil {
				all[x.Input] = t
			}
		}
	}
	return all
}

// Implies reports whether runs need no tensor for an input.
func (st *Stream) Implies(input int) bool {
	return slices.ContainsFunc(st.implied, func(x Implied) bool { return x.Input == input })
}

// size returns the size of the next run on these inputs.
func (st *Stream) size(inputs []tensor.Value) (Step, bool) {
	for _, i := range st.rows {
		if t, ok := inputs[i].(*tensor.Tensor); ok && len(t.Shape()) >= 2 {
			return Step{t.Shape()[0], t.Shape()[1], st.Length()}, true
		}
	}
	return Step{}, false
}

// moving returns a function that sets the implied inputs of a Bound for its next run.
func (st *Stream) moving(b *exec.Bound, inputs []tensor.Value) func() {
	s, ok := st.size(inputs)
	list := slices.DeleteFunc(slices.Clone(st.implied), func(x Implied) bool { return inputs[x.Input] != nil })
	if !ok || len(list) == 0 {
		return nil
	}
	return func() {
		s.Before = st.Length()
		for _, x := range list {
			if t := b.Input(x.Input); t != nil {
				x.set(t, s)
			}
		}
	}
}

// set sets the elements of a tensor. It returns false for an element type that is not listed.
func (x Implied) set(t *tensor.Tensor, s Step) bool {
	if d := t.DType(); d != tensor.I64 && d != tensor.I32 && d != tensor.F32 && d != tensor.Bool {
		return false
	}
	for i := range t.Len() {
		elements.Put(t, i, []int{x.Rule.Element(s, i)})
	}
	return true
}

// tensor returns the input of a run of this size, or nil if the input's type has another rank or an
// element type that set refuses.
func (x Implied) tensor(want graph.Type, s Step) *tensor.Tensor {
	shape := x.Rule.Shape(s)
	if want.Kind != graph.TensorType || want.Dims != nil && len(want.Dims) != len(shape) {
		return nil
	}
	if t := tensor.New(want.DType, shape...); x.set(t, s) {
		return t
	}
	return nil
}
