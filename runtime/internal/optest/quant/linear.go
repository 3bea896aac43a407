package quant

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/arith"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Integer codes, codes that are small floats, and bytes.
var (
	wholeCodes = []tensor.DType{tensor.U8, tensor.I8, tensor.U16, tensor.I16, tensor.U4, tensor.I4, tensor.U2, tensor.I2}
	smallCodes = []tensor.DType{tensor.F8E4M3FN, tensor.F8E4M3FNUZ, tensor.F8E5M2, tensor.F8E5M2FNUZ, tensor.F4E2M1}
	byteCodes  = []tensor.DType{tensor.U8, tensor.I8}
)

// firstWith returns the first version of QuantizeLinear with codes of type d.
func firstWith(d tensor.DType) int {
	switch d {
	case tensor.U8, tensor.I8:
		return 10
	case tensor.U16, tensor.I16, tensor.U4, tensor.I4:
		return 21
	case tensor.F4E2M1:
		return 23
	case tensor.U2, tensor.I2:
		return 25
	}
	return 19
}

func scaleCases(s *cases.Suite) {
	for _, d := range wholeCodes {
		quantizeCases(s, d)
	}
	for _, d := range smallCodes {
		quantizeCases(s, d)
	}
	dequantizeInts(s)
	quantizeExtremes(s)
	quantizeFails(s)
	dynamicQuantizeCases(s)
	productCases(s)
	convCases(s)
}

// scaling is a scale and a zero point, and the elements that they belong to.
type scaling struct {
	axis, block int
	scale, zero *tensor.Tensor // zero is nil if left out
}

// at returns the index of an element's scale.
func (q *scaling) at(at []int) int {
	switch s := q.scale.Shape(); {
	case s.Len() == 1:
		return 0
	case q.block == 0:
		return at[cases.Mod(q.axis, len(at))]
	default:
		axis := cases.Mod(q.axis, len(at))
		return cases.Flat(s, cases.With(at, axis, at[axis]/q.block)...)
	}
}

// meaning returns the number that element i of a tensor of codes, or of any numbers, stands for.
func meaning(t *tensor.Tensor, i int) float64 {
	f, small := arith.SmallFloats[t.DType()]
	switch {
	case !small:
		return cases.Number(t, i)
	case t.DType().Layout() != nil:
		return f.Value(int(byte(t.DType().Layout().At(t.Bytes(), i))))
	}
	return f.Value(int(t.Bytes()[i]))
}

// putCode rounds v to a code.
func putCode(t *tensor.Tensor, i int, v float64) {
	d := t.DType()
	if f, small := arith.SmallFloats[d]; small {
		if d.Layout() != nil {
			d.Layout().Set(t.Bytes(), i, int8(f.Code(v)))
		} else {
			t.Bytes()[i] = byte(f.Code(v))
		}
		return
	}
	low, high := 0.0, math.Ldexp(1, d.Bits())-1
	if d.Kind() == tensor.Signed {
		low, high = -math.Ldexp(1, d.Bits()-1), math.Ldexp(1, d.Bits()-1)-1
	}
	if math.IsNaN(v) {
		v = low
	}
	cases.SetNumber(t, i, math.Min(math.Max(v, low), high))
}

// narrowed rounds v to a float of type d.
func narrowed(d tensor.DType, v float64) float32 {
	return float32(cases.Number(cases.FromNumbers(d, []float64{v}), 0))
}

// quantized is QuantizeLinear by its definition.
func quantized(x *tensor.Tensor, q *scaling, codes, precision tensor.DType) *tensor.Tensor {
	y := tensor.New(codes, x.Shape()...)
	cases.Each(x.Shape(), func(i int, at []int) {
		p := q.at(at)
		v := float64(narrowed(precision,
			float64(narrowed(precision, cases.Number(x, i))/narrowed(precision, cases.Number(q.scale, p)))))
		if codes.IsInteger() {
			v = math.RoundToEven(v)
		}
		if q.zero != nil {
			v += meaning(q.zero, p)
		}
		putCode(y, i, v)
	})
	return y
}

