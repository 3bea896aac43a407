package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var quantConvRows = []row{
	rowFor("depthwise", func(o *quant.ConvInteger, b *binder) error { return bindConvInteger(o, "i8_conv_depthwise", b) }),
	rowFor("gemv", func(o *quant.ConvInteger, b *binder) error { return bindConvInteger(o, "i8_conv_gemv", b) }),
	rowFor("gemm", func(o *quant.ConvInteger, b *binder) error { return bindConvInteger(o, "i8_conv_gemm", b) }),
	rowFor("depthwise", func(o *quant.ConvIntegerToFloat, b *binder) error {
		return bindConvIntegerToFloat(o, "i8_conv_depthwise", b)
	}),
	rowFor("gemv", func(o *quant.ConvIntegerToFloat, b *binder) error {
		return bindConvIntegerToFloat(o, "i8_conv_gemv", b)
	}),
	rowFor("gemm", func(o *quant.ConvIntegerToFloat, b *binder) error {
		return bindConvIntegerToFloat(o, "i8_conv_gemm", b)
	}),
	rowFor("depthwise", func(o *quant.QLinearConv, b *binder) error { return bindQLinearConv(o, "i8_conv_depthwise", b) }),
	rowFor("gemv", func(o *quant.QLinearConv, b *binder) error { return bindQLinearConv(o, "i8_conv_gemv", b) }),
	rowFor("gemm", func(o *quant.QLinearConv, b *binder) error { return bindQLinearConv(o, "i8_conv_gemm", b) }),
	rowFor("depthwise", func(o *quant.FusedQLinearConv, b *binder) error {
		return bindFusedQLinearConv(o, "i8_conv_depthwise", b)
	}),
	rowFor("gemv", func(o *quant.FusedQLinearConv, b *binder) error { return bindFusedQLinearConv(o, "i8_conv_gemv", b) }),
	rowFor("gemm", func(o *quant.FusedQLinearConv, b *binder) error { return bindFusedQLinearConv(o, "i8_conv_gemm", b) }),
}

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
	byteWeights = 3
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

// convBytes adds a convolution of bytes by a kernel of that op. in lists the input of each operand
// but the last, the result.
func (b *binder) convBytes(kernel string, v *byteConv, in []int) (err error) {
	if b.isEmpty() {
		return nil
	}
	if v.depthwise, err = b.kernel("f32_conv_depthwise"); err != nil {
		return err
	}
	v.describe(b, in)
	k, err := b.choose(kernel, v.words())
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

func bindConvInteger(o *quant.ConvInteger, kernel string, b *binder) error {
	s, err := o.Shape(b.Shape(0), b.Shape(1))
	if err != nil {
		return err
	}
	return b.convBytes(kernel, &byteConv{shape: s},
		[]int{0, none, 2, 1, none, 3, none, none, none, none, none, none, none, none})
}

func bindConvIntegerToFloat(o *quant.ConvIntegerToFloat, kernel string, b *binder) error {
	s, err := o.Shape(b.Shape(0), b.Shape(1))
	if err != nil {
		return err
	}
	return b.convBytes(kernel, &byteConv{shape: s}, []int{0, none, 2, 1, quant.ConvIntegerToFloatScale, 3, none, none,
		quant.ConvIntegerToFloatBias, none, none, none, none, none})
}

// linearInputs and fusedInputs list the input of QLinearConv and of FusedQLinearConv for each
// operand of the kernels.
var (
	linearInputs = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, none, none, none, none, none}
	fusedInputs  = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, quant.FusedQLinearConvZ, quant.FusedQLinearConvZScale,
		quant.FusedQLinearConvZZero, quant.FusedQLinearConvStage, quant.FusedQLinearConvStageZero}
)

func bindQLinearConv(o *quant.QLinearConv, kernel string, b *binder) error {
	s, err := o.Shape(b.Shape(0), b.Shape(3))
	if err != nil {
		return err
	}
	return b.convBytes(kernel, &byteConv{shape: s, last: o.ChannelsLast}, linearInputs)
}

func bindFusedQLinearConv(o *quant.FusedQLinearConv, kernel string, b *binder) error {
	s, err := o.Shape(b.Shape(0), b.Shape(3))
	if err != nil {
		return err
	}
	return b.convBytes(kernel, &byteConv{shape: s, last: o.ChannelsLast, epilogue: o.Epilogue}, fusedInputs)
}
