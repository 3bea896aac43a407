package cpu

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var blockedQuantRows = []blockedRow{
	blockedRowFor("blocked",
		func(o *quant.QLinearConv, b *device.Binding, l device.Layout) *offer {
			return offerByteConv(o, lower.LinearInputs[:], b, l)
		},
		func(o *quant.QLinearConv, b *binder) error {
			return bindBlockedByteConv(o, kit.Epilogue{}, lower.LinearInputs[:], b)
		}),
	blockedRowFor("blocked",
		func(o *quant.FusedQLinearConv, b *device.Binding, l device.Layout) *offer {
			return offerByteConv(&o.QLinearConv, lower.FusedInputs[:], b, l)
		},
		func(o *quant.FusedQLinearConv, b *binder) error {
			return bindBlockedByteConv(&o.QLinearConv, o.Epilogue, lower.FusedInputs[:], b)
		}),
	blockedRowFor("windows", offerBytePool, bindBlockedBytePool),
	blockedRowFor("pair", offerPair,
		func(o *quant.QLinearPair, b *binder) error { return bindPhysical(o, b, bindQLinearPair) }),
	blockedRowFor("lookup",
		func(_ *quant.CodeTable, b *device.Binding, l device.Layout) *offer { return offerCodes(b, l) },
		func(_ *quant.CodeTable, b *binder) error { return lower.CodeTable(b.physical()) }),
	blockedRowFor("quantize",
		func(_ *quant.QuantizeLinear, b *device.Binding, l device.Layout) *offer { return offerGrid(b, l) },
		func(o *quant.QuantizeLinear, b *binder) error { return bindPhysical(o, b, bindQuantizeLinear) }),
	blockedRowFor("dequantize",
		func(_ *quant.DequantizeLinear, b *device.Binding, l device.Layout) *offer { return offerGrid(b, l) },
		func(o *quant.DequantizeLinear, b *binder) error { return bindPhysical(o, b, bindDequantizeLinear) }),
}

// isByte reports whether elements of type d are codes of 8 bits.
func isByte(d tensor.DType) bool { return d == tensor.U8 || d == tensor.I8 }

// hasCodes reports whether an operand of the node holds codes of 8 bits.
func hasCodes(b *device.Binding) bool {
	code := func(v *op.Value) bool { return v != nil && isByte(v.DType) }
	return slices.ContainsFunc(b.In, code) || slices.ContainsFunc(b.Out, code)
}

// plainByteChannels is the most channels of a plain value that convolutions into blocks of codes
// read.
const plainByteChannels = 4

// offerByteConv accepts convolutions by constant weights.
func offerByteConv(o *quant.QLinearConv, in []int, b *device.Binding, l device.Layout) *offer {
	if o.ChannelsLast || !blockableAs(b.In[0], isByte) || !blockableAs(b.Out[0], isByte) || len(b.In[0].Dims) > 5 ||
		b.Const(in[byteWeights]) == nil {
		return nil
	}
	s, err := o.Shape(b.Shape(0), b.Shape(3))
	if err != nil || mostlyPadding(s) {
		return nil
	}
	x := &offer{in: []int{0}, out: true}
	switch {
	case isDepthwise(s):
		w := windowOf(s.Images*s.Groups, s.In, s.Out, tensor.Shape(s.Kernel).Len())
		blocks := w
		blocks.planes = l.Extents(b.Shape(0))[:2].Len()
		x.plain, x.blocked = w.depthwiseCost(l), byteWindow*blocks.blockedCost(l)
	case s.Channels > 0:
		if s.Groups == 1 && s.Channels <= plainByteChannels {
			x.in = nil
		}
		x.plain, x.blocked = byteGemmCost(s, l), byteDenseCost(s, l)
	default:
		return nil
	}
	if z := in[byteAdd]; z != lower.None && b.Has(z) {
		if !blockableAs(b.In[z], isByte) {
			return nil
		}
		x.in = append(x.in, z)
	}
	return x
}

// isDepthwise reports whether kernels for blocked codes take s as a depthwise convolution: one
// channel per group, and windows with rows at a constant distance, also across slices.
func isDepthwise(s *nn.ConvShape) bool {
	last := len(s.Dilation) - 1
	return s.Channels == 1 && s.Filters == 1 && s.Dilation[last] == 1 &&
		(last < 2 || s.Kernel[0] == 1 || s.Dilation[1] == 1)
}

// centred reports whether all zero points of the weights are known to be 0, or 128 for unsigned
// codes.
func centred(b *device.Binding, in []int) bool {
	w := in[byteWeights]
	zero, middle := in[byteWeights+2], byte(0)
	if b.DType(w) == tensor.U8 {
		middle = 128
	}
	if !b.Has(zero) {
		return middle == 0
	}
	z := b.Const(zero)
	if z == nil {
		return false
	}
	for _, v := range z.Bytes() {
		if v != middle {
			return false
		}
	}
	return true
}

// bindBlockedByteConv adds a command of a convolution with a blocked result.
func bindBlockedByteConv(o *quant.QLinearConv, epilogue kit.Epilogue, in []int, b *binder) error {
	s, err := o.Shape(b.Shape(0), b.Shape(3))
	if err != nil {
		return err
	}
	v := blockedByteConv{byteConv: byteConv{shape: s, epilogue: epilogue, wPacked: true}, block: b.OutLayout(0).Block(),
		plain: b.InLayout(0) == device.Plain, moved: !centred(b.Binding, in)}
	v.describe(b, in)
	kernel := "i8_conv_blocked"
	if isDepthwise(s) {
		kernel = "i8_conv_depthwise_blocked"
	}
	k, err := b.choose(kernel, v.words())
	if err != nil {
		return err
	}
	if byteWinograd(s) && !v.plain && !b.dev.direct {
		// The transform multiplies pairs of 16 bits, but fewer. Levels that multiply more bytes at
		// a time have no variant of it.
		if w, err := b.choose("i8_conv_winograd", v.words()); err == nil && w.ISA() == k.ISA() {
			k = w
		}
	}
	weights, ok, err := b.packed(in[byteWeights], k, v.weights(), byteWeights)
	if err != nil {
		return err
	}
	if !ok {
		return device.Refuse("the weights are not constant")
	}
	return b.add(k, nil, v.words(), b.byteOperands(in, weights)...)
}