// dequantized is DequantizeLinear by its definition.
func dequantized(x *tensor.Tensor, q *scaling, to tensor.DType) *tensor.Tensor {
	y := tensor.New(to, x.Shape()...)
	cases.Each(x.Shape(), func(i int, at []int) {
		p := q.at(at)
		v := meaning(x, i)
		if q.zero != nil {
			v -= meaning(q.zero, p)
		}
		scale := float32(0)
		if q.scale.DType() == tensor.F8E8M0 {
			scale = packed.F8E8M0(q.scale.Bytes()[p]).Float32()
		} else {
			scale = float32(cases.Number(q.scale, p))
		}
		cases.SetNumber(y, i, float64(float32(v)*scale))
	})
	return y
}

// codesOf returns arbitrary codes except NaN and infinities.
func codesOf(s *cases.Suite, d tensor.DType, shape ...int) *tensor.Tensor {
	t := tensor.New(d, shape...)
	width := 600.0
	if _, small := arith.SmallFloats[d]; small || d.Bits() < 8 {
		width = 16
	} else if d.Bits() == 16 {
		width = 140000
	}
	for i := range t.Len() {
		putCode(t, i, (s.Float64()-0.5)*width)
	}
	return t
}

// scales returns scales by which quotients fill the range of the codes.
func scales(s *cases.Suite, d tensor.DType, codes tensor.DType, shape ...int) *tensor.Tensor {
	t := s.Between(d, 0.5, 1.5, shape...)
	for i := range t.Len() {
		v := cases.Number(t, i) / 32
		if _, small := arith.SmallFloats[codes]; small || codes.Bits() < 8 {
			v *= 16
		} else if codes.Bits() == 16 {
			v /= 512
		}
		cases.SetNumber(t, i, v)
	}
	return t
}

// zeroPoints returns codes as zero points. For small floats they are 0, 1 or 2.
func zeroPoints(s *cases.Suite, d tensor.DType, shape ...int) *tensor.Tensor {
	t := codesOf(s, d, shape...)
	if _, small := arith.SmallFloats[d]; small {
		for i := range t.Len() {
			putCode(t, i, float64(s.IntN(3)))
		}
	}
	return t
}

// quantizeCases quantises all kinds of numbers to codes of the given type and dequantises them.
func quantizeCases(s *cases.Suite, codes tensor.DType) {
	first := firstWith(codes)
	floating := []tensor.DType{tensor.F32}
	if first <= 25 {
		floating = append(floating, tensor.F16, tensor.BF16)
	}
	for i, d := range floating {
		from := max(first, []int{10, 19, 19}[i])
		one := scaling{scale: scales(s, d, codes), zero: zeroPoints(s, codes)}
		quantizeCase(s, d, &one, codes, from, 3, 67)
		one.scale = cases.Seen(one.scale, 1)
		one.zero = cases.Seen(one.zero, 1)
		quantizeCase(s, d, &one, codes, from, 7)
		for _, axis := range []int{0, 1, -1} {
			shape := []int{3, 5, 37}
			n := shape[cases.Mod(axis, 3)]
			q := scaling{axis: axis, scale: scales(s, d, codes, n), zero: zeroPoints(s, codes, n)}
			quantizeCase(s, d, &q, codes, max(from, 13), shape...)
			blocks := slices.Clone(shape)
			blocks[cases.Mod(axis, 3)] = (n-1)/2 + 1
			q = scaling{axis: axis, block: 2, scale: scales(s, d, codes, blocks...), zero: zeroPoints(s, codes, blocks...)}
			quantizeCase(s, d, &q, codes, max(from, 21), shape...)
		}
		quantizeCase(s, d, &scaling{scale: scales(s, d, codes)}, codes, max(from, 21), 33)
	}
	quantizeCase(s, tensor.I32, &scaling{scale: scales(s, tensor.F32, codes), zero: zeroPoints(s, codes)}, codes,
		max(first, 23), 4, 9)
	q := scaling{scale: scales(s, tensor.F16, codes), zero: zeroPoints(s, codes)}
	quantizeCase(s, tensor.F32, &q, codes, max(first, 23), 4, 9)
	x := s.Between(tensor.F32, -6, 6, 77)
	q = scaling{scale: scales(s, tensor.F32, codes), zero: zeroPoints(s, codes)}
	s.Add(cases.Case{Op: "QuantizeLinear", Version: max(first, 23), Note: "precision", Attrs: cases.Attrs("precision", 10), In: cases.In(x, q.scale, q.zero),
		Want: cases.Want(quantized(x, &q, codes, tensor.F16))})
	y := codesOf(s, codes, 77)
	s.Add(cases.Case{Op: "DequantizeLinear", Version: max(first, 23), Note: "output_dtype", Attrs: cases.Attrs("output_dtype", 16), In: cases.In(y, q.scale, q.zero),
		Want: cases.Want(dequantized(y, &q, tensor.BF16))})
	power := arith.Coded(tensor.F8E8M0, []int{124, 127, 130})
	q = scaling{axis: 1, scale: power}
	y = codesOf(s, codes, 2, 3, 5)
	s.Add(cases.Case{Op: "DequantizeLinear", Version: max(first, 24), Note: "powers",
		Attrs: cases.Attrs("output_dtype", 1), In: cases.In(y, power), Want: cases.Want(dequantized(y, &q, tensor.F32))})
}

