package lower

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// None is an input that no node has.
const None = math.MaxInt

// ByteInputs gives the input for each operand of a product of codes of bytes, None for no input.
type ByteInputs struct {
	A, AScale, AZero, B, BScale, BZero, YScale, YZero, Bias int
}

// ByteProduct is products of codes of bytes.
type ByteProduct struct {
	*Product
	ByteInputs
	Floats           bool // A is floats, to be quantised as a whole
	Alpha            float64
	BiasRow, BiasCol graph.Dim
	Add              device.Operand // float32 per column; none for no addend
	Result           tensor.DType
	Y                device.Operand
}

// ByteBinder is a Binder for codes. Its products and convolutions are by kernels of a given name.
type ByteBinder interface {
	Binder
	// Table returns a function of codes, of numbers with the scale from as numbers with the scale to.
	// Codes and results have the type of input x. Scales are inputs, and zero points the inputs after
	// them. The table is none if it would map every code to itself.
	Table(x, from, to int, f string, alpha float32) (device.Operand, error)
	// Lookup copies codes if the table is none.
	Lookup(l *Lookup) error
	Select(s *Select) error
	ByteProduct(kernel string, p *ByteProduct) error
	ByteConv(kernel string, c *ByteConv) error
}

// bytesRow returns the row of operators of type T by kernels of a name.
func bytesRow[B ByteBinder, T op.Op](kernel string, bind func(o T, kernel string, b ByteBinder) error) device.Row[B] {
	return device.RowFor(kernel, func(o T, b B) error {
		if b.Facts().Out[0].Dims.Len().Is(0) {
			return nil
		}
		return bind(o, kernel, b)
	})
}

// ByteProducts returns the rows of products of codes by kernels of these names.
func ByteProducts[B ByteBinder](kernels ...string) (list []device.Row[B]) {
	for _, k := range kernels {
		list = append(list,
			bytesRow[B](k, func(_ *quant.MatMulInteger, kernel string, b ByteBinder) error {
				in := ByteInputs{0, None, 2, 1, None, 3, None, None, None}
				return b.ByteProduct(kernel, byteProduct(b, in, tensor.I32))
			}),
			bytesRow[B](k, bindQLinearMatMul),
			bytesRow[B](k, bindMatMulIntegerToFloat),
			bytesRow[B](k, func(_ *quant.DynamicQuantizeMatMul, kernel string, b ByteBinder) error {
				p := byteProduct(b, ByteInputs{0, None, None, 1, 2, 3, None, None, None}, tensor.F32)
				p.Floats, p.Add = true, b.Input(4)
				return b.ByteProduct(kernel, p)
			}),
			bytesRow[B](k, bindQGemm))
	}
	return list
}

// byteProduct returns a product with the broadcasting of MatMul.
func byteProduct(b Binder, in ByteInputs, result tensor.DType) *ByteProduct {
	return &ByteProduct{Product: InputProduct(b, [2]arith.AxisOrder{}, in.A, in.B), ByteInputs: in, Alpha: 1, Result: result,
		Y: b.Output(0)}
}

func bindQLinearMatMul(o *quant.QLinearMatMul, kernel string, b ByteBinder) error {
	f := b.Facts()
	if !o.OnlyBytes(f.DType(0), f.DType(3), f.DType(7)) {
		return device.Refuse("codes that are floats are multiplied in Go")
	}
	return b.ByteProduct(kernel, byteProduct(b, ByteInputs{0, 1, 2, 3, 4, 5, 6, 7, None}, f.DType(7)))
}

func bindMatMulIntegerToFloat(_ *quant.MatMulIntegerToFloat, kernel string, b ByteBinder) error {
	p := byteProduct(b, ByteInputs{0, 2, 4, 1, 3, 5, None, None, None}, tensor.F32)
	p.Add = As(b, tensor.F32, Input(b, 6))
	return Rounded(b, tensor.F32, Output(b, 0), func(y device.Operand) error {
		p.Y = y
		return b.ByteProduct(kernel, p)
	})
}