// byteWinograd reports whether a convolution of codes takes less time in tiles of 2x2 pixels. It
// needs enough tiles to make up for reading the transformed weights, which are larger.
func byteWinograd(s *nn.ConvShape) bool {
	return transforms(s) && s.Images*((s.Out[0]+1)/2)*((s.Out[1]+1)/2) >= 16
}

// blockedByteConv is nacre_i8_conv_blocked_words of csrc/quant/quant.h.
type blockedByteConv struct {
	byteConv
	block        int
	plain, moved bool
}

func (v *blockedByteConv) words() words { return v.with(v.byteConv.words()) }

// weights returns the words that packed weights depend on.
func (v *blockedByteConv) weights() words { return v.with(v.byteConv.weights()) }

func (v *blockedByteConv) with(w words) words {
	w.int(v.block)
	w.bool(v.plain, v.moved)
	return w
}

// bytePool returns pooling p over blocked codes. The channels of a block are the last axis.
func bytePool(p *quant.BytePooling, s tensor.Shape, l device.Layout) *quant.BytePooling {
	x := *p
	x.Planes, x.Inner = l.Extents(s)[:2].Len(), l.Block()
	return &x
}

func offerBytePool(o *quant.Pool, b *device.Binding, l device.Layout) *offer {
	if !blockableAs(b.In[0], isByte) || !blockableAs(b.Out[0], isByte) || o.ChannelsLast() {
		return nil
	}
	n, blocks := elementCounts(b.In[0], l)
	return &offer{in: []int{0}, out: true, plain: byteElement * n, blocked: byteElement * blocks}
}

func bindBlockedBytePool(o *quant.Pool, b *binder) error {
	p, err := o.Windows(b.Shape(0))
	if err != nil {
		return err
	}
	if err := p.CheckAverage(); err != nil {
		return err
	}
	return b.poolBytes(bytePool(p, b.Shape(0), b.InLayout(0)), false)
}

// offerPair accepts operands of the same extents.
func offerPair(_ *quant.QLinearPair, b *device.Binding, l device.Layout) *offer {
	if !blockableAs(b.Out[0], isByte) || !b.Shape(quant.QLinearPairA).Equal(b.OutShape(0)) ||
		!b.Shape(quant.QLinearPairB).Equal(b.OutShape(0)) {
		return nil
	}
	n, blocks := elementCounts(b.Out[0], l)
	return &offer{in: []int{quant.QLinearPairA, quant.QLinearPairB}, out: true, plain: byteElement * n,
		blocked: byteElement * blocks}
}

// offerCodes accepts functions of codes.
func offerCodes(b *device.Binding, l device.Layout) *offer {
	if !blockableAs(b.In[0], isByte) || !blockableAs(b.Out[0], isByte) {
		return nil
	}
	n, blocks := elementCounts(b.In[0], l)
	return &offer{in: []int{0}, out: true, plain: byteElement * n, blocked: byteElement * blocks}
}

// offerGrid accepts codes of 8 bits with one scale.
func offerGrid(b *device.Binding, l device.Layout) *offer {
	either := func(d tensor.DType) bool { return isByte(d) || d == tensor.F32 }
	if !blockableAs(b.In[0], either) || !blockableAs(b.Out[0], either) || b.Shape(1).Len() != 1 {
		return nil
	}
	n, blocks := elementCounts(b.In[0], l)
	return &offer{in: []int{0}, out: true, plain: byteElement * n, blocked: byteElement * blocks}
}

// byteGemmCost returns the time of a convolution of plain codes.
func byteGemmCost(s *nn.ConvShape, l device.Layout) float64 {
	taps, pixels := tensor.Shape(s.Kernel).Len(), tensor.Shape(s.Out).Len()
	columns := (pixels + gemmColumns - 1) / gemmColumns * gemmColumns
	depth := float64(s.Channels * taps)
	return float64(s.Images*s.Groups) * (byteGemm/float64(l.Block())*depth*float64(s.Filters*columns) + byteGather*depth*float64(pixels))
}

// byteDenseCost returns the time of the same convolution with a blocked result.
func byteDenseCost(s *nn.ConvShape, l device.Layout) float64 {
	block, pixels := l.Block(), tilePixels(s, singlePixels(s) && tensor.Shape(s.Stride).Len() == 1)
	filters, channels := (s.Groups*s.Filters+block-1)/block*block, float64((s.Channels+3)/4*4)
	if s.Groups > 1 {
		channels *= groupsOfBlock(s, block)
	}
	depth := channels * float64(tensor.Shape(s.Kernel).Len())
	tiles := float64((pixels+densePixels-1)/densePixels) * float64((filters+2*block-1)/(2*block))
	multiply := byteMultiply / float64(block)
	if block == byteBy2Block && byteWinograd(s) {
		multiply *= byteBy2
	}
	return float64(s.Images) * (multiply*depth*float64(filters*pixels) + byteTile*tiles)
}

// groupsOfBlock returns how many groups have filters in a block, on average.
func groupsOfBlock(s *nn.ConvShape, block int) float64 {
	return float64(block+s.Filters-divisor(block, s.Filters)) / float64(s.Filters)
}
