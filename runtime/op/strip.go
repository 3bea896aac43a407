package op

import "github.com/nacre-ml/nacre/runtime/tensor"

// stripFloats is about how many elements of 16-bit floats are in float32 at a
// time: what a second-level cache holds.
const stripFloats = 1 << 16

// strip shows runs of the elements of a narrow float tensor as float32: where
// they lie, or, for 16-bit floats, in a buffer that holds one run. The strip of no
// tensor has no elements.
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

// isBuffer reports whether the elements are not where the tensor has them.
func (s strip) isBuffer() bool { return s.t != nil && s.t.DType() != tensor.F32 }

// room is where n elements from the one numbered at are to be written; store must
// follow before the next run.
func (s strip) room(at, n int) []float32 {
	switch {
	case s.t == nil:
		return nil
	case s.isBuffer():
		return s.floats[:n]
	}
	return s.floats[at : at+n]
}

// load is n elements from the one numbered at.
func (s strip) load(at, n int) []float32 {
	list := s.room(at, n)
	if s.isBuffer() {
		widenFloats(list, s.t, at)
	}
	return list
}

// store rounds what was written to the room for elements from at on.
func (s strip) store(at int, list []float32) {
	if s.isBuffer() {
		narrowFloats(s.t, at, list)
	}
}

// InSlices computes output 0 from input 0, both of which are n slices that follow
// each other and have nothing to do with each other. f gets the elements of
// `count` slices from the one numbered first on. Between two calls InSlices looks whether
// the run is to end.
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
