package quant

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// BytePooling is a Pooling of codes with Inner codes at every position: [planes, in..., inner]
// gives [planes, out..., inner].
type BytePooling struct {
	nn.Pooling
	Inner int
}

// maxPoolTaps bounds the positions in the window of an average, so that sums fit 32 bits.
const maxPoolTaps = 1 << 23

// windowsLast returns o's windows over a value. If last is set, channels are its last axis.
func windowsLast(o *nn.Pool, shape tensor.Shape, last bool) (*BytePooling, error) {
	first := shape
	if last {
		first = channelsFirst([]int(shape))
	}
	p, err := o.Windows(first)
	if err != nil {
		return nil, err
	}
	b := &BytePooling{*p, 1}
	if last {
		b.Planes, b.Inner = first[0], first[1]
	}
	return b, nil
}

// CheckAverage returns an error if the window is too large for an average.
func (p *BytePooling) CheckAverage() error {
	taps := 1
	for _, a := range p.Axes {
		if taps *= min(a.Taps, a.In); taps > maxPoolTaps {
			return graph.Errorf(graph.ErrUnsupported, "an average over a window of more than %d codes; dequantise before it",
				maxPoolTaps)
		}
	}
	return nil
}

// NhwcMaxPool is MaxPool of codes with channels as the last axis.
type NhwcMaxPool struct {
	pool nn.Pool
}

func newNhwcMaxPool(n *op.Node) (op.Op, error) {
	w, err := nn.ReadWindow(n, true)
	return &NhwcMaxPool{pool: nn.Pool{Kind: nn.PoolMax, Window: w}}, err
}

// dimsLast returns the extents that o gives for x with channels as the last axis.
func dimsLast(o *nn.Pool, x *op.Value) (graph.Dims, error) {
	one := &op.Infer{In: []*op.Value{{Type: graph.TensorOf(x.DType, channelsFirst(x.Dims))}}, Out: []*op.Value{{}}}
	err := o.Infer(one)
	return channelsLast(one.Out[0].Dims), err
}

// Infer applies the window to the spatial axes.
func (o *NhwcMaxPool) Infer(c *op.Infer) error {
	dims, err := dimsLast(&o.pool, c.In[0])
	c.Set(0, c.In[0].DType, dims)
	return err
}

// Windows returns the windows over a value of the given shape.
func (o *NhwcMaxPool) Windows(shape tensor.Shape) (*BytePooling, error) {
	return windowsLast(&o.pool, shape, true)
}

// Pool averages a quantised value over windows, or over all spatial axes, and quantises the result.
type Pool struct {
	pool   nn.Pool
	global bool
	last   bool // channels are the last axis
}

// ChannelsLast reports whether channels are the last axis.
func (o *Pool) ChannelsLast() bool { return o.last }

func newQLinearAveragePool(n *op.Node) (op.Op, error) {
	w, err := nn.ReadWindow(n, true)
	return &Pool{pool: nn.Pool{Kind: nn.PoolAverage, Window: w, CountPad: n.Bool("count_include_pad", false)},
		last: n.Bool("channels_last", false)}, err
}

func newQLinearGlobalAveragePool(n *op.Node) (op.Op, error) {
	return &Pool{pool: nn.Pool{Kind: nn.PoolAverage}, global: true, last: n.Bool("channels_last", false)}, nil
}

// Infer applies the window to the spatial axes.
func (o *Pool) Infer(c *op.Infer) error {
	if err := checkCodes(c, 0); err != nil {
		return err
	}
	x := c.In[0]
	if err := checkPerTensor(c, x.DType, 3, 4); err != nil {
		return err
	}
	if o.global {
		return o.inferGlobal(c)
	}
	if o.last {
		dims, err := dimsLast(&o.pool, x)
		c.Set(0, x.DType, dims)
		return err
	}
	return o.pool.Infer(c)
}

func (o *Pool) inferGlobal(c *op.Infer) error {
	x := c.In[0]
	dims := slices.Clone(x.Dims)
	if dims != nil && len(dims) < 3 {
		return graph.Errorf(graph.ErrShape, "input %v has no spatial axes", x.Dims)
	}
	for i := range o.spatial(dims) {
		at := i + 2 - kit.Btoi(o.last)
		if dims[at].Is(0) {
			return graph.Errorf(graph.ErrShape, "input %v has an empty spatial axis", x.Dims)
		}
		dims[at] = graph.Known(1)
	}
	c.Set(0, x.DType, dims)
	return nil
}

func (o *Pool) spatial(dims graph.Dims) graph.Dims {
	if dims == nil {
		return nil
	}
	return dims[2:]
}

// Windows returns the windows over a value of the given shape.
func (o *Pool) Windows(shape tensor.Shape) (*BytePooling, error) {
	if o.global {
		if o.last {
			shape = channelsFirst([]int(shape))
		}
		n := shape[2:].Len()
		p := &BytePooling{nn.Pooling{Planes: shape[:2].Len(),
			Axes: []nn.PoolingAxis{{In: n, Out: 1, Taps: n, Stride: 1, Dilation: 1}}}, 1}
		if o.last {
			p.Planes, p.Inner = shape[0], shape[1]
		}
		return p, nil
	}
	p, err := windowsLast(&o.pool, shape, o.last)
	if err != nil || !o.pool.CountPad {
		return p, err
	}
	for i := range p.Axes { // count all taps, also beyond the padding
		p.Axes[i].PadEnd += p.Axes[i].Taps * p.Axes[i].Dilation
	}
	return p, nil
}

// IsWhole reports whether the window covers exactly the input. Such a mean is rounded before the
// zero point is added, as in ONNX Runtime.
func (p *BytePooling) IsWhole() bool {
	for _, a := range p.Axes {
		if a.Out != 1 || a.Taps != a.In || a.Pad != 0 {
			return false
		}
	}
	return true
}

var poolRows = []op.Row{
	{Domain: kit.Microsoft, Name: "QLinearAveragePool", Since: []int{1}, In: [2]int{4, 5}, Optional: kit.Inputs(2), Out: [2]int{1, 1}, Types: byteTypes, Items: kit.ItemsFirst(0), New: newQLinearAveragePool},
	{Domain: kit.Microsoft, Name: "QLinearGlobalAveragePool", Since: []int{1}, In: [2]int{4, 5}, Optional: kit.Inputs(2), Out: [2]int{1, 1}, Types: byteTypes, Items: kit.ItemsFirst(0), New: newQLinearGlobalAveragePool},
	{Domain: kit.Microsoft, Name: "NhwcMaxPool", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: byteTypes, Selects: true, Items: kit.ItemsFirst(0), New: newNhwcMaxPool},
}
