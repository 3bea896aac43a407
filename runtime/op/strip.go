package op

import (
	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// stripFloats is about the number of elements of 16-bit floats that are in float32 at a time. They
// fit a second-level cache.
const stripFloats = 1 << 16

// strip gives runs of the elements of a narrow float tensor as float32: in the tensor's memory, or,
// for 16-bit floats, in a buffer for one run. A strip without a tensor has no elements.
type strip struct {
	t      *tensor.Tensor
	floats []float32 // the tensor's own, or the buffer
}

// strip returns a strip of t for runs of at most n elements.
func (c *Run) strip(t *tensor.Tensor, n int) (strip, error) {
	s := strip{t: t}
	if t == nil || t.Len() == 0 {
		s.t = nil
		return s, nil
	}
	if t.DType() == tensor.F32 {
		s.floats = tensor.View[float32](t)
		return s, nil
	}
	var err error
	s.floats, err = c.ScratchFloats(min(n, t.Len()))
	return s, err
}

// isBuffer reports whether the elements are in a buffer and not in the tensor.
func (s strip) isBuffer() bool { return s.t != nil && s.t.DType() != tensor.F32 }

// room returns memory for writing n elements from index at on. The caller must call store before
// the next run.
func (s strip) room(at, n int) []float32 {
	switch {
	case s.t == nil:
		return nil
	case s.isBuffer():
		return s.floats[:n]
	}
	return s.floats[at : at+n]
}

// load returns n elements from index at on.
func (s strip) load(at, n int) []float32 {
	list := s.room(at, n)
	if s.isBuffer() {
		elements.Get(list, s.t, at)
	}
	return list
}

// store rounds the elements that were written to the memory of room, from index at on.
func (s strip) store(at int, list []float32) {
	if s.isBuffer() {
		elements.Put(s.t, at, list)
	}
}

// InSlices computes output 0 from input 0. Both consist of n consecutive, independent slices. f
// gets the elements of `count` slices from slice first on. Between two calls InSlices checks
// whether the run must end.
func (c *Run) InSlices(n int, f func(x, out []float32, first, count int)) error {
	if n == 0 {
		return nil
	}
	from, to := c.In[0].Len()/n, c.Out[0].Len()/n
	step := min(n, max(1, stripFloats/max(1, from+to)))
	x, err := c.strip(c.In[0], step*from)
	if err != nil {
		return err
	}
	out, err := c.strip(c.Out[0], step*to)
	if err != nil {
		return err
	}
	for first := 0; first < n; first += step {
		if c.Stopped() {
			return ErrStopped
		}
		count := min(step, n-first)
		y := out.room(first*to, count*to)
		f(x.load(first*from, count*from), y, first, count)
		out.store(first*to, y)
	}
	return nil
}