func quantizeCase(s *cases.Suite, d tensor.DType, q *scaling, codes tensor.DType, version int, shape ...int) {
	x := s.Between(d, -6, 6, shape...)
	if d == tensor.I32 {
		x = s.Between(d, -200, 300, shape...)
	}
	var list []any
	if q.axis != 0 || q.scale.Len() > 1 {
		list = append(list, "axis", q.axis)
	}
	if q.block > 0 {
		list = append(list, "block_size", q.block)
	}
	back := cases.Attrs(list...)
	if q.zero == nil {
		list = append(list, "output_dtype", typeNumber(codes))
	}
	operands := func(x *tensor.Tensor) []*tensor.Tensor {
		if q.zero == nil {
			return cases.In(x, q.scale)
		}
		return cases.In(x, q.scale, q.zero)
	}
	s.Add(cases.Case{Op: "QuantizeLinear", Version: version, Attrs: cases.Attrs(list...), In: operands(x),
		Want: cases.Want(quantized(x, q, codes, q.scale.DType()))})
	y := codesOf(s, codes, shape...)
	s.Add(cases.Case{Op: "DequantizeLinear", Version: version, Attrs: back, In: operands(y),
		Want: cases.Want(dequantized(y, q, q.scale.DType()))})
	ms := d != tensor.BF16 && d != tensor.I32 && d == q.scale.DType() && codes.IsInteger() &&
		firstWith(codes) <= 21 && q.block == 0 && q.zero != nil
	if ms {
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "QuantizeLinear", Version: 1, Attrs: cases.Attrs(list...),
			In: operands(x), Want: cases.Want(quantized(x, q, codes, tensor.F32))})
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "DequantizeLinear", Version: 1, Attrs: back, In: operands(y),
			Want: cases.Want(dequantized(y, q, d))})
	}
}

// typeNumber returns ONNX's number of an element type.
func typeNumber(d tensor.DType) int { return d.Code() }

