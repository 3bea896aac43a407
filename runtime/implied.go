package runtime

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/exec"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// step is the size of one run of a stream: the batch, the new rows, and the rows before them.
type step struct{ batch, rows, before int }

// impliedInputs are inputs of decoders that follow from the others, by the names that exporters
// give them.
var impliedInputs = map[string]struct {
	shape func(s step) tensor.Shape
	at    func(s step, i int) int // element i
}{
	"attention_mask":        {func(s step) tensor.Shape { return tensor.Shape{s.batch, s.before + s.rows} }, func(step, int) int { return 1 }},
	"position_ids":          {func(s step) tensor.Shape { return tensor.Shape{s.batch, s.rows} }, func(s step, i int) int { return s.before + i%max(s.rows, 1) }},
	"cache_position":        {func(s step) tensor.Shape { return tensor.Shape{s.rows} }, func(s step, i int) int { return s.before + i }},
	"use_cache_branch":      {func(step) tensor.Shape { return tensor.Shape{1} }, func(s step, _ int) int { return min(s.before, 1) }},
	"seqlens_k":             {func(s step) tensor.Shape { return tensor.Shape{s.batch} }, func(s step, _ int) int { return s.before + s.rows - 1 }},
	"total_sequence_length": {func(step) tensor.Shape { return nil }, func(s step, _ int) int { return s.before + s.rows }},
}

// implied makes the missing inputs that follow from the others: a mask of ones, positions that
// continue, counts of rows. It counts the rows of input_ids, or of inputs_embeds.
func (st *Stream) implied(inputs map[string]tensor.Value) map[string]tensor.Value {
	made := map[string]tensor.Value{}
	s, ok := st.step(inputs)
	if !ok {
		return made
	}
	for _, v := range st.session.program.Decl {
		rule, known := impliedInputs[v.Name]
		if !known || inputs[v.Name] != nil {
			continue
		}
		if t := impliedTensor(v.Type, rule.shape(s), s, rule.at); t != nil {
			made[v.Name] = t
		}
	}
	return made
}

// Implies reports whether runs need no tensor for an input.
func (st *Stream) Implies(input int) bool {
	v := st.session.program.Decl[input]
	rule, known := impliedInputs[v.Name]
	if !known || !st.Grows() || !slices.ContainsFunc(rowInputs, st.session.needs) {
		return false
	}
	one := step{batch: 1, rows: 1}
	return impliedTensor(v.Type, rule.shape(one), one, rule.at) != nil
}

// rowInputs are the inputs with the batch and the new rows as their first two axes.
var rowInputs = []string{"input_ids", "inputs_embeds"}

// step returns the size of the next run on these inputs.
func (st *Stream) step(inputs map[string]tensor.Value) (step, bool) {
	if !st.Grows() {
		return step{}, false
	}
	for _, name := range rowInputs {
		if t, ok := inputs[name].(*tensor.Tensor); ok && len(t.Shape()) >= 2 {
			return step{t.Shape()[0], t.Shape()[1], st.Length()}, true
		}
	}
	return step{}, false
}

// moving returns a function that sets the implied inputs of a Bound for its next run.
func (st *Stream) moving(b *exec.Bound, inputs map[string]tensor.Value) func() {
	first, ok := st.step(inputs)
	if !ok {
		return nil
	}
	type move struct {
		input int
		at    func(s step, i int) int
	}
	var list []move
	for i, v := range st.session.program.Decl {
		if rule, known := impliedInputs[v.Name]; known && inputs[v.Name] == nil {
			list = append(list, move{i, rule.at})
		}
	}
	return func() {
		s := step{first.batch, first.rows, st.Length()}
		for _, m := range list {
			if t := b.Input(m.input); t != nil {
				setInts(t, s, m.at)
			}
		}
	}
}

// setInts sets the elements of a tensor to at(s, i). It returns false for an element type that is
// not listed.
func setInts(t *tensor.Tensor, s step, at func(s step, i int) int) bool {
	for i := range t.Len() {
		switch t.DType() {
		case tensor.I64:
			tensor.View[int64](t)[i] = int64(at(s, i))
		case tensor.I32:
			tensor.View[int32](t)[i] = int32(at(s, i))
		case tensor.F32:
			tensor.View[float32](t)[i] = float32(at(s, i))
		case tensor.Bool:
			t.Bytes()[i] = byte(min(at(s, i), 1))
		default:
			return false
		}
	}
	return true
}

// impliedTensor returns a tensor of this shape, or nil if the input's type has another rank or an
// element type that setInts refuses.
func impliedTensor(want graph.Type, shape tensor.Shape, s step, at func(s step, i int) int) *tensor.Tensor {
	if want.Kind != graph.TensorType || want.Dims != nil && len(want.Dims) != len(shape) {
		return nil
	}
	if t := tensor.New(want.DType, shape...); setInts(t, s, at) {
		return t
	}
	return nil
}
