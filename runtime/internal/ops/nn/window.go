package nn

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Window describes how a kernel slides over the spatial axes of a value of shape [batch, channels,
// spatial...]. Convolutions and pools share it.
//
// ReadWindow reads the attributes; missing lists stay nil. bind fills them in for a number of axes.
// Methods that take an axis or extents need a window from bind. They count spatial axes only, so
// axis 0 is the first after the channels.
type Window struct {
	kernel           []int
	stride, dilation []int
	padBegin, padEnd []int
	auto             string // NOTSET, VALID, SAME_UPPER or SAME_LOWER
	ceil             bool   // round output extents up; only if auto is NOTSET
}

// maxWindow limits every number of a window, so that products of two fit an int.
const maxWindow = 1 << 30

// ReadWindow reads kernel_shape, strides, dilations, pads and auto_pad, and, with pool, ceil_mode.
// If auto_pad is set, pads is ignored.
func ReadWindow(n *op.Node, pool bool) (*Window, error) {
	w := &Window{
		kernel:   n.Ints("kernel_shape"),
		stride:   n.Ints("strides"),
		dilation: n.Ints("dilations"),
		auto:     n.Str("auto_pad", "NOTSET"),
		ceil:     pool && n.Bool("ceil_mode", false),
	}
	pads := n.Ints("pads")
	for _, list := range []struct {
		name   string
		values []int
		least  int
	}{{"kernel_shape", w.kernel, 1}, {"strides", w.stride, 1}, {"dilations", w.dilation, 1}, {"pads", pads, 0}} {
		for _, v := range list.values {
			if v < list.least || v > maxWindow {
				return nil, graph.Errorf(graph.ErrShape, "attribute %q has %d; it takes %d to %d", list.name, v, list.least,
					maxWindow)
			}
		}
	}
	switch w.auto {
	case "":
		w.auto = "NOTSET"
	case "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER":
	default:
		return nil, graph.Errorf(graph.ErrFormat, "auto_pad is %q; it takes NOTSET, VALID, SAME_UPPER, SAME_LOWER", w.auto)
	}
	if len(pads)%2 != 0 {
		return nil, graph.Errorf(graph.ErrFormat, "pads has %d numbers; it takes two per axis", len(pads))
	}
	if len(pads) > 0 && w.auto == "NOTSET" {
		w.padBegin, w.padEnd = pads[:len(pads)/2], pads[len(pads)/2:]
	}
	return w, nil
}

// bind returns the window over the given number of spatial axes. kernel has the extents of a
// weight. It may be nil if kernel_shape is given; if both are given, they must agree.
func (w *Window) bind(axes int, kernel []int) (*Window, error) {
	b := *w
	switch {
	case len(b.kernel) == 0 && kernel == nil:
		return nil, graph.Errorf(graph.ErrFormat, "attribute \"kernel_shape\" is missing")
	case len(b.kernel) == 0:
		b.kernel = kernel
	case kernel != nil && !slices.Equal(kernel, b.kernel):
		return nil, graph.Errorf(graph.ErrShape, "kernel_shape is %v but the weight's is %v", b.kernel, kernel)
	}
	for _, k := range b.kernel {
		if k < 1 || k > maxWindow {
			return nil, graph.Errorf(graph.ErrShape, "kernel %v has an extent below 1 or above %d", b.kernel, maxWindow)
		}
	}
	for _, list := range []struct {
		name   string
		values *[]int
		fill   int
	}{{"kernel_shape", &b.kernel, 0}, {"strides", &b.stride, 1}, {"dilations", &b.dilation, 1}, {"pads", &b.padBegin, 0}, {"pads", &b.padEnd, 0}} {
		if len(*list.values) == 0 {
			*list.values = slices.Repeat([]int{list.fill}, axes)
		}
		if len(*list.values) != axes {
			return nil, graph.Errorf(graph.ErrShape, "%s is for %d spatial axes and the input has %d", list.name,
				len(*list.values), axes)
		}
	}
	return &b, nil
}

// reach returns the extent that the kernel covers along an axis, including gaps.
func (w *Window) reach(axis int) int { return (w.kernel[axis]-1)*w.dilation[axis] + 1 }

// out returns the output's extent along an axis for an input of extent in. A kernel that does not
// fit is an error.
func (w *Window) out(axis int, in graph.Dim) (graph.Dim, error) {
	stride, one := graph.Known(w.stride[axis]), graph.Known(1)
	if w.auto == "SAME_UPPER" || w.auto == "SAME_LOWER" {
		if in.Is(0) {
			return graph.Dim{}, graph.Errorf(graph.ErrShape, "spatial axis %d of the input is empty", axis)
		}
		return in.Sub(one).Div(stride).Add(one), nil
	}
	room := in.Add(graph.Known(w.padBegin[axis] + w.padEnd[axis] - w.reach(axis)))
	if n, ok := room.Value(); ok && n < 0 {
		return graph.Dim{}, graph.Errorf(graph.ErrShape,
			"kernel covers %d along spatial axis %d, where the input has %v and pads of %d and %d",
			w.reach(axis), axis, in, w.padBegin[axis], w.padEnd[axis])
	}
	if !w.ceil || w.auto == "VALID" {
		return room.Div(stride).Add(one), nil
	}
	up := room.Add(graph.Known(w.stride[axis] - 1)).Div(stride).Add(one)
	// A window that would begin after the input and the padding before it is left out. Only padding
	// after the input, or a gap between windows, makes one.
	if w.stride[axis]+w.padEnd[axis] <= w.reach(axis) {
		return up, nil
	}
	n, known := in.Value()
	if !known {
		return graph.Unknown(), nil
	}
	last, ok := up.Value()
	if !ok {
		return up, nil
	}
	if (last-1)*w.stride[axis] >= n+w.padBegin[axis] {
		last--
	}
	return graph.Known(last), nil
}

// dims is out for every spatial axis.
func (w *Window) dims(in graph.Dims) (graph.Dims, error) {
	list := make(graph.Dims, len(in))
	for i, d := range in {
		var err error
		if list[i], err = w.out(i, d); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// resolve returns the output's extents for an input of the given spatial extents, and the window
// with the pads that auto_pad means for it. Along an axis with one window its stride is 1, so that
// kernels need not hold larger ones.
func (w *Window) resolve(in []int) (*Window, []int, error) {
	r := *w
	r.auto = "NOTSET"
	r.ceil = w.ceil && w.auto == "NOTSET"
	r.stride, r.padBegin, r.padEnd = slices.Clone(w.stride), slices.Clone(w.padBegin), slices.Clone(w.padEnd)
	out := make([]int, len(in))
	for i, n := range in {
		d, err := w.out(i, graph.Known(n))
		if err != nil {
			return nil, nil, err
		}
		var ok bool
		if out[i], ok = d.Value(); !ok {
			return nil, nil, graph.Errorf(graph.ErrShape, "spatial axis %d of the output has an extent that does not fit", i)
		}
		if out[i] == 1 {
			r.stride[i] = 1
		}
		if w.auto == "NOTSET" || w.auto == "VALID" {
			continue
		}
		total := max((out[i]-1)*w.stride[i]+w.reach(i)-n, 0)
		r.padBegin[i] = total / 2
		if w.auto == "SAME_LOWER" {
			r.padBegin[i] = total - total/2
		}
		r.padEnd[i] = total - r.padBegin[i]
	}
	return &r, out, nil
}
