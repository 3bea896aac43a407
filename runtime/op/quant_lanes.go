package op

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// quantLanes is the rows of the left operands of a batch of products, or the columns
// of the right ones, and where the numbers that belong to them lie.
type quantLanes struct {
	operand  tensor.Shape // of at least two axes
	axis     int          // of the lanes in it
	batch    tensor.Shape // of the result
	merged   int          // products that became one
	products int          // that are left
	vectors  int          // how many vectors of numbers there are: 1 or products
}

// lanesOf returns the lanes of both operands of products that were cut from
// operands of those shapes.
func lanesOf(s *products, a, b tensor.Shape) (rows, cols *quantLanes, err error) {
	dims, err := broadcast(graph.DimsOf(a[:len(a)-2]), graph.DimsOf(b[:len(b)-2]))
	if err != nil {
		return nil, nil, err
	}
	batch, _ := dims.Concrete()
	count := 1
	for _, n := range s.batch[:len(s.batch)/3] {
		count *= n
	}
	l := quantLanes{batch: batch, products: count, merged: 1, vectors: 1}
	if count > 0 {
		l.merged = batch.Len() / count
	}
	rows, cols = new(quantLanes), new(quantLanes)
	*rows, *cols = l, l
	rows.operand, rows.axis = a, len(a)-2
	cols.operand, cols.axis = b, len(b)-1
	return rows, cols, nil
}

// left reports whether the lanes are rows.
func (l *quantLanes) left() bool { return l.axis == len(l.operand)-2 }

// admit takes numbers of that shape: one, one for each lane, or those of each
// matrix of the operand, in the shape of the operand with an extent of 1 where the
// lanes lie across.
func (l *quantLanes) admit(t *tensor.Tensor) error {
	if t == nil || t.Len() == 1 {
		return nil
	}
	s, n := t.Shape(), l.operand[l.axis]
	if len(s) == 1 && s[0] == n {
		return nil
	}
	want := l.operand.Clone()
	want[len(want)-1], want[len(want)-2] = 1, 1
	want[l.axis] = n
	if !s.Equal(want) {
		return graph.Mark(graph.ErrShape, "scales or zero points are %v; an operand of shape %v takes one, %d, or %v", t, l.operand, n, want)
	}
	if want.Len() != n {
		l.vectors = l.products
	}
	return nil
}

// count is how many numbers spreadLanes makes.
func (l *quantLanes) count() int {
	if l.left() {
		return l.vectors * l.merged * l.operand[l.axis]
	}
	return l.vectors * l.operand[l.axis]
}

// spreadLanes writes the vectors of numbers of a shape that was admitted.
func spreadLanes[T int32 | float32](l *quantLanes, dst, src []T, shape tensor.Shape) {
	lane, steps := 1, make([]int, len(l.batch)) // between the numbers of lanes, and of matrices
	if shape.Len() == 1 {
		lane = 0
	} else if lead := len(l.operand) - 2; len(shape) == len(l.operand) {
		step := l.operand[l.axis]
		for i := lead - 1; i >= 0; i-- {
			if shape[i] != 1 {
				steps[len(steps)-lead+i] = step
			}
			step *= shape[i]
		}
	}
	repeats := 1
	if l.left() {
		repeats = l.merged
	}
	k := 0
	for q := range l.vectors {
		for r := range repeats {
			base, index := 0, q*l.merged+r
			for i := len(steps) - 1; i >= 0; i-- {
				base += index % l.batch[i] * steps[i]
				index /= l.batch[i]
			}
			for i := range l.operand[l.axis] {
				dst[k] = src[base+i*lane]
				k++
			}
		}
	}
}

// zeros returns the zero points that t holds, 0 where it is left out, spread over
// the lanes.
func (l *quantLanes) zeros(c *Run, t *tensor.Tensor) ([]int32, error) {
	list, err := c.scratchInts(l.count())
	if err != nil {
		return nil, err
	}
	if t == nil {
		clear(list)
		return list, nil
	}
	given, err := c.zeros(t, t.Len())
	if err != nil {
		return nil, err
	}
	spreadLanes(l, list, given, t.Shape())
	return list, nil
}

// scales returns the scales that t holds, 1 where it is left out, spread over the
// lanes.
func (l *quantLanes) scales(c *Run, t *tensor.Tensor) ([]float32, error) {
	list, err := c.scratchFloats(l.count())
	if err != nil {
		return nil, err
	}
	if t == nil {
		for i := range list {
			list[i] = 1
		}
		return list, nil
	}
	given, err := c.scales(t)
	if err != nil {
		return nil, err
	}
	spreadLanes(l, list, given, t.Shape())
	return list, nil
}
