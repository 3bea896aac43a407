package nn

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// ConvTranspose is the transposed convolution of X [images, group·channels, spatial...] by W
// [group·channels, filters, kernel...]: the gradient of a convolution with the same window.
type ConvTranspose struct {
	window  *Window
	group   int
	padding []int // added after the output
	shape   []int // of the output's spatial axes; nil if it follows from the other attributes
}

func newConvTranspose(n *op.Node) (op.Op, error) {
	w, err := ReadWindow(n, false)
	if err != nil {
		return nil, err
	}
	group, err := readGroup(n)
	if err != nil {
		return nil, err
	}
	o := &ConvTranspose{window: w, group: group, padding: n.Ints("output_padding"), shape: n.Ints("output_shape")}
	for _, list := range []struct {
		name   string
		values []int
	}{{"output_padding", o.padding}, {"output_shape", o.shape}} {
		for _, v := range list.values {
			if v < 0 || v > maxWindow {
				return nil, graph.Errorf(graph.ErrShape, "attribute %q has %d; it takes 0 to %d", list.name, v, maxWindow)
			}
		}
	}
	return o, nil
}

// Infer computes the extents of the output.
func (o *ConvTranspose) Infer(c *op.Infer) error {
	if err := checkConvTypes(c); err != nil {
		return err
	}
	x, w := c.In[0], c.In[1]
	axes, err := convAxes(x.Dims, w.Dims)
	if err != nil {
		return err
	}
	if axes == 0 {
		c.Set(0, x.DType, nil)
		return nil
	}
	out := graph.UnknownDims(axes + 2)
	var kernel []int
	if x.Dims != nil {
		out[0] = x.Dims[0]
	}
	if w.Dims != nil {
		if err := o.checkChannels(x.Dims, w.Dims); err != nil {
			return err
		}
		out[1] = w.Dims[1].Mul(graph.Known(o.group))
		kernel, _ = graph.Dims(w.Dims[2:]).Concrete()
	}
	if c.Has(2) {
		if err := checkBias(c.In[2].Dims, out[1]); err != nil {
			return err
		}
	}
	if x.Dims != nil && (kernel != nil || len(o.window.kernel) > 0) {
		b, err := o.bind(axes, kernel)
		if err != nil {
			return err
		}
		for i, d := range x.Dims[2:] {
			if out[2+i], err = b.out(i, d); err != nil {
				return err
			}
		}
	}
	c.Set(0, x.DType, out)
	return nil
}

func (o *ConvTranspose) checkChannels(x, w graph.Dims) error {
	if x != nil && x[1].IsKnown() && w[0].IsKnown() && !x[1].Same(w[0]) {
		return graph.Errorf(graph.ErrShape, "X%v has %v channels and W%v takes %v", x, x[1], w, w[0])
	}
	if channels, ok := w[0].Value(); ok && channels%o.group != 0 {
		return graph.Errorf(graph.ErrShape, "W%v has %d channels, which do not divide into %d groups", w, channels, o.group)
	}
	return nil
}

// transposedWindow is a ConvTranspose bound to a number of axes and a kernel.
type transposedWindow struct {
	*Window
	padding, shape []int
}

func (o *ConvTranspose) bind(axes int, kernel []int) (*transposedWindow, error) {
	win, err := o.window.bind(axes, kernel)
	if err != nil {
		return nil, err
	}
	b := &transposedWindow{Window: win, padding: o.padding, shape: o.shape}
	if len(b.padding) == 0 {
		b.padding = make([]int, axes)
	}
	if len(b.shape) == axes+2 {
		// Some writers include the batch and the channels.
		b.shape = b.shape[2:]
	}
	if len(b.padding) != axes || len(b.shape) != 0 && len(b.shape) != axes {
		return nil, graph.Errorf(graph.ErrShape, "output_padding %v or output_shape %v is not for %d spatial axes",
			b.padding, b.shape, axes)
	}
	return b, nil
}

// full returns the extent of the uncropped output along an axis: all taps, plus the output padding.
func (b *transposedWindow) full(axis int, in graph.Dim) (graph.Dim, error) {
	steps, err := kit.MulDim(in.Sub(graph.Known(1)), graph.Known(b.stride[axis]))
	if err != nil {
		return graph.Dim{}, err
	}
	return steps.Add(graph.Known(b.padding[axis] + b.reach(axis))), nil
}

// out returns the output's extent along an axis.
func (b *transposedWindow) out(axis int, in graph.Dim) (graph.Dim, error) {
	if in.Is(0) {
		return graph.Dim{}, graph.Errorf(graph.ErrShape, "spatial axis %d of X is empty", axis)
	}
	if len(b.shape) > 0 {
		return graph.Known(b.shape[axis]), nil
	}
	if b.auto == "SAME_UPPER" || b.auto == "SAME_LOWER" {
		return kit.MulDim(in, graph.Known(b.stride[axis]))
	}
	full, err := b.full(axis, in)
	if err != nil {
		return graph.Dim{}, err
	}
	d := full.Sub(graph.Known(b.padBegin[axis] + b.padEnd[axis]))
	if n, ok := d.Value(); ok && n < 0 {
		return graph.Dim{}, graph.Errorf(graph.ErrShape,
			"pads of %d and %d cut off more than the %v elements along spatial axis %d",
			b.padBegin[axis], b.padEnd[axis], full, axis)
	}
	return d, nil
}

// resolve returns the output's extents and the padding before it, for an input of the given
// extents. With SAME_UPPER, the larger half of an odd padding is after the value, else before it.
// The operator's equations before version 11 contradict its auto_pad attribute; version 11 corrects
// the equations.
func (b *transposedWindow) resolve(in []int) (out, pad []int, err error) {
	out, pad = make([]int, len(in)), slices.Clone(b.padBegin)
	for i, n := range in {
		d, err := b.out(i, graph.Known(n))
		if err != nil {
			return nil, nil, err
		}
		var ok bool
		if out[i], ok = d.Value(); !ok {
			return nil, nil, graph.Errorf(graph.ErrShape, "spatial axis %d of the output has an extent that does not fit", i)
		}
		if len(b.shape) == 0 && b.auto != "SAME_UPPER" && b.auto != "SAME_LOWER" {
			continue
		}
		full, err := b.full(i, graph.Known(n))
		if err != nil {
			return nil, nil, err
		}
		total, _ := full.Value()
		total = max(total-out[i], 0)
		pad[i] = total - total/2
		if b.auto == "SAME_UPPER" {
			pad[i] = total / 2
		}
	}
	return out, pad, nil
}

// Shape returns the extents of the transposed convolution of x by w.
func (o *ConvTranspose) Shape(x, w tensor.Shape) (*ConvShape, error) {
	b, err := o.bind(len(x)-2, w[2:])
	if err != nil {
		return nil, err
	}
	out, pad, err := b.resolve(x[2:])
	if err != nil {
		return nil, err
	}
	return &ConvShape{
		Images: x[0], Groups: o.group, Channels: w[0] / o.group, Filters: w[1],
		In: x[2:], Out: out, Kernel: w[2:], Stride: b.stride, Dilation: b.dilation, Pad: pad,
	}, nil
}
