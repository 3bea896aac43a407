package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// byteConv is nacre_i8_conv_words of csrc/quant/quant.h.
type byteConv struct {
	shape                           *nn.ConvShape
	last, xSigned, wSigned, wPacked bool
	xScale, wScale                  tensor.DType
	wScales, wZeros                 int
	result, yScale                  tensor.DType
	biasFloat, addSigned            bool
	addScale                        tensor.DType
	staged, stageSigned             bool
	stageScale                      tensor.DType
	epilogue                        kit.Epilogue
	depthwise                       bindings.Kernel
}

func (v *byteConv) words() words {
	var w words
	w.conv(v.shape)
	w.bool(v.last, v.xSigned, v.wSigned, v.wPacked)
	w.dtype(v.xScale, v.wScale)
	w.int(v.wScales, v.wZeros)
	w.dtype(v.result, v.yScale)
	w.bool(v.biasFloat, v.addSigned)
	w.dtype(v.addScale)
	w.bool(v.staged, v.stageSigned)
	w.dtype(v.stageScale)
	low, high, clamps := clampOf(v.epilogue)
	w.bool(clamps)
	w.float(low, high)
	w.part(v.depthwise)
	return w
}

// weights returns the words that packed weights depend on.
func (v *byteConv) weights() words {
	s := nn.ConvShape{Groups: v.shape.Groups, Channels: v.shape.Channels, Filters: v.shape.Filters, Kernel: v.shape.Kernel}
	return (&byteConv{shape: &s, wSigned: v.wSigned}).words()
}

// Operands of a convolution of bytes: weights, addend, and the scale of a stage.
const (
	byteWeights = lower.ByteWeights
	byteAdd     = 9
	byteStage   = 12
)

// describe sets the words that depend on the inputs. in lists the input of each operand.
func (v *byteConv) describe(b *binder, in []int) {
	v.result = b.Out[0].DType
	v.xSigned, v.wSigned = b.DType(in[0]) == tensor.I8, b.DType(in[byteWeights]) == tensor.I8
	v.xScale, v.wScale, v.yScale = b.DType(in[1]), b.DType(in[4]), b.DType(in[6])
	v.wScales, v.wZeros = b.Shape(in[4]).Len(), b.Shape(in[5]).Len()
	v.biasFloat = b.DType(in[8]) == tensor.F32
	v.addSigned, v.addScale = b.DType(in[byteAdd]) == tensor.I8, b.DType(in[byteAdd+1])
	v.staged, v.stageSigned, v.stageScale = b.Has(in[byteStage]), b.DType(in[byteStage+1]) == tensor.I8,
		b.DType(in[byteStage])
}

// ByteConv adds a convolution by a kernel, such as i8_conv_gemm.
func (b *binder) ByteConv(kernel string, c *lower.ByteConv) (err error) {
	v, in := &byteConv{shape: c.Shape, last: c.Last, epilogue: c.Epilogue}, c.Inputs[:]
	v.depthwise = b.kernel("f32_conv_depthwise")
	v.describe(b, in)
	k, err := b.choose("i8_conv_"+kernel, v.words())
	if err != nil {
		return err
	}
	weights, packed, err := b.packed(in[byteWeights], k, v.weights(), byteWeights)
	if err != nil {
		return err
	}
	if v.wPacked = packed; !packed {
		weights = b.in(in[byteWeights])
	}
	return b.add(k, []bindings.Kernel{v.depthwise}, v.words(), b.byteOperands(in, weights)...)
}

// byteOperands returns the operands of a convolution of bytes.
func (b *binder) byteOperands(in []int, weights device.Operand) []device.Operand {
	list := make([]device.Operand, 0, len(in)+1)
	for i, x := range in {
		if i == byteWeights {
			list = append(list, weights)
		} else {
			list = append(list, b.in(x))
		}
	}
	return append(list, b.out(0))
}