func bindQGemm(o *quant.QGemm, kernel string, b ByteBinder) error {
	in := ByteInputs{quant.QGemmA, quant.QGemmAScale, quant.QGemmAZero, quant.QGemmB, quant.QGemmBScale,
		quant.QGemmBZero, quant.QGemmYScale, quant.QGemmYZero, quant.QGemmC}
	order := [2]arith.AxisOrder{{Matrix: o.Gemm.TransA}, {Matrix: o.Gemm.TransB}}
	p := &ByteProduct{Product: InputProduct(b, order, in.A, in.B), ByteInputs: in, Alpha: float64(o.Gemm.Alpha),
		Result: b.Facts().Out[0].DType, Y: b.Output(0)}
	dims := Input(b, in.Bias).Dims
	if n := len(dims); n > 0 && !dims[n-1].Is(1) {
		p.BiasCol = graph.Known(1)
	}
	if n := len(dims); n > 1 && !dims[n-2].Is(1) {
		p.BiasRow = dims[n-1]
	}
	return b.ByteProduct(kernel, p)
}

// ByteConv is a convolution of codes of bytes.
type ByteConv struct {
	Shape    *nn.ConvShape
	Last     bool    // channels are the last axis
	Inputs   [14]int // by operand: x, weights, y, bias, addend and stage, with scales and zero points; None for none
	Epilogue kit.Epilogue
}

// LinearInputs and FusedInputs list the input of QLinearConv and of FusedQLinearConv for each
// operand of a ByteConv.
var (
	LinearInputs = [14]int{0, 1, 2, 3, 4, 5, 6, 7, 8, None, None, None, None, None}
	FusedInputs  = [14]int{0, 1, 2, 3, 4, 5, 6, 7, 8, quant.FusedQLinearConvZ, quant.FusedQLinearConvZScale,
		quant.FusedQLinearConvZZero, quant.FusedQLinearConvStage, quant.FusedQLinearConvStageZero}
)

// ByteConvs returns the rows of convolutions of codes by kernels of these names.
func ByteConvs[B ByteBinder](kernels ...string) (list []device.Row[B]) {
	for _, k := range kernels {
		list = append(list,
			bytesRow[B](k, func(o *quant.ConvInteger, kernel string, b ByteBinder) error {
				inputs := [14]int{0, None, 2, 1, None, 3, None, None, None, None, None, None, None, None}
				return byteConv(kernel, o.Shape, &ByteConv{Inputs: inputs}, b)
			}),
			bytesRow[B](k, func(o *quant.ConvIntegerToFloat, kernel string, b ByteBinder) error {
				inputs := [14]int{0, None, 2, 1, quant.ConvIntegerToFloatScale, 3, None, None,
					quant.ConvIntegerToFloatBias, None, None, None, None, None}
				return byteConv(kernel, o.Shape, &ByteConv{Inputs: inputs}, b)
			}),
			bytesRow[B](k, func(o *quant.QLinearConv, kernel string, b ByteBinder) error {
				return byteConv(kernel, o.Shape, &ByteConv{Last: o.ChannelsLast, Inputs: LinearInputs}, b)
			}),
			bytesRow[B](k, func(o *quant.FusedQLinearConv, kernel string, b ByteBinder) error {
				c := &ByteConv{Last: o.ChannelsLast, Inputs: FusedInputs, Epilogue: o.Epilogue}
				return byteConv(kernel, o.Shape, c, b)
			}))
	}
	return list
}

// ByteWeights is the operand of a ByteConv that is its weights.
const ByteWeights = 3

// byteConv adds a convolution with the extents that shape returns for x and the weights.
func byteConv(kernel string, shape func(x, w tensor.Shape) (*nn.ConvShape, error), c *ByteConv, b ByteBinder) error {
	f := b.Facts()
	x, w := f.Shape(0), f.Shape(c.Inputs[ByteWeights])
	if x == nil || w == nil {
		return device.Refuse("extents are expressions over lengths")
	}
	var err error
	if c.Shape, err = shape(x, w); err != nil {
		return err
	}
	return b.ByteConv(kernel, c)
}
