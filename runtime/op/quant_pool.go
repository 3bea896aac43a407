package op

import (
	"slices"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// slideBytes is slide for a value of codes, of that shape with its channels before or
// behind the spatial axes.
func (o *pool) slideBytes(shape tensor.Shape, d tensor.DType, last bool) (*bindings.BytePooling, error) {
	b := &bindings.BytePooling{Inner: 1, Signed: d == tensor.I8}
	first := shape
	if last {
		first = channelsFirst([]int(shape))
	}
	p, err := o.slide(first)
	if err != nil {
		return nil, err
	}
	if len(p.Axes) > bindings.PoolingAxes {
		return nil, graph.Mark(graph.ErrUnsupported, "a window of %d axes; of codes it has %d at most", len(p.Axes), bindings.PoolingAxes)
	}
	if last {
		p.Planes, b.Inner = first[0], first[1]
	}
	b.Pooling = *p
	return b, nil
}

// poolBytes computes windows over codes that are not none.
func poolBytes(c *Run, k bindings.Kernel, p *bindings.BytePooling, x, y *tensor.Tensor) error {
	taps := 1
	for _, a := range p.Axes {
		if taps *= min(a.Taps, a.In); !p.Max && taps > bindings.BytePoolingTaps {
			return graph.Mark(graph.ErrUnsupported, "an average over a window of more than %d codes; dequantise before it", bindings.BytePoolingTaps)
		}
	}
	scratch, err := c.Mem.Scratch(p.Scratch(k, c.Pool))
	if err == nil {
		p.Run(k, c.Pool, x.Pointer(), scratch, y.Pointer())
	}
	return err
}

// nhwcMaxPool is MaxPool of codes whose channels are the last axis.
type nhwcMaxPool struct {
	pool
	kernel bindings.Kernel
}

func newNhwcMaxPool(n *Node) (Op, error) {
	w, err := readWindow(n, true)
	return &nhwcMaxPool{pool: pool{kind: poolMax, window: w}}, err
}

// dimsLast is what the window makes of a value whose channels are the last axis.
func (o *pool) dimsLast(x *Value) (graph.Dims, error) {
	one := &Infer{In: []*Value{{Type: graph.TensorOf(x.DType, channelsFirst(x.Dims))}}, Out: []*Value{{}}}
	err := o.Infer(one)
	return channelsLast(one.Out[0].Dims), err
}

// Infer applies the window to the spatial axes.
func (o *nhwcMaxPool) Infer(c *Infer) error {
	dims, err := o.dimsLast(c.In[0])
	c.Set(0, c.In[0].DType, dims)
	return err
}

// Prepare chooses the kernel.
func (o *nhwcMaxPool) Prepare(c *Prepare) (err error) {
	o.kernel, err = c.Kernel("i8_pooling")
	return err
}

// Describe names the kernel.
func (o *nhwcMaxPool) Describe() string { return describe(o.kernel) }

// Run computes the codes.
func (o *nhwcMaxPool) Run(c *Run) error {
	x, y := c.In[0], c.Out[0]
	p, err := o.slideBytes(x.Shape(), x.DType(), true)
	if err != nil || y.Len() == 0 {
		return err
	}
	if x.Len() == 0 {
		return graph.Mark(graph.ErrShape, "windows lie in padding alone")
	}
	return poolBytes(c, o.kernel, p, x, y)
}

// quantPool is the average of a quantised value over windows, or over all spatial axes
// together, quantised.
type quantPool struct {
	pool
	global bool
	last   bool // channels are the last axis
	kernel bindings.Kernel
}

func newQLinearAveragePool(n *Node) (Op, error) {
	w, err := readWindow(n, true)
	return &quantPool{pool: pool{kind: poolAverage, window: w, countPad: n.Bool("count_include_pad", false)}, last: n.Bool("channels_last", false)}, err
}

func newQLinearGlobalAveragePool(n *Node) (Op, error) {
	return &quantPool{pool: pool{kind: poolAverage}, global: true, last: n.Bool("channels_last", false)}, nil
}

// Infer applies the window to the spatial axes.
func (o *quantPool) Infer(c *Infer) error {
	if err := c.checkCodes(0); err != nil {
		return err
	}
	x := c.In[0]
	if err := c.checkPerTensor(x.DType, 3, 4); err != nil {
		return err
	}
	if o.global {
		return o.inferGlobal(c)
	}
	if o.last {
		dims, err := o.dimsLast(x)
		c.Set(0, x.DType, dims)
		return err
	}
	return o.pool.Infer(c)
}

func (o *quantPool) inferGlobal(c *Infer) error {
	x := c.In[0]
	dims := slices.Clone(x.Dims)
	if dims != nil && len(dims) < 3 {
		return graph.Mark(graph.ErrShape, "input %v has no spatial axes", x.Dims)
	}
	for i := range o.spatial(dims) {
		at := i + 2 - btoi(o.last)
		if dims[at].Is(0) {
			return graph.Mark(graph.ErrShape, "input %v has an empty spatial axis", x.Dims)
		}
		dims[at] = graph.Known(1)
	}
	c.Set(0, x.DType, dims)
	return nil
}

func (o *quantPool) spatial(dims graph.Dims) graph.Dims {
	if dims == nil {
		return nil
	}
	return dims[2:]
}

// Prepare chooses the kernel.
func (o *quantPool) Prepare(c *Prepare) (err error) {
	o.kernel, err = c.Kernel("i8_pooling")
	return err
}

// Describe names the kernel.
func (o *quantPool) Describe() string { return describe(o.kernel) }

// Run computes the codes.
func (o *quantPool) Run(c *Run) error {
	x, y := c.In[0], c.Out[0]
	p, err := o.windows(x)
	if err != nil || y.Len() == 0 {
		return err
	}
	if x.Len() == 0 {
		return graph.Mark(graph.ErrShape, "windows lie in padding alone")
	}
	from, err := c.perTensor(1, 2)
	if err != nil {
		return err
	}
	to, err := c.perTensor(3, 4)
	if err != nil {
		return err
	}
	p.XZero, p.Ratio = from.zero, from.scale/to.scale
	// A mean of the whole is rounded before the zero point is added, as by ONNX Runtime.
	if wholePlane(p) {
		p.After = to.zero
	} else {
		p.Before = to.zero
	}
	return poolBytes(c, o.kernel, p, x, y)
}

// windows returns the windows over x without scales and zero points.
func (o *quantPool) windows(x *tensor.Tensor) (*bindings.BytePooling, error) {
	shape := x.Shape()
	if o.global {
		if o.last {
			shape = channelsFirst([]int(shape))
		}
		n := shape[2:].Len()
		p := &bindings.BytePooling{Inner: 1, Signed: x.DType() == tensor.I8}
		p.Planes, p.Axes = shape[:2].Len(), []bindings.PoolingAxis{{In: n, Out: 1, Taps: n, Stride: 1, Dilation: 1}}
		if o.last {
			p.Planes, p.Inner = shape[0], shape[1]
		}
		return p, nil
	}
	p, err := o.slideBytes(shape, x.DType(), o.last)
	if err != nil || !o.countPad {
		return p, err
	}
	for i := range p.Axes { // all taps count, those too that lie beyond the padding
		p.Axes[i].PadEnd += p.Axes[i].Taps * p.Axes[i].Dilation
	}
	return p, nil
}

// wholePlane reports whether the window is all of the input.
func wholePlane(p *bindings.BytePooling) bool {
	for _, a := range p.Axes {
		if a.Out != 1 || a.Taps != a.In || a.Pad != 0 {
			return false
		}
	}
	return true
}

var quantPoolRows = []Row{
	{Domain: microsoft, Name: "QLinearAveragePool", Since: []int{1}, In: [2]int{4, 5}, Optional: these(2), Out: [2]int{1, 1}, Types: byteTypes, New: newQLinearAveragePool},
	{Domain: microsoft, Name: "QLinearGlobalAveragePool", Since: []int{1}, In: [2]int{4, 5}, Optional: these(2), Out: [2]int{1, 1}, Types: byteTypes, New: newQLinearGlobalAveragePool},
	{Domain: microsoft, Name: "NhwcMaxPool", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: byteTypes, New: newNhwcMaxPool},
}
