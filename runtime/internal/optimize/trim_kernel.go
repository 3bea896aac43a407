package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// trimKernel leaves out the outer rows and columns of a convolution's constant kernel that meet
// only padding, as with a large dilation on a small value. Results differ only if such weights are
// infinite or NaN, because their products with zero are NaN.
func trimKernel(s *Scope) (*Edit, error) {
	m := newMatcher(s)
	for _, n := range m.live {
		if !is(n, "Conv") {
			continue
		}
		if by := m.trimmed(n); by != nil {
			m.replace(n, by)
		}
	}
	return m.result()
}

// trimmed returns a convolution with a smaller kernel. If the whole kernel meets the value, or
// extents or weights are unknown, it returns nil.
func (m *matcher) trimmed(n *graph.Node) *graph.Node {
	w := m.constant(n.Inputs[1])
	in, known := m.dims(n.Inputs[0]).Concrete()
	if w == nil || !known || !slices.Contains(floats, w.DType()) || len(in) != len(w.Shape()) || len(in) < 3 ||
		!m.own(n.Inputs[1], w) {
		return nil
	}
	o, _, err := m.Registry.New(n)
	if err != nil {
		return nil
	}
	conv, ok := o.(kit.Sliding)
	if !ok {
		return nil
	}
	slides, err := conv.Slides(in, w.Shape())
	if err != nil {
		return nil
	}
	axes, fewer := len(slides), false
	first, kernel, pads := make([]int, axes), make([]int, axes), make([]int64, 2*axes)
	for i, s := range slides {
		var before, behind int
		if first[i], kernel[i], before, behind, ok = met(s); !ok {
			return nil
		}
		fewer = fewer || kernel[i] < s.Kernel
		pads[i], pads[axes+i] = int64(before), int64(behind)
	}
	if !fewer {
		return nil
	}
	r := *n
	r.Inputs = slices.Clone(n.Inputs)
	r.Inputs[1] = m.add(n.Inputs[1], cutOut(w, first, kernel))
	for _, name := range []string{"auto_pad", "kernel_shape", "pads"} {
		r.Attrs = without(r.Attrs, name)
	}
	r.Attrs = append(r.Attrs, intsAttr("pads", pads...))
	return &r
}

// met returns the first element of the kernel that meets the value, the number of elements from it
// to the last that does, and the padding that these need. If none meets the value, or the padding
// would be negative or change the result's extent, it reports false.
func met(s kit.Slide) (first, n, before, behind int, ok bool) {
	first, last := -1, -1
	for i := range s.Kernel {
		from := i*s.Dilation - s.Pad
		for o := range s.Out {
			if at := from + o*s.Stride; at >= 0 && at < s.In {
				if last = i; first < 0 {
					first = i
				}
				break
			}
		}
	}
	if first < 0 || first*s.Dilation > s.Pad {
		return 0, 0, 0, 0, false
	}
	n, before = last-first+1, s.Pad-first*s.Dilation
	reach := (n-1)*s.Dilation + 1
	behind = max(0, (s.Out-1)*s.Stride+reach-s.In-before)
	return first, n, before, behind, (s.In+before+behind-reach)/s.Stride+1 == s.Out
}

// cutOut returns the box of w that begins at first and has the given extents, along the axes after
// the first two.
func cutOut(w *tensor.Tensor, first, extents []int) *tensor.Tensor {
	shape, size := w.Shape(), w.DType().Bytes(1)
	return tensor.Derive(w.DType(), append(slices.Clone(shape[:2]), extents...), func(to []byte) {
		from := w.Bytes()
		defer w.Forget()
		var walk func(axis, at int)
		walk = func(axis, at int) {
			if axis == len(extents)-1 {
				to = to[copy(to, from[(at+first[axis])*size:][:extents[axis]*size]):]
				return
			}
			for i := range extents[axis] {
				walk(axis+1, (at+first[axis]+i)*shape[2+axis+1])
			}
		}
		for i := range shape[0] * shape[1] {
			walk(0, i*shape[2])
		}
	})
}
