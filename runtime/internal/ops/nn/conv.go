package nn

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Conv is a convolution of X [images, group·channels, spatial...] by W [group·filters, channels,
// kernel...], plus an optional number for each filter.
type Conv struct {
	window *Window
	group  int
}

// MaxConvAxes is the largest number of spatial axes of a convolution.
const MaxConvAxes = 8

// NewConv returns a Conv with the attributes of n.
func NewConv(n *op.Node) (op.Op, error) {
	w, err := ReadWindow(n, false)
	if err != nil {
		return nil, err
	}
	group, err := readGroup(n)
	if err != nil {
		return nil, err
	}
	return &Conv{window: w, group: group}, nil
}

func readGroup(n *op.Node) (int, error) {
	group := n.Int("group", 1)
	if group < 1 || group > maxWindow {
		return 0, graph.Errorf(graph.ErrShape, "attribute \"group\" is %d; it takes 1 to %d", group, maxWindow)
	}
	return group, nil
}

// Infer computes the extents of the output.
func (o *Conv) Infer(c *op.Infer) error {
	if err := checkConvTypes(c); err != nil {
		return err
	}
	var bias graph.Dims
	if c.Has(2) {
		bias = c.In[2].Dims
	}
	dims, err := o.Dims(c.In[0].Dims, c.In[1].Dims, bias)
	if err == nil {
		c.Set(0, c.In[0].DType, dims)
	}
	return err
}

// Dims returns the extents of the convolution of x by w, with a bias if its extents are not nil. If
// the ranks of x and w are unknown, it returns nil.
func (o *Conv) Dims(x, w, bias graph.Dims) (graph.Dims, error) {
	axes, err := convAxes(x, w)
	if err != nil || axes == 0 {
		return nil, err
	}
	out := graph.UnknownDims(axes + 2)
	var kernel []int
	if x != nil {
		out[0] = x[0]
	}
	if w != nil {
		if err := o.checkChannels(x, w); err != nil {
			return nil, err
		}
		out[1] = w[0]
		kernel, _ = graph.Dims(w[2:]).Concrete()
	}
	if err := checkBias(bias, out[1]); err != nil {
		return nil, err
	}
	if x != nil && (kernel != nil || len(o.window.kernel) > 0) {
		win, err := o.window.bind(axes, kernel)
		if err != nil {
			return nil, err
		}
		spatial, err := win.dims(x[2:])
		if err != nil {
			return nil, err
		}
		copy(out[2:], spatial)
	}
	return out, nil
}

// checkConvTypes returns an error if X or W is missing or the element types differ.
func checkConvTypes(c *op.Infer) error {
	if !c.Has(0) || !c.Has(1) {
		return graph.Errorf(graph.ErrFormat, "X or W is left out")
	}
	for i, v := range c.In {
		if v != nil && v.DType != c.In[0].DType {
			return graph.Errorf(graph.ErrShape, "input %d is %v; X has element type %v", i, v.Type, c.In[0].DType)
		}
	}
	return nil
}

// convAxes returns the number of spatial axes; 0 if neither rank is known.
func convAxes(x, w graph.Dims) (int, error) {
	if x == nil && w == nil {
		return 0, nil
	}
	if x != nil && w != nil && len(x) != len(w) {
		return 0, graph.Errorf(graph.ErrShape, "X has %d axes, %v, and W has %d, %v", len(x), x, len(w), w)
	}
	axes := max(len(x), len(w)) - 2
	if axes < 1 {
		return 0, graph.Errorf(graph.ErrShape, "X%v and W%v have no spatial axis; three axes are the least", x, w)
	}
	if axes > MaxConvAxes {
		return 0, graph.Errorf(graph.ErrUnsupported, "X%v and W%v have %d spatial axes; %d are the most", x, w, axes,
			MaxConvAxes)
	}
	return axes, nil
}

func (o *Conv) checkChannels(x, w graph.Dims) error {
	if x != nil && x[1].IsKnown() && w[1].IsKnown() {
		have, _ := x[1].Value()
		each, _ := w[1].Value()
		if have%o.group != 0 || have/o.group != each {
			return graph.Errorf(graph.ErrShape, "X%v has %d channels and W%v takes %d in each of %d groups", x, have, w, each,
				o.group)
		}
	}
	if filters, ok := w[0].Value(); ok && filters%o.group != 0 {
		return graph.Errorf(graph.ErrShape, "W%v has %d filters, which do not divide into %d groups", w, filters, o.group)
	}
	return nil
}

// checkBias returns an error if b is not one number per filter.
func checkBias(b graph.Dims, filters graph.Dim) error {
	if b != nil && (len(b) != 1 || b[0].IsKnown() && filters.IsKnown() && !b[0].Same(filters)) {
		return graph.Errorf(graph.ErrShape, "B has shape %v; one number for each of %v filters is needed", b, filters)
	}
	return nil
}

// ConvShape has the extents of a convolution, or of a transposed one, from [Images,
// Groups*Channels, In...] to [Images, Groups*Filters, Out...]. Lists have one number for each
// spatial axis. Pad is the padding before the value; the padding after it follows from Out.
type ConvShape struct {
	Images, Groups, Channels, Filters      int
	In, Out, Kernel, Stride, Dilation, Pad []int
}

// Shape returns the extents of the convolution of x by w.
func (o *Conv) Shape(x, w tensor.Shape) (*ConvShape, error) {
	win, err := o.window.bind(len(x)-2, w[2:])
	if err != nil {
		return nil, err
	}
	win, out, err := win.resolve(x[2:])
	if err != nil {
		return nil, err
	}
	if x[2:].Len() > math.MaxInt32 {
		return nil, graph.Errorf(graph.ErrUnsupported, "X%v has planes of more than %d elements", x, math.MaxInt32)
	}
	return &ConvShape{
		Images: x[0], Groups: o.group, Channels: w[1], Filters: w[0] / o.group,
		In: x[2:], Out: out, Kernel: w[2:], Stride: win.stride, Dilation: win.dilation, Pad: win.padBegin,
	}, nil
}

// Slides returns the spatial axes of Shape.
func (o *Conv) Slides(x, w tensor.Shape) ([]kit.Slide, error) {
	s, err := o.Shape(x, w)
	if err != nil {
		return nil, err
	}
	list := make([]kit.Slide, len(s.In))
	for i := range list {
		list[i] = kit.Slide{In: s.In[i], Out: s.Out[i], Kernel: s.Kernel[i], Stride: s.Stride[i], Dilation: s.Dilation[i],
			Pad: s.Pad[i]}
	}
	return list, nil
}

var convRows = []op.Row{
	{Name: "Conv", Since: []int{1, 11, 22}, In: [2]int{2, 3}, Out: [2]int{1, 1}, Types: op.Floats, Work: ConvWork(1), Items: kit.ItemsFirst(0), New: NewConv},
	{Name: "ConvTranspose", Since: []int{1, 11, 22}, In: [2]int{2, 3}, Out: [2]int{1, 1}, Types: op.Floats, Work: transposedWork, Items: kit.ItemsFirst(0), New: newConvTranspose},
}