// dequantizeInts dequantises int32 sums.
func dequantizeInts(s *cases.Suite) {
	x := s.Between(tensor.I32, -5e8, 5e8, 4, 9)
	one := scaling{scale: cases.Scalar(tensor.F32, 0.001)}
	s.Add(cases.Case{Op: "DequantizeLinear", Version: 10, In: cases.In(x, one.scale),
		Want: cases.Want(dequantized(x, &one, tensor.F32))})
	axis := scaling{axis: 1, scale: s.Between(tensor.F32, 0.1, 1, 9), zero: s.Between(tensor.I32, -9, 9, 9)}
	s.Add(cases.Case{Op: "DequantizeLinear", Version: 13, In: cases.In(x, axis.scale, axis.zero),
		Want: cases.Want(dequantized(x, &axis, tensor.F32))})
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "DequantizeLinear", Version: 1, In: cases.In(x, axis.scale, axis.zero),
		Want: cases.Want(dequantized(x, &axis, tensor.F32))})
	whole := scaling{scale: cases.Scalar(tensor.I32, 3)}
	s.Add(cases.Case{Op: "QuantizeLinear", Version: 23, Note: "whole scale", In: cases.In(x, whole.scale),
		Want: cases.Want(quantized(x, &whole, tensor.U8, tensor.F32))})
}

// quantizeExtremes quantises numbers between codes, numbers beyond them, and NaN.
func quantizeExtremes(s *cases.Suite) {
	inf := math.Inf(1)
	x := cases.Vector(tensor.F32, 0.5, 1.5, 2.5, -0.5, -1.5, inf, -inf, math.NaN(), 1e30, -1e30, 254.5, 255.5, 127.5,
		-128.5, 0)
	for _, d := range wholeCodes {
		q := scaling{scale: cases.Scalar(tensor.F32, 1), zero: tensor.New(d)}
		s.Add(cases.Case{Op: "QuantizeLinear", Version: firstWith(d), In: cases.In(x, q.scale, q.zero),
			Want: cases.Want(quantized(x, &q, d, tensor.F32))})
	}
	s.Add(cases.Case{Op: "QuantizeLinear", Version: 19, Note: "not saturated", Attrs: cases.Attrs("saturate", 0),
		In: cases.In(cases.Vector(tensor.F32, 1e6, -1e6, inf, 1), cases.Scalar(tensor.F32, 1), arith.Coded(tensor.F8E4M3FN, []int{0})), Want: cases.Want(arith.Coded(tensor.F8E4M3FN, []int{0x7f, 0xff, 0x7f, 0x38}))})
	empty, scale := tensor.New(tensor.F32, 3, 0), cases.Scalar(tensor.F32, 1)
	s.Add(cases.Case{Op: "QuantizeLinear", Version: 10, Note: "empty", In: cases.In(empty, scale),
		Want: cases.Want(tensor.New(tensor.U8, 3, 0))})
	s.Add(cases.Case{Op: "DequantizeLinear", Version: 10, Note: "empty",
		In: cases.In(tensor.New(tensor.I8, 0, 2), scale), Want: cases.Want(tensor.New(tensor.F32, 0, 2))})
	large := s.Between(tensor.F32, -3, 3, 3, 20011)
	q := scaling{axis: 1, scale: s.Between(tensor.F32, 0.01, 0.02, 20011), zero: codesOf(s, tensor.U8, 20011)}
	s.Add(cases.Case{Op: "QuantizeLinear", Version: 13, Note: "large", In: cases.In(large, q.scale, q.zero),
		Want: cases.Want(quantized(large, &q, tensor.U8, tensor.F32))})
	codes := codesOf(s, tensor.I4, 3, 20011)
	q = scaling{axis: 1, block: 32, scale: s.Between(tensor.F32, 0.01, 0.02, 3, 626)}
	s.Add(cases.Case{Op: "DequantizeLinear", Version: 21, Note: "large", Attrs: cases.Attrs("block_size", 32),
		In: cases.In(codes, q.scale), Want: cases.Want(dequantized(codes, &q, tensor.F32))})
}

