package nn

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// maxDeformAxes is the largest number of spatial axes. A point has 2^axes neighbours.
const maxDeformAxes = 8

// DeformConv is a convolution with an offset for every pixel that the kernel reads. Points between
// pixels are interpolated; pixels outside are 0.
type DeformConv struct {
	window         *Window
	groups, fields int // groups of channels; groups of channels that share offsets
}

func newDeformConv(n *op.Node) (op.Op, error) {
	o := &DeformConv{groups: n.Int("group", 1), fields: n.Int("offset_group", 1)}
	if o.groups < 1 || o.fields < 1 {
		return nil, graph.Errorf(graph.ErrFormat, "group is %d and offset_group %d; they take 1 or more", o.groups, o.fields)
	}
	var err error
	o.window, err = ReadWindow(n, false)
	return o, err
}

// Infer sets [batch,filters,...] from input, weights and window.
func (o *DeformConv) Infer(c *op.Infer) error {
	if err := kit.SameTypes(c.In); err != nil {
		return err
	}
	x, w := c.In[0], c.In[1]
	c.Set(0, x.DType, nil)
	if x.Dims == nil || w.Dims == nil {
		return nil
	}
	if len(x.Dims) < 3 || len(x.Dims) > 2+maxDeformAxes || len(x.Dims) != len(w.Dims) {
		return graph.Errorf(graph.ErrShape, "input is %v and weights %v; they take [batch,channels,...] and "+
			"[filters,channels/group,...] of at most %d axes more", x.Type, w.Type, maxDeformAxes)
	}
	kernel, known := w.Dims[2:].Concrete()
	if !known && len(o.window.kernel) == 0 {
		c.Set(0, x.DType, kit.JoinDims(x.Dims[:1], w.Dims[:1], graph.UnknownDims(len(x.Dims)-2)))
		return nil
	}
	if !known {
		kernel = nil
	}
	win, err := o.window.bind(len(x.Dims)-2, kernel)
	if err != nil {
		return err
	}
	space, err := win.dims(x.Dims[2:])
	if err != nil {
		return err
	}
	c.Set(0, x.DType, kit.JoinDims(x.Dims[:1], w.Dims[:1], space))
	return nil
}

// Deformed has the extents of one deformable convolution.
type Deformed struct {
	Batch, Channels, Filters int
	Groups, Fields           int          // groups of channels; groups of channels that share offsets
	In, Out                  tensor.Shape // of space
	// Kernel, Stride, Dilation and Pad have one number for each spatial axis. Pad is the number of
	// pixels before the first.
	Kernel, Stride, Dilation, Pad []int
}

// Extents returns the extents for inputs of the given shapes; nil for an input left out.
func (o *DeformConv) Extents(in []tensor.Shape) (*Deformed, error) {
	x, w := in[0], in[1]
	bound, err := o.window.bind(len(x)-2, w[2:])
	if err != nil {
		return nil, err
	}
	win, out, err := bound.resolve(x[2:])
	if err != nil {
		return nil, err
	}
	s := &Deformed{
		Batch: x[0], Channels: x[1], Filters: w[0], Groups: o.groups, Fields: o.fields, In: x[2:], Out: out,
		Kernel: win.kernel, Stride: win.stride, Dilation: win.dilation, Pad: win.padBegin,
	}
	if s.Channels%o.groups != 0 || s.Filters%o.groups != 0 || w[1] != s.Channels/o.groups || s.Channels%o.fields != 0 {
		return nil, graph.Errorf(graph.ErrShape,
			"input %v and weights %v do not divide into %d groups and %d offset groups", x, w, o.groups, o.fields)
	}
	return s, s.check(in)
}

// check returns an error if offsets, biases or masks do not have the shapes that s requires.
func (s *Deformed) check(in []tensor.Shape) error {
	kernel := tensor.Shape(s.Kernel).Len()
	wants := []struct {
		i     int
		shape tensor.Shape
	}{
		{2, slices.Concat(tensor.Shape{s.Batch, s.Fields * kernel * len(s.In)}, s.Out)},
		{3, tensor.Shape{s.Filters}},
		{4, slices.Concat(tensor.Shape{s.Batch, s.Fields * kernel}, s.Out)},
	}
	for _, want := range wants {
		if want.i < len(in) && in[want.i] != nil && !in[want.i].Equal(want.shape) {
			return graph.Errorf(graph.ErrShape, "input %d is %v where %v is needed", want.i, in[want.i], want.shape)
		}
	}
	size := tensor.Shape{s.Channels / s.Groups, kernel, s.Out.Len()}
	if err := size.Check(); err != nil {
		return graph.Errorf(graph.ErrShape, "%w", err)
	}
	return nil
}

var deformRows = []op.Row{
	{Name: "DeformConv", Since: []int{19, 22}, In: [2]int{3, 5}, Out: [2]int{1, 1}, Types: op.Floats, Items: kit.ItemsFirst(0, 2, 4), New: newDeformConv},
}
