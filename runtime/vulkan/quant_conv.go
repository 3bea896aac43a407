package vulkan

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var quantConvRows = []row{
	rowFor("conv", bindConvInteger),
	rowFor("conv", func(o *quant.QLinearConv, b *binder) error { return bindQLinearConv(o, kit.Epilogue{}, b) }),
	rowFor("conv", func(o *quant.FusedQLinearConv, b *binder) error {
		return bindQLinearConv(&o.QLinearConv, o.Epilogue, b)
	}),
}

// byteConv is a dispatch of quant/conv.
type byteConv struct {
	shape    *nn.ConvShape
	last     bool
	inputs   [14]int // by operand; negative for none
	variant  string
	epilogue kit.Epilogue
}

// at returns the input for operand i. For none, it is a number that no node has.
func (c *byteConv) at(i int) int {
	if c.inputs[i] < 0 {
		return math.MaxInt
	}
	return c.inputs[i]
}

// The operands of quant/conv.
const (
	byteX = iota
	byteXScale
	byteXZero
	byteW
	byteWScale
	byteWZero
	byteYScale
	byteYZero
	byteBias
	byteAdd
	byteAddScale
	byteAddZero
	byteStage
	byteStageZero
)

// convBytes adds the dispatch.
func (b *binder) convBytes(c *byteConv) error {
	w, err := convWords(c.shape)
	if err != nil {
		return err
	}
	var scales []int
	for _, i := range []int{byteXScale, byteWScale, byteYScale, byteAddScale, byteStage} {
		if x := c.at(i); b.Has(x) {
			scales = append(scales, x)
		}
	}
	half, err := b.halfScales(scales...)
	if err != nil {
		return err
	}
	low, high, clamps := math.Inf(-1), math.Inf(1), uint32(0)
	switch c.epilogue.Func {
	case "":
	case "relu":
		low, clamps = 0, 1
	case "clip":
		low, high, clamps = c.epilogue.P, c.epilogue.Q, 1
	default:
		return device.Refuse("activation %s", c.epilogue.Func)
	}
	// The kind of codes: 0 for none, 1 for unsigned and 2 for signed codes.
	kind := func(codes, there int) uint32 {
		if !b.Has(c.at(there)) {
			return 0
		}
		return 1 + signed(b.DType(c.at(codes)))
	}
	bias := uint32(0)
	switch b.DType(c.at(byteBias)) {
	case tensor.I32:
		bias = 1
	case tensor.F32:
		bias = 2
	}
	if err := b.loops(2 * c.shape.Channels * product3(c.shape.Kernel)); err != nil {
		return err
	}
	n := b.OutShape(0).Len()
	w = append(words{uint32(n)}, w...)
	count := func(i int) int {
		if !b.Has(c.at(i)) {
			return 0
		}
		return b.Shape(c.at(i)).Len()
	}
	w.int(count(byteWScale), count(byteWZero))
	w.float(low, high)
	constants := []uint32{
		signed(b.DType(c.at(byteX))), signed(b.DType(c.at(byteW))), signed(b.Out[0].DType), half, uint32(kit.Btoi(c.last)),
		bias,
		kind(byteAdd, byteAdd), kind(byteStageZero, byteStage), clamps, uint32(kit.Btoi(b.Has(c.at(byteXZero)))),
	}
	var operands []device.Operand
	for i := range c.inputs {
		operands = append(operands, b.in(c.at(i)))
	}
	b.step.InPlace = nil
	defer b.works(n * c.shape.Channels * product3(c.shape.Kernel))
	return b.flat("quant/conv", c.variant, n, constants, w, append(operands, b.out(0))...)
}

func bindConvInteger(o *quant.ConvInteger, b *binder) error {
	s, err := o.Shape(b.Shape(0), b.Shape(1))
	if err != nil {
		return err
	}
	return b.convBytes(&byteConv{shape: s, variant: "integers",
		inputs: [14]int{0, -1, 2, 1, -1, 3, -1, -1, -1, -1, -1, -1, -1, -1}})
}

func bindQLinearConv(o *quant.QLinearConv, epilogue kit.Epilogue, b *binder) error {
	s, err := o.Shape(b.Shape(0), b.Shape(3))
	if err != nil {
		return err
	}
	inputs := [14]int{0, 1, 2, 3, 4, 5, 6, 7, 8, quant.FusedQLinearConvZ, quant.FusedQLinearConvZScale,
		quant.FusedQLinearConvZZero, quant.FusedQLinearConvStage, quant.FusedQLinearConvStageZero}
	return b.convBytes(&byteConv{shape: s, last: o.ChannelsLast, variant: "bytes", inputs: inputs, epilogue: epilogue})
}
