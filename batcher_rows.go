package nacre

import (
	"bytes"
	"context"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// rowAxes says where the inputs and the results of runs have their rows, in the order of the engine:
// the axis of each, or op.Shared if it has none.
type rowAxes struct{ in, out []int }

// rowAxes returns the axes of rows of the session's runs, if the rows are proved independent.
func (s *Session) rowAxes(ctx context.Context) (rowAxes, error) {
	var r rowAxes
	inputs, file := s.engine.Inputs(), s.model.source.File
	symbol, found := "", false
	for _, v := range inputs {
		if len(v.Type.Dims) > 0 && !v.Type.Dims[0].IsKnown() && s.program.named[v.Name].spare == nil {
			if found = true; !v.Type.Dims[0].IsUnknown() {
				symbol = v.Type.Dims[0].String()
			}
			break
		}
	}
	if !found {
		return r, markf(ErrOption, "%s: no input has an open first axis for rows; the model takes %s. Export it with an open batch, "+
			"or share the session: Session.Run takes calls from many goroutines at once", file, names(s.Inputs()))
	}
	axes := map[string]int{}
	for _, v := range inputs {
		axis := -1
		if symbol != "" {
			axis = slices.IndexFunc(v.Type.Dims, func(d graph.Dim) bool { return d.String() == symbol })
		}
		if axis < 0 && len(v.Type.Dims) > 0 && v.Type.Dims[0].IsUnknown() {
			axis = 0
		}
		if axis < 0 {
			axis = op.Shared
		} else {
			axes[v.Name] = axis
		}
		r.in = append(r.in, axis)
	}
	for _, v := range slices.Concat(inputs, s.engine.Outputs()) {
		d := v.Type.DType
		if v.Type.Kind != graph.TensorType || d.Blocks() != nil || d != tensor.String && d.Bits()%8 != 0 {
			return r, markf(ErrOption, "%s: %q is %v; a batcher joins tensors of whole bytes", file, v.Name, v.Type)
		}
	}
	var err error
	r.out, err = s.program.engine.Items(ctx, axes)
	return r, err
}

// count returns the number of rows of inputs; 0 if they do not fit each other.
func (r *rowAxes) count(in []tensor.Value) int {
	n := 0
	for i, v := range in {
		t, ok := v.(*tensor.Tensor)
		if !ok {
			return 0
		}
		if r.in[i] < 0 {
			continue
		}
		shape := t.Shape()
		if r.in[i] >= len(shape) || n > 0 && shape[r.in[i]] != n || shape[r.in[i]] == 0 {
			return 0
		}
		n = shape[r.in[i]]
	}
	return n
}

// fit reports whether two runs can be joined. Both have rows that count counts.
func (r *rowAxes) fit(x, y []tensor.Value) bool {
	for i := range x {
		a, b := x[i].(*tensor.Tensor), y[i].(*tensor.Tensor)
		s, t := a.Shape(), b.Shape()
		if a.DType() != b.DType() || len(s) != len(t) {
			return false
		}
		for k := range s {
			if k != r.in[i] && s[k] != t[k] {
				return false
			}
		}
		if r.in[i] < 0 && (!bytes.Equal(a.Bytes(), b.Bytes()) || !slices.Equal(a.Strings(), b.Strings())) {
			return false
		}
	}
	return true
}

// room returns inputs like in with this number of rows, all zero. Inputs without rows are nil.
func (r *rowAxes) room(in []tensor.Value, rows int) []tensor.Value {
	out := make([]tensor.Value, len(in))
	for i, v := range in {
		if t := v.(*tensor.Tensor); r.in[i] >= 0 {
			shape := slices.Clone(t.Shape())
			shape[r.in[i]] = rows
			out[i] = tensor.New(t.DType(), shape...)
		}
	}
	return out
}

// copy copies the rows of in to dst, which has all rows, from this row on. It copies inputs without rows
// if dst lacks them.
func (r *rowAxes) copy(dst, in []tensor.Value, from, rows int) {
	for i, v := range in {
		t, axis := v.(*tensor.Tensor), r.in[i]
		switch {
		case axis >= 0:
			strips(dst[i].(*tensor.Tensor), t, axis, from, t.Shape()[axis], rows, func(whole, part span) { whole.copy(part) })
		case dst[i] == nil:
			dst[i] = t.Clone()
		}
	}
}

// results returns a copy of n rows of results with this number of rows.
func (r *rowAxes) results(out []tensor.Value, from, n, rows int) []tensor.Value {
	list := make([]tensor.Value, len(out))
	for i, v := range out {
		t, axis := v.(*tensor.Tensor), r.out[i]
		if axis < 0 {
			list[i] = t.Clone()
			continue
		}
		shape := slices.Clone(t.Shape())
		shape[axis] = shape[axis] / rows * n
		part := tensor.New(t.DType(), shape...)
		strips(t, part, axis, from, n, rows, func(whole, part span) { part.copy(whole) })
		list[i] = part
	}
	return list
}

// span is consecutive elements of a tensor.
type span struct {
	t        *tensor.Tensor
	from, to int
}

// copy copies the elements of src to s.
func (s span) copy(src span) {
	if s.t.DType() == tensor.String {
		copy(s.t.Strings()[s.from:s.to], src.t.Strings()[src.from:src.to])
		return
	}
	size := s.t.DType().Bits() / 8
	copy(s.t.Bytes()[s.from*size:s.to*size], src.t.Bytes()[src.from*size:src.to*size])
}

// strips calls f with the places of n rows, from row from of whole with this number of rows on, and with
// their places in part, which has these rows alone. Rows are along an axis.
func strips(whole, part *tensor.Tensor, axis, from, n, rows int, f func(whole, part span)) {
	shape := whole.Shape()
	outer, each := shape[:axis].Len(), shape[axis:].Len()/rows
	for k := range outer {
		at, to := (k*rows+from)*each, k*n*each
		f(span{whole, at, at + n*each}, span{part, to, to + n*each})
	}
}
