package cpu

import (
	"slices"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op/array"
	"github.com/nacre-ml/nacre/runtime/op/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var blockedTransposeRows = []blockedRow{
	blockedRowFor("tiles", offerConvTranspose, bindBlockedConvTranspose),
}

// tiling is a transposed convolution whose windows lie side by side: every pixel becomes
// a tile of the result, of the kernel's extents.
type tiling struct {
	shape *nn.ConvShape
	taps  int
	// pixels is the convolution of each pixel by all taps: filters are those of a tap,
	// filled up to whole blocks, tap by tap.
	pixels *nn.ConvShape
}

// tilingOf returns the tiling that a node is, if it is one by constants.
func tilingOf(o *nn.ConvTranspose, b *device.Binding, l device.Layout) (*tiling, bool) {
	if b.Const(1) == nil || b.Has(2) && b.Const(2) == nil {
		return nil, false
	}
	s, err := o.Shape(b.Shape(0), b.Shape(1))
	if err != nil || s.Groups != 1 || s.Channels == 0 || len(s.In) > 2 || !slices.Equal(s.Kernel, s.Stride) {
		return nil, false
	}
	for d := range s.In {
		if s.Pad[d] != 0 || s.Out[d] != s.In[d]*s.Kernel[d] || s.Dilation[d] != 1 && s.Kernel[d] != 1 {
			return nil, false
		}
	}
	t := &tiling{shape: s, taps: tensor.Shape(s.Kernel).Len()}
	one := slices.Repeat([]int{1}, len(s.In))
	filters := (s.Filters + l.Block() - 1) / l.Block() * l.Block()
	t.pixels = &nn.ConvShape{Images: s.Images, Groups: 1, Channels: s.Channels, Filters: t.taps * filters, In: s.In, Out: s.In,
		Kernel: one, Stride: one, Dilation: one, Pad: make([]int, len(s.In))}
	return t, t.taps <= maxBlockedTaps
}

func offerConvTranspose(o *nn.ConvTranspose, b *device.Binding, l device.Layout) *offer {
	if !blockable(b.In[0]) || !blockable(b.Out[0]) {
		return nil
	}
	t, ok := tilingOf(o, b, l)
	if !ok {
		return nil
	}
	n, blocks := elements(b.Out[0], l)
	return &offer{in: []int{0}, out: true,
		plain: gemmConvCost(t.pixels, l) + 4*eltwiseElement*n, blocked: denseCost(t.pixels, l) + eltwiseElement*blocks}
}

// bindBlockedConvTranspose convolves the pixels and puts the taps where they belong.
func bindBlockedConvTranspose(o *nn.ConvTranspose, b *binder) error {
	l := b.OutLayout(0)
	t, ok := tilingOf(o, b.Binding, l)
	if !ok {
		return device.Refuse("windows overlap, or weights are not constant")
	}
	v := blockedConvWords{convWords: convWords{shape: t.pixels, dtype: tensor.F32, packed: true, taps: t.taps}, block: l.Block(), kernel: "f32_conv_blocked"}
	k, err := b.choose(v.kernel, v.words())
	if err != nil {
		return err
	}
	weights, ok, err := b.tapWeights(t, k, v.weights())
	if err != nil {
		return err
	}
	if !ok {
		return device.Refuse("the weights are not constant")
	}
	all := b.temp(tensor.F32.Bytes(t.pixels.Images * t.pixels.Filters * tensor.Shape(t.pixels.Out).Len()))
	if err := b.add(k, []bindings.Kernel{{}}, v.words(), b.in(0), weights, b.tapBias(t), device.Operand{}, all); err != nil {
		return err
	}
	return b.copy(tensor.F32, t.copies(l.Block()), all, b.out(0))
}

// tapWeights is the weights [channels, filters, kernel...] packed as those of the pixels.
func (b *binder) tapWeights(t *tiling, k bindings.Kernel, w words) (o device.Operand, ok bool, err error) {
	data, err := b.packedPieces(b.Const(1), k, w, 1, func(list []int64, _ int) pieces {
		return pieces{1, 1, func(w *tensor.Tensor, _, _ int, all []byte) error {
			each, x := t.pixels.Filters/t.taps, tensor.View[float32](w)
			rows := make([]float32, t.pixels.Filters*t.shape.Channels)
			for i, v := range x {
				channel, filter, tap := i/t.taps/t.shape.Filters, i/t.taps%t.shape.Filters, i%t.taps
				rows[(tap*each+filter)*t.shape.Channels+channel] = v
			}
			k.Pack(list, 1, unsafe.Pointer(unsafe.SliceData(rows)), all)
			return nil
		}}
	})
	return b.packedOperand(1, data, err)
}

// tapBias is the bias, repeated for every tap.
func (b *binder) tapBias(t *tiling) device.Operand {
	if !b.Has(2) {
		return device.Operand{}
	}
	list := make([]float32, t.pixels.Filters)
	for tap := range t.taps {
		copy(list[tap*t.pixels.Filters/t.taps:], tensor.View[float32](b.Const(2)))
	}
	return constant(list...)
}

// copies puts pixels [images, taps, blocks, rows, columns, block] to the result.
func (t *tiling) copies(block int) []array.Copy {
	known := graph.Known
	rows, high, columns, wide := 1, 1, t.shape.In[0], t.shape.Kernel[0]
	if len(t.shape.In) == 2 {
		rows, high, columns, wide = t.shape.In[0], t.shape.Kernel[0], t.shape.In[1], t.shape.Kernel[1]
	}
	blocks, plane := t.pixels.Filters/t.taps/block, rows*columns*block
	list := make([]array.Copy, t.taps)
	for tap := range list {
		list[tap] = array.Copy{From: known(tap * blocks * plane), To: known((tap/wide*columns*wide + tap%wide) * block), Axes: []array.CopyAxis{
			{N: known(t.shape.Images), From: known(t.taps * blocks * plane), To: known(blocks * plane * t.taps)},
			{N: known(blocks), From: known(plane), To: known(plane * t.taps)},
			{N: known(rows), From: known(columns * block), To: known(high * columns * wide * block)},
			{N: known(columns), From: known(block), To: known(wide * block)},
			{N: known(block), From: known(1), To: known(1)},
		}}
	}
	return list
}
