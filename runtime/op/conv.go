package op

import (
	"math"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// conv is a convolution of X [images, group·channels, spatial...] with W
// [group·filters, channels, kernel...], plus a number for each filter.
type conv struct {
	window  *window
	group   int
	kernels convKernels
}

func newConv(n *Node) (Op, error) {
	w, err := readWindow(n, false)
	if err != nil {
		return nil, err
	}
	group, err := readGroup(n)
	if err != nil {
		return nil, err
	}
	return &conv{window: w, group: group}, nil
}

func readGroup(n *Node) (int, error) {
	group := n.Int("group", 1)
	if group < 1 || group > maxWindow {
		return 0, graph.Mark(graph.ErrShape, "attribute \"group\" is %d; it takes 1 to %d", group, maxWindow)
	}
	return group, nil
}

func (o *conv) Infer(c *Infer) error {
	if err := checkConvTypes(c); err != nil {
		return err
	}
	var bias graph.Dims
	if c.Has(2) {
		bias = c.In[2].Dims
	}
	dims, err := o.dims(c.In[0].Dims, c.In[1].Dims, bias)
	if err == nil {
		c.Set(0, c.In[0].DType, dims)
	}
	return err
}

// dims returns the extents of the convolution of a value by weights, with a bias
// if its extents are not nil; nil if not even their number is known.
func (o *conv) dims(x, w, bias graph.Dims) (graph.Dims, error) {
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

// checkConvTypes reports operands that are missing or of different types.
func checkConvTypes(c *Infer) error {
	if !c.Has(0) || !c.Has(1) {
		return graph.Mark(graph.ErrFormat, "X or W is left out")
	}
	for i, v := range c.In {
		if v != nil && v.DType != c.In[0].DType {
			return graph.Mark(graph.ErrShape, "input %d is %v, whose element type is not X's, %v", i, v.Type, c.In[0].DType)
		}
	}
	return nil
}

// convAxes is the number of spatial axes; 0 when neither rank is known.
func convAxes(x, w graph.Dims) (int, error) {
	if x == nil && w == nil {
		return 0, nil
	}
	if x != nil && w != nil && len(x) != len(w) {
		return 0, graph.Mark(graph.ErrShape, "X has %d axes, %v, and W has %d, %v", len(x), x, len(w), w)
	}
	axes := max(len(x), len(w)) - 2
	if axes < 1 {
		return 0, graph.Mark(graph.ErrShape, "X%v and W%v have no spatial axis; three axes are the least", x, w)
	}
	return axes, nil
}

func (o *conv) checkChannels(x, w graph.Dims) error {
	if x != nil && x[1].IsKnown() && w[1].IsKnown() {
		have, _ := x[1].Value()
		each, _ := w[1].Value()
		if have%o.group != 0 || have/o.group != each {
			return graph.Mark(graph.ErrShape, "X%v has %d channels and W%v takes %d in each of %d groups", x, have, w, each, o.group)
		}
	}
	if filters, ok := w[0].Value(); ok && filters%o.group != 0 {
		return graph.Mark(graph.ErrShape, "W%v has %d filters, which do not divide into %d groups", w, filters, o.group)
	}
	return nil
}

// checkBias reports a bias that is not one number per filter.
func checkBias(b graph.Dims, filters graph.Dim) error {
	if b != nil && (len(b) != 1 || b[0].IsKnown() && filters.IsKnown() && !b[0].Same(filters)) {
		return graph.Mark(graph.ErrShape, "B has shape %v; one number for each of %v filters is needed", b, filters)
	}
	return nil
}

func (o *conv) Prepare(c *Prepare) error {
	if err := o.kernels.prepare(c, "f64_conv"); err != nil || o.kernels.plain.Valid() {
		return err
	}
	w := c.Const(1)
	if w == nil || len(w.Shape()) < 3 || w.Shape()[0]%o.group != 0 {
		return nil
	}
	s := weightShape(w.Shape(), o.group)
	s.Channels, s.Filters = w.Shape()[1], w.Shape()[0]/o.group
	return o.kernels.packConv(c, w, s)
}

// Describe names the kernels.
func (o *conv) Describe() string { return o.kernels.describe() }

func (o *conv) Run(c *Run) error { return o.run(c, bindings.Finish{}) }

// run computes the output and, for narrow floats, what follows the sums.
func (o *conv) run(c *Run, finish bindings.Finish) error {
	x, w := c.In[0].Shape(), c.In[1].Shape()
	s, err := o.shape(x, w)
	if err != nil {
		return err
	}
	y, err := c.output(0, c.In[0].DType(), append(tensor.Shape{x[0], w[0]}, s.Out...))
	if err != nil {
		return err
	}
	return o.kernels.runConv(c, s, y, finish)
}

// shape returns the extents of the convolution of a value by weights.
func (o *conv) shape(x, w tensor.Shape) (*bindings.ConvShape, error) {
	win, err := o.window.bind(len(x)-2, w[2:])
	if err != nil {
		return nil, err
	}
	win, out, err := win.resolve(x[2:])
	if err != nil {
		return nil, err
	}
	s := weightShape(w, o.group)
	s.Images, s.Channels, s.Filters = x[0], w[1], w[0]/o.group
	s.In, s.Out, s.Stride, s.Dilation, s.Pad = x[2:], out, win.stride, win.dilation, win.padBegin
	if tensor.Shape(s.In).Len() > math.MaxInt32 {
		return nil, graph.Mark(graph.ErrUnsupported, "X%v has planes of more than %d elements", x, math.MaxInt32)
	}
	return s, nil
}

var convRows = []Row{
	{Name: "Conv", Since: []int{1, 11, 22}, In: [2]int{2, 3}, Out: [2]int{1, 1}, Types: floats, New: newConv},
	{Name: "ConvTranspose", Since: []int{1, 11, 22}, In: [2]int{2, 3}, Out: [2]int{1, 1}, Types: floats, New: newConvTranspose},
}
