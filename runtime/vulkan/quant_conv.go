package vulkan

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

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

// ByteConv adds a dispatch.
func (b *binder) ByteConv(_ string, c *lower.ByteConv) error {
	variant := "bytes"
	switch d := b.Out[0].DType; {
	case d == tensor.I32:
		variant = "integers"
	case d.Bits() != 8:
		return device.Refuse("results are %v", d)
	}
	w, err := convWords(c.Shape)
	if err != nil {
		return err
	}
	var scales []int
	for _, i := range []int{byteXScale, byteWScale, byteYScale, byteAddScale, byteStage} {
		if x := c.Inputs[i]; b.Has(x) {
			scales = append(scales, x)
		}
	}
	half, err := b.halfScales(scales...)
	if err != nil {
		return err
	}
	low, high, clamps := math.Inf(-1), math.Inf(1), uint32(0)
	switch c.Epilogue.Func {
	case "":
	case "relu":
		low, clamps = 0, 1
	case "clip":
		low, high, clamps = c.Epilogue.P, c.Epilogue.Q, 1
	default:
		return device.Refuse("activation %s", c.Epilogue.Func)
	}
	// The kind of codes: 0 for none, 1 for unsigned and 2 for signed codes.
	kind := func(codes, there int) uint32 {
		if !b.Has(c.Inputs[there]) {
			return 0
		}
		return 1 + signed(b.DType(c.Inputs[codes]))
	}
	bias := uint32(0)
	switch b.DType(c.Inputs[byteBias]) {
	case tensor.I32:
		bias = 1
	case tensor.F32:
		bias = 2
	}
	b.Note(b.loops(2 * c.Shape.Channels * product3(c.Shape.Kernel)))
	n := b.OutShape(0).Len()
	w = append(words{uint32(n)}, w...)
	count := func(i int) int {
		if !b.Has(c.Inputs[i]) {
			return 0
		}
		return b.Shape(c.Inputs[i]).Len()
	}
	w.int(count(byteWScale), count(byteWZero))
	w.float(low, high)
	constants := []uint32{
		signed(b.DType(c.Inputs[byteX])), signed(b.DType(c.Inputs[byteW])), signed(b.Out[0].DType), half,
		uint32(kit.Btoi(c.Last)), bias,
		kind(byteAdd, byteAdd), kind(byteStageZero, byteStage), clamps, uint32(kit.Btoi(b.Has(c.Inputs[byteXZero]))),
	}
	var operands []device.Operand
	for _, i := range c.Inputs {
		operands = append(operands, b.in(i))
	}
	defer b.works(n * c.Shape.Channels * product3(c.Shape.Kernel))
	return b.flat("quant/conv", variant, n, constants, w, append(operands, b.out(0))...)
}
