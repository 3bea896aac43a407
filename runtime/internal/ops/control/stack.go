package control

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// stack stacks tensors of one type and shape along a new axis. If list is empty, element type and
// extents come from t, with 0 for unknown extents.
func stack(c *op.Run, list []*tensor.Tensor, axis int, t graph.Type) (*tensor.Tensor, error) {
	shape, dtype := tensor.Shape{}, t.DType
	if len(list) == 0 {
		for _, d := range t.Dims {
			n, _ := d.Value()
			shape = append(shape, n)
		}
	} else {
		shape, dtype = list[0].Shape().Clone(), list[0].DType()
	}
	if axis < 0 {
		axis += len(shape) + 1
	}
	if axis < 0 || axis > len(shape) {
		return nil, graph.Errorf(graph.ErrShape, "axis %d for tensors of shape %v", axis, shape)
	}
	for _, t := range list {
		if t.DType() != dtype || !t.Shape().Equal(shape) {
			return nil, graph.Errorf(graph.ErrShape, "%v beside %v%v", t, dtype, shape)
		}
	}
	full := slices.Insert(shape.Clone(), axis, len(list))
	if err := full.Check(); err != nil {
		return nil, graph.Errorf(graph.ErrShape, "%w", err)
	}
	out, err := newTensor(c, dtype, full)
	if err != nil {
		return nil, err
	}
	for i, t := range list {
		slab{out, axis, i, 1}.copy(t, true)
	}
	return out, nil
}

// indexed returns a copy of index i along an axis, without that axis.
func indexed(c *op.Run, t *tensor.Tensor, axis, i int) (*tensor.Tensor, error) {
	part, err := newTensor(c, t.DType(), slices.Delete(t.Shape().Clone(), axis, axis+1))
	if err == nil {
		slab{t, axis, i, 1}.copy(part, false)
	}
	return part, err
}

// newTensor allocates a tensor that counts as memory. Elements narrower than a byte are zeroed.
func newTensor(c *op.Run, d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	t, err := c.Mem.Tensor(d, shape)
	if err == nil && kit.Width(d) == 0 {
		clear(t.Bytes())
	}
	return t, err
}

// join concatenates tensors of one type along an axis. Their other extents must be equal.
func join(c *op.Run, list []*tensor.Tensor, axis int) (*tensor.Tensor, error) {
	shape := list[0].Shape().Clone()
	shape[axis] = 0
	for _, t := range list {
		if t.DType() != list[0].DType() || len(t.Shape()) != len(shape) {
			return nil, graph.Errorf(graph.ErrShape, "%v beside %v", t, list[0])
		}
		for i, n := range t.Shape() {
			if i == axis {
				shape[i] += n
			} else if n != shape[i] {
				return nil, graph.Errorf(graph.ErrShape, "%v beside %v along axis %d", t, list[0], axis)
			}
		}
	}
	if err := shape.Check(); err != nil {
		return nil, graph.Errorf(graph.ErrShape, "%w", err)
	}
	out, err := newTensor(c, list[0].DType(), shape)
	if err != nil {
		return nil, err
	}
	at := 0
	for _, t := range list {
		n := t.Shape()[axis]
		slab{out, axis, at, n}.copy(t, true)
		at += n
	}
	return out, nil
}

// slab is n indices of one axis of a tensor, from at on.
type slab struct {
	whole       *tensor.Tensor
	axis, at, n int
}

// takes reports whether part has the extents of a slab of one index, without the axis.
func (s slab) takes(part *tensor.Tensor) bool {
	whole, shape := s.whole.Shape(), part.Shape()
	return len(shape) == len(whole)-1 && shape[:s.axis].Equal(whole[:s.axis]) && shape[s.axis:].Equal(whole[s.axis+1:])
}

// copy copies the slab to part or, if in is set, part to the slab.
func (s slab) copy(part *tensor.Tensor, in bool) {
	shape := s.whole.Shape()
	outer, n, inner := shape[:s.axis].Len(), shape[s.axis], shape[s.axis+1:].Len()
	d := part.DType()
	switch {
	case d == tensor.String:
		copyRows(s.whole.Strings(), part.Strings(), outer, n*inner, s.at*inner, s.n*inner, in)
	case kit.Width(d) > 0:
		inner *= kit.Width(d)
		copyRows(s.whole.Bytes(), part.Bytes(), outer, n*inner, s.at*inner, s.n*inner, in)
	default:
		l := d.Layout()
		for o := range outer {
			for i := range s.n * inner {
				w, p := (o*n+s.at)*inner+i, o*s.n*inner+i
				if in {
					l.Set(s.whole.Bytes(), w, l.At(part.Bytes(), p))
				} else {
					l.Set(part.Bytes(), p, l.At(s.whole.Bytes(), w))
				}
			}
		}
	}
}

// copyRows copies between the rows of part and a range of columns of whole's rows.
func copyRows[T any](whole, part []T, rows, stride, at, row int, in bool) {
	for o := range rows {
		w, p := whole[o*stride+at:][:row], part[o*row:][:row]
		if in {
			copy(w, p)
		} else {
			copy(p, w)
		}
	}
}
