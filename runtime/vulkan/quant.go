package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/op/quant"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var quantRows = []row{
	rowFor("quantize", bindQuantizeLinear),
	rowFor("dequantize", bindDequantizeLinear),
	rowFor("codes", bindNBits),
}

// codeRanges are the least and the greatest code of types that values are quantised to.
var codeRanges = map[tensor.DType][2]int{
	tensor.I8: {-128, 127}, tensor.U8: {0, 255}, tensor.I16: {-32768, 32767}, tensor.U16: {0, 65535},
}

// grid adds a dispatch on codes of type d with scales, which are input 1.
func (b *binder) grid(shader string, g quant.Granularity, d tensor.DType, constants []uint32) error {
	if d == tensor.Bool || b.Has(2) && b.DType(2) != d {
		return device.Refuse("codes are %v and zero points %v", d, b.DType(2))
	}
	variant, err := typeName(d)
	if err != nil {
		return err
	}
	switch b.DType(1) {
	case tensor.F32:
	case tensor.F16:
		variant += "_f16"
	default:
		return device.Refuse("scales are %v", b.DType(1))
	}
	at, err := g.Grid(b.In[0].Dims, b.In[1].Dims)
	if err != nil {
		return err
	}
	s, err := known(at.Axis, at.Inner, at.Block, at.PerOuter, at.PerAxis, at.PerInner)
	if err != nil {
		return err
	}
	n := b.OutShape(0).Len()
	b.step.InPlace = nil
	var w words
	w.int(n)
	w.int(s...)
	w.bool(b.Has(2))
	return b.flat(shader, variant, n, constants, w, b.in(0), b.in(1), b.in(2), b.out(0))
}

func bindQuantizeLinear(o *quant.QuantizeLinear, b *binder) error {
	d := b.Out[0].DType
	limits, ok := codeRanges[d]
	if !ok || o.Precision(b.DType(1)) != tensor.F32 || b.DType(0) != b.DType(1) {
		return device.Refuse("codes are %v, values %v and scales %v", d, b.DType(0), b.DType(1))
	}
	return b.grid("quant/quantize", o.Granularity, d, []uint32{uint32(limits[0]), uint32(limits[1])})
}

func bindDequantizeLinear(o *quant.DequantizeLinear, b *binder) error {
	if b.Out[0].DType != b.DType(1) {
		return device.Refuse("scales are %v and results %v", b.DType(1), b.Out[0].DType)
	}
	return b.grid("quant/dequantize", o.Granularity, b.DType(0), nil)
}

// bindNBits multiplies by weights of few bits as they lie.
func bindNBits(o *quant.MatMulNBits, b *binder) error {
	d := b.DType(0)
	variant, err := floatName(d)
	if err != nil {
		return err
	}
	switch {
	case o.Rounds:
		return device.Refuse("rows are rounded to 8 bits, as accuracy_level permits")
	case b.Has(4):
		return device.Refuse("columns are spread over blocks")
	case b.DType(2) != d || b.Has(5) && b.DType(5) != d || b.Out[0].DType != d:
		return device.Refuse("rows are %v and scales %v", d, b.DType(2))
	case b.Has(3) && b.DType(3) != tensor.U8:
		return device.Refuse("zero points are %v", b.DType(3))
	case o.RowBytes()%4 != 0:
		return device.Refuse("rows of %d bytes", o.RowBytes())
	}
	m, zeros := b.Shape(0).Len()/o.K, 0
	if b.Has(3) {
		zeros = (o.Blocks()*o.Bits + 7) / 8
	}
	rows := min(m, fewRows)
	const columns = 4
	var w words
	w.int(m, o.N, o.K, o.Block, o.Blocks(), o.RowBytes()/4, zeros)
	w.bool(b.Has(5))
	b.step.InPlace = nil
	defer b.works(m * o.N * o.K)
	groups := [3]int{(o.N + columns - 1) / columns, (m + rows - 1) / rows, 1}
	return b.dispatch("quant/nbits", variant, min(256, b.dev.info.Caps.MaxInvocations), groups, []uint32{uint32(o.Bits), uint32(rows), columns}, w,
		b.in(0), b.in(1), b.in(2), b.in(3), b.in(5), b.out(0))
}
