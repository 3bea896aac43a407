package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// trimKernel leaves out the outer rows and columns of a convolution's constant kernel that
// meet padding alone, as those far apart do on a small value. Results differ only where
// such weights are infinite or not numbers, as their products by zero are none.
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

// trimmed returns a convolution with a smaller kernel; nil for one whose kernel is met, or
// whose extents or weights are not known.
func (m *matcher) trimmed(n *graph.Node) *graph.Node {
	w := m.constant(n.Inputs[1])
	in, known := m.dims(n.Inputs[0]).Concrete()
	out, also := m.dims(n.Outputs[0]).Concrete()
	if w == nil || !known || !also || !slices.Contains(floats, w.DType()) || len(in) != len(w.Shape()) || out.Len() == 0 || !m.own(n.Inputs[1], w) {
		return nil
	}
	axes := len(in) - 2
	attr := func(name string, each int) []int {
		if list := attrs(n).Ints(name); len(list) == each*axes {
			return list
		}
		return slices.Repeat([]int{1}, axes)
	}
	strides, dilations := attr("strides", 1), attr("dilations", 1)
	pads := attrs(n).Ints("pads")
	if len(pads) != 2*axes {
		pads = make([]int, 2*axes)
	}
	first, kernel, fewer := make([]int, axes), make([]int, axes), false
	pads = slices.Clone(pads)
	for i := range axes {
		k := axisKernel{in: in[2+i], out: out[2+i], size: w.Shape()[2+i], stride: strides[i], dilation: dilations[i]}
		switch total := max(0, k.reach(k.size)-k.in); attrs(n).Str("auto_pad", "NOTSET") {
		case "NOTSET", "":
			k.pad = pads[i]
		case "SAME_UPPER":
			k.pad = total / 2
		case "SAME_LOWER":
			k.pad = total - total/2
		}
		var ok bool
		if first[i], kernel[i], ok = k.met(); !ok {
			return nil
		}
		fewer = fewer || kernel[i] < k.size
		pads[i] = k.pad - first[i]*k.dilation
		pads[axes+i] = max(0, k.reach(kernel[i])-k.in-pads[i])
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
	list := make([]int64, len(pads))
	for i, v := range pads {
		list[i] = int64(v)
	}
	r.Attrs = append(slices.Clone(r.Attrs), intsAttr("pads", list...))
	return &r
}

// axisKernel is one axis of a convolution.
type axisKernel struct{ in, out, size, stride, dilation, pad int }

// reach is what a kernel of n elements covers, padding counted in.
func (k *axisKernel) reach(n int) int { return (k.out-1)*k.stride + (n-1)*k.dilation + 1 }

// met returns the first element of the kernel that meets the value and how many are from it
// to the last; ok is false where none does, or where the rest would need padding below 0.
func (k *axisKernel) met() (first, n int, ok bool) {
	first, last := -1, -1
	for i := range k.size {
		from := i*k.dilation - k.pad
		for o := range k.out {
			if at := from + o*k.stride; at >= 0 && at < k.in {
				if last = i; first < 0 {
					first = i
				}
				break
			}
		}
	}
	if first < 0 || first*k.dilation > k.pad {
		return 0, 0, false
	}
	n = last - first + 1
	// The extent of the result must follow from the padding behind, which is 0 or more.
	pad := k.pad - first*k.dilation
	behind := max(0, k.reach(n)-k.in-pad)
	return first, n, (k.in+pad+behind-(n-1)*k.dilation-1)/k.stride+1 == k.out
}

// cutOut returns the box of those extents that begins at first along the axes behind the
// first two.
func cutOut(w *tensor.Tensor, first, extents []int) *tensor.Tensor {
	shape := w.Shape()
	out := tensor.New(w.DType(), append(slices.Clone(shape[:2]), extents...)...)
	size := w.DType().Bytes(1)
	from, to := w.Bytes(), out.Bytes()
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
	return out
}