func quantizeFails(s *cases.Suite) {
	x, one := s.Any(tensor.F32, 4, 6), cases.Scalar(tensor.F32, 1)
	fails := func(kind error, version int, note string, list []*graph.Attr, in ...*tensor.Tensor) {
		s.Add(cases.Case{Op: "QuantizeLinear", Version: version, Note: note, Attrs: list, In: in, Fails: kind})
	}
	fails(graph.ErrShape, 13, "too many scales", nil, x, s.Any(tensor.F32, 4))
	fails(graph.ErrShape, 13, "too many zero points", nil, x, one, codesOf(s, tensor.U8, 6))
	fails(graph.ErrShape, 13, "no such axis", cases.Attrs("axis", 2), x, s.Any(tensor.F32, 4))
	s.Add(cases.Case{Op: "QuantizeLinear", Version: 10, Until: 13, Note: "scales along an axis",
		In: cases.In(x, s.Any(tensor.F32, 6)), Fails: graph.ErrShape})
	fails(graph.ErrShape, 21, "blocks of another size", cases.Attrs("axis", 1, "block_size", 4), x,
		s.Any(tensor.F32, 4, 3))
	fails(graph.ErrFormat, 21, "negative blocks", cases.Attrs("block_size", -1), x, one)
	fails(graph.ErrFormat, 21, "types that differ", cases.Attrs("output_dtype", 3), x, one, tensor.New(tensor.U8))
	fails(graph.ErrUnsupported, 21, "no codes", cases.Attrs("output_dtype", 1), x, one)
	fails(graph.ErrFormat, 10, "zero point of no codes", nil, x, one, one)
	fails(graph.ErrUnsupported, 10, "scale of doubles", nil, x, cases.Scalar(tensor.F64, 1))
	y := codesOf(s, tensor.U8, 4, 6)
	s.Add(cases.Case{Op: "DequantizeLinear", Version: 13, Note: "too many scales", In: cases.In(y, s.Any(tensor.F32, 4)),
		Fails: graph.ErrShape})
	s.Add(cases.Case{Op: "DequantizeLinear", Version: 10, Note: "zero point of another type",
		In: cases.In(y, one, tensor.New(tensor.I8)), Fails: graph.ErrShape})
	s.Add(cases.Case{Op: "DequantizeLinear", Version: 24, Note: "no type for results",
		In: cases.In(y, arith.Coded(tensor.F8E8M0, []int{127})), Fails: graph.ErrUnsupported})
}

func dynamicQuantizeCases(s *cases.Suite) {
	for _, list := range [][]float64{{0, 2, -3, -2.5, 1.34, 0.5}, {-1, -2.1, -1.3, -2.5}, {1, 2.1, 1.3, 2.5}, {0, 0}, {},
		{7}} {
		dynamicQuantizeCase(s, cases.Vector(tensor.F32, list...))
	}
	dynamicQuantizeCase(s, s.Between(tensor.F32, -3, 5, 7, 20003))
}

func dynamicQuantizeCase(s *cases.Suite, x *tensor.Tensor) {
	y, scale, zero := tensor.New(tensor.U8, x.Shape()...), tensor.New(tensor.F32), tensor.New(tensor.U8)
	step, z := dynamicScale(x)
	cases.SetNumber(scale, 0, float64(step))
	cases.SetNumber(zero, 0, z)
	for i, v := range cases.Numbers(x) {
		putCode(y, i, math.RoundToEven(float64(float32(v)/step))+z)
	}
	s.Add(cases.Case{Op: "DynamicQuantizeLinear", Version: 11, In: cases.In(x), Want: cases.Want(y, scale, zero)})
	s.Add(cases.Case{Op: "DynamicQuantizeLinear", Version: 11, Note: "no codes", In: cases.In(x),
		Want: cases.Want(nil, scale, zero)})
}

// dynamicScale returns the scale and the zero point of uint8 codes for x and 0.
func dynamicScale(x *tensor.Tensor) (scale float32, zero float64) {
	low, high := float32(0), float32(0)
	for _, v := range cases.Numbers(x) {
		low, high = min(low, float32(v)), max(high, float32(v))
	}
	scale = (high - low) / 255
	if high == low {
		scale = 1 / float32(255)
	}
	return scale, math.RoundToEven(float64(min(max(-low/scale, 0), 255)))
}
