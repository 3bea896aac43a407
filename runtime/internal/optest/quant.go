package optest

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Codes that whole numbers, and those that small floats, are quantised to.
var (
	wholeCodes = []tensor.DType{tensor.U8, tensor.I8, tensor.U16, tensor.I16, tensor.U4, tensor.I4, tensor.U2, tensor.I2}
	smallCodes = []tensor.DType{tensor.F8E4M3FN, tensor.F8E4M3FNUZ, tensor.F8E5M2, tensor.F8E5M2FNUZ, tensor.F4E2M1}
	byteCodes  = []tensor.DType{tensor.U8, tensor.I8}
)

// firstWith is the first version of QuantizeLinear that has codes of that type.
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

func quantCases(s *suite) {
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
	quantProductCases(s)
	quantConvCases(s)
}

// scaling is a scale and a zero point, and to which elements they belong.
type scaling struct {
	axis, block int
	scale, zero *tensor.Tensor // zero is nil where it is left out
}

// at is where the scale of an element is.
func (q *scaling) at(at []int) int {
	switch s := q.scale.Shape(); {
	case s.Len() == 1:
		return 0
	case q.block == 0:
		return at[mod(q.axis, len(at))]
	default:
		axis := mod(q.axis, len(at))
		return flat(s, with(at, axis, at[axis]/q.block)...)
	}
}

// meaning is the number that element i of a tensor of codes, or of any numbers,
// holds.
func meaning(t *tensor.Tensor, i int) float64 {
	f, small := smallFloats[t.DType()]
	switch {
	case !small:
		return number(t, i)
	case t.DType().Layout() != nil:
		return f.value(int(byte(t.DType().Layout().At(t.Bytes(), i))))
	}
	return f.value(int(t.Bytes()[i]))
}

// putCode rounds v to a code.
func putCode(t *tensor.Tensor, i int, v float64) {
	d := t.DType()
	if f, small := smallFloats[d]; small {
		if d.Layout() != nil {
			d.Layout().Set(t.Bytes(), i, int8(f.code(v)))
		} else {
			t.Bytes()[i] = byte(f.code(v))
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
	setNumber(t, i, math.Min(math.Max(v, low), high))
}

// narrowed is v as a float of that type.
func narrowed(d tensor.DType, v float64) float32 {
	return float32(number(fromNumbers(d, []float64{v}), 0))
}

// quantized is QuantizeLinear by its definition.
func quantized(x *tensor.Tensor, q *scaling, codes, precision tensor.DType) *tensor.Tensor {
	y := tensor.New(codes, x.Shape()...)
	each(x.Shape(), func(i int, at []int) {
		p := q.at(at)
		v := float64(narrowed(precision, float64(narrowed(precision, number(x, i))/narrowed(precision, number(q.scale, p)))))
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
	each(x.Shape(), func(i int, at []int) {
		p := q.at(at)
		v := meaning(x, i)
		if q.zero != nil {
			v -= meaning(q.zero, p)
		}
		scale := float32(0)
		if q.scale.DType() == tensor.F8E8M0 {
			scale = packed.F8E8M0(q.scale.Bytes()[p]).Float32()
		} else {
			scale = float32(number(q.scale, p))
		}
		setNumber(y, i, float64(float32(v)*scale))
	})
	return y
}

// codesOf returns codes of any value but those of no number.
func (s *suite) codesOf(d tensor.DType, shape ...int) *tensor.Tensor {
	t := tensor.New(d, shape...)
	width := 600.0
	if _, small := smallFloats[d]; small || d.Bits() < 8 {
		width = 16
	} else if d.Bits() == 16 {
		width = 140000
	}
	for i := range t.Len() {
		putCode(t, i, (s.Float64()-0.5)*width)
	}
	return t
}

// scales returns numbers that divide others to codes of all sizes.
func (s *suite) scales(d tensor.DType, codes tensor.DType, shape ...int) *tensor.Tensor {
	t := s.between(d, 0.5, 1.5, shape...)
	for i := range t.Len() {
		v := number(t, i) / 32
		if _, small := smallFloats[codes]; small || codes.Bits() < 8 {
			v *= 16
		} else if codes.Bits() == 16 {
			v /= 512
		}
		setNumber(t, i, v)
	}
	return t
}

// zeroPoints are codes that are no numbers too large to add.
func (s *suite) zeroPoints(d tensor.DType, shape ...int) *tensor.Tensor {
	t := s.codesOf(d, shape...)
	if _, small := smallFloats[d]; small {
		for i := range t.Len() {
			putCode(t, i, float64(s.IntN(3)))
		}
	}
	return t
}

// quantizeCases quantises all kinds of numbers to codes of that type, and takes
// them back.
func quantizeCases(s *suite, codes tensor.DType) {
	first := firstWith(codes)
	floating := []tensor.DType{tensor.F32}
	if first <= 25 {
		floating = append(floating, tensor.F16, tensor.BF16)
	}
	for i, d := range floating {
		from := max(first, []int{10, 19, 19}[i])
		one := scaling{scale: s.scales(d, codes), zero: s.zeroPoints(codes)}
		quantizeCase(s, d, &one, codes, from, 3, 67)
		one.scale = seen(one.scale, 1)
		one.zero = seen(one.zero, 1)
		quantizeCase(s, d, &one, codes, from, 7)
		for _, axis := range []int{0, 1, -1} {
			shape := []int{3, 5, 37}
			n := shape[mod(axis, 3)]
			q := scaling{axis: axis, scale: s.scales(d, codes, n), zero: s.zeroPoints(codes, n)}
			quantizeCase(s, d, &q, codes, max(from, 13), shape...)
			blocks := slices.Clone(shape)
			blocks[mod(axis, 3)] = (n-1)/2 + 1
			q = scaling{axis: axis, block: 2, scale: s.scales(d, codes, blocks...), zero: s.zeroPoints(codes, blocks...)}
			quantizeCase(s, d, &q, codes, max(from, 21), shape...)
		}
		quantizeCase(s, d, &scaling{scale: s.scales(d, codes)}, codes, max(from, 21), 33)
	}
	quantizeCase(s, tensor.I32, &scaling{scale: s.scales(tensor.F32, codes), zero: s.zeroPoints(codes)}, codes, max(first, 23), 4, 9)
	q := scaling{scale: s.scales(tensor.F16, codes), zero: s.zeroPoints(codes)}
	quantizeCase(s, tensor.F32, &q, codes, max(first, 23), 4, 9)
	x := s.between(tensor.F32, -6, 6, 77)
	q = scaling{scale: s.scales(tensor.F32, codes), zero: s.zeroPoints(codes)}
	s.add(Case{Op: "QuantizeLinear", Version: max(first, 23), Note: "precision", Attrs: attrs("precision", 10), In: in(x, q.scale, q.zero),
		Want: want(quantized(x, &q, codes, tensor.F16))})
	y := s.codesOf(codes, 77)
	s.add(Case{Op: "DequantizeLinear", Version: max(first, 23), Note: "output_dtype", Attrs: attrs("output_dtype", 16), In: in(y, q.scale, q.zero),
		Want: want(dequantized(y, &q, tensor.BF16))})
	power := coded(tensor.F8E8M0, []int{124, 127, 130})
	q = scaling{axis: 1, scale: power}
	y = s.codesOf(codes, 2, 3, 5)
	s.add(Case{Op: "DequantizeLinear", Version: max(first, 24), Note: "powers", Attrs: attrs("output_dtype", 1), In: in(y, power), Want: want(dequantized(y, &q, tensor.F32))})
}

func quantizeCase(s *suite, d tensor.DType, q *scaling, codes tensor.DType, version int, shape ...int) {
	x := s.between(d, -6, 6, shape...)
	if d == tensor.I32 {
		x = s.between(d, -200, 300, shape...)
	}
	var list []any
	if q.axis != 0 || q.scale.Len() > 1 {
		list = append(list, "axis", q.axis)
	}
	if q.block > 0 {
		list = append(list, "block_size", q.block)
	}
	back := attrs(list...)
	if q.zero == nil {
		list = append(list, "output_dtype", typeNumber(codes))
	}
	operands := func(x *tensor.Tensor) []*tensor.Tensor {
		if q.zero == nil {
			return in(x, q.scale)
		}
		return in(x, q.scale, q.zero)
	}
	s.add(Case{Op: "QuantizeLinear", Version: version, Attrs: attrs(list...), In: operands(x), Want: want(quantized(x, q, codes, q.scale.DType()))})
	y := s.codesOf(codes, shape...)
	s.add(Case{Op: "DequantizeLinear", Version: version, Attrs: back, In: operands(y), Want: want(dequantized(y, q, q.scale.DType()))})
	ms := d != tensor.BF16 && d != tensor.I32 && d == q.scale.DType() && codes.IsInteger() && codes.Bits() > 2 && q.block == 0 && q.zero != nil
	if ms {
		s.add(Case{Domain: microsoft, Op: "QuantizeLinear", Version: 1, Attrs: attrs(list...), In: operands(x), Want: want(quantized(x, q, codes, tensor.F32))})
		s.add(Case{Domain: microsoft, Op: "DequantizeLinear", Version: 1, Attrs: back, In: operands(y), Want: want(dequantized(y, q, d))})
	}
}

// typeNumber is the number that ONNX gives an element type.
func typeNumber(d tensor.DType) int { return codes[d] }

// dequantizeInts takes back sums, which are int32.
func dequantizeInts(s *suite) {
	x := s.between(tensor.I32, -5e8, 5e8, 4, 9)
	one := scaling{scale: scalar(tensor.F32, 0.001)}
	s.add(Case{Op: "DequantizeLinear", Version: 10, In: in(x, one.scale), Want: want(dequantized(x, &one, tensor.F32))})
	axis := scaling{axis: 1, scale: s.between(tensor.F32, 0.1, 1, 9), zero: s.between(tensor.I32, -9, 9, 9)}
	s.add(Case{Op: "DequantizeLinear", Version: 13, In: in(x, axis.scale, axis.zero), Want: want(dequantized(x, &axis, tensor.F32))})
	s.add(Case{Domain: microsoft, Op: "DequantizeLinear", Version: 1, In: in(x, axis.scale, axis.zero), Want: want(dequantized(x, &axis, tensor.F32))})
	whole := scaling{scale: scalar(tensor.I32, 3)}
	s.add(Case{Op: "QuantizeLinear", Version: 23, Note: "whole scale", In: in(x, whole.scale), Want: want(quantized(x, &whole, tensor.U8, tensor.F32))})
}

// quantizeExtremes is what lies between codes, beyond them, and no number.
func quantizeExtremes(s *suite) {
	inf := math.Inf(1)
	x := vector(tensor.F32, 0.5, 1.5, 2.5, -0.5, -1.5, inf, -inf, math.NaN(), 1e30, -1e30, 254.5, 255.5, 127.5, -128.5, 0)
	for _, d := range wholeCodes {
		q := scaling{scale: scalar(tensor.F32, 1), zero: tensor.New(d)}
		s.add(Case{Op: "QuantizeLinear", Version: firstWith(d), In: in(x, q.scale, q.zero), Want: want(quantized(x, &q, d, tensor.F32))})
	}
	s.add(Case{Op: "QuantizeLinear", Version: 19, Note: "not saturated", Attrs: attrs("saturate", 0),
		In: in(vector(tensor.F32, 1e6, -1e6, inf, 1), scalar(tensor.F32, 1), coded(tensor.F8E4M3FN, []int{0})), Want: want(coded(tensor.F8E4M3FN, []int{0x7f, 0xff, 0x7f, 0x38}))})
	empty, scale := tensor.New(tensor.F32, 3, 0), scalar(tensor.F32, 1)
	s.add(Case{Op: "QuantizeLinear", Version: 10, Note: "empty", In: in(empty, scale), Want: want(tensor.New(tensor.U8, 3, 0))})
	s.add(Case{Op: "DequantizeLinear", Version: 10, Note: "empty", In: in(tensor.New(tensor.I8, 0, 2), scale), Want: want(tensor.New(tensor.F32, 0, 2))})
	large := s.between(tensor.F32, -3, 3, 3, 20011)
	q := scaling{axis: 1, scale: s.between(tensor.F32, 0.01, 0.02, 20011), zero: s.codesOf(tensor.U8, 20011)}
	s.add(Case{Op: "QuantizeLinear", Version: 13, Note: "large", In: in(large, q.scale, q.zero), Want: want(quantized(large, &q, tensor.U8, tensor.F32))})
	codes := s.codesOf(tensor.I4, 3, 20011)
	q = scaling{axis: 1, block: 32, scale: s.between(tensor.F32, 0.01, 0.02, 3, 626)}
	s.add(Case{Op: "DequantizeLinear", Version: 21, Note: "large", Attrs: attrs("block_size", 32), In: in(codes, q.scale), Want: want(dequantized(codes, &q, tensor.F32))})
}

func quantizeFails(s *suite) {
	x, one := s.any(tensor.F32, 4, 6), scalar(tensor.F32, 1)
	fails := func(kind error, version int, note string, list []*graph.Attr, in ...*tensor.Tensor) {
		s.add(Case{Op: "QuantizeLinear", Version: version, Note: note, Attrs: list, In: in, Fails: kind})
	}
	fails(graph.ErrShape, 13, "too many scales", nil, x, s.any(tensor.F32, 4))
	fails(graph.ErrShape, 13, "too many zero points", nil, x, one, s.codesOf(tensor.U8, 6))
	fails(graph.ErrShape, 13, "no such axis", attrs("axis", 2), x, s.any(tensor.F32, 4))
	s.add(Case{Op: "QuantizeLinear", Version: 10, Until: 13, Note: "scales along an axis", In: in(x, s.any(tensor.F32, 6)), Fails: graph.ErrShape})
	fails(graph.ErrShape, 21, "blocks of another size", attrs("axis", 1, "block_size", 4), x, s.any(tensor.F32, 4, 3))
	fails(graph.ErrFormat, 21, "negative blocks", attrs("block_size", -1), x, one)
	fails(graph.ErrFormat, 21, "types that differ", attrs("output_dtype", 3), x, one, tensor.New(tensor.U8))
	fails(graph.ErrUnsupported, 21, "no codes", attrs("output_dtype", 1), x, one)
	fails(graph.ErrFormat, 10, "zero point of no codes", nil, x, one, one)
	fails(graph.ErrUnsupported, 10, "scale of doubles", nil, x, scalar(tensor.F64, 1))
	y := s.codesOf(tensor.U8, 4, 6)
	s.add(Case{Op: "DequantizeLinear", Version: 13, Note: "too many scales", In: in(y, s.any(tensor.F32, 4)), Fails: graph.ErrShape})
	s.add(Case{Op: "DequantizeLinear", Version: 10, Note: "zero point of another type", In: in(y, one, tensor.New(tensor.I8)), Fails: graph.ErrShape})
	s.add(Case{Op: "DequantizeLinear", Version: 24, Note: "no type for results", In: in(y, coded(tensor.F8E8M0, []int{127})), Fails: graph.ErrUnsupported})
}

func dynamicQuantizeCases(s *suite) {
	for _, list := range [][]float64{{0, 2, -3, -2.5, 1.34, 0.5}, {-1, -2.1, -1.3, -2.5}, {1, 2.1, 1.3, 2.5}, {0, 0}, {}, {7}} {
		dynamicQuantizeCase(s, vector(tensor.F32, list...))
	}
	dynamicQuantizeCase(s, s.between(tensor.F32, -3, 5, 7, 20003))
}

func dynamicQuantizeCase(s *suite, x *tensor.Tensor) {
	y, scale, zero := tensor.New(tensor.U8, x.Shape()...), tensor.New(tensor.F32), tensor.New(tensor.U8)
	step, z := dynamicScale(x)
	setNumber(scale, 0, float64(step))
	setNumber(zero, 0, z)
	for i, v := range numbers(x) {
		putCode(y, i, math.RoundToEven(float64(float32(v)/step))+z)
	}
	s.add(Case{Op: "DynamicQuantizeLinear", Version: 11, In: in(x), Want: want(y, scale, zero)})
	s.add(Case{Op: "DynamicQuantizeLinear", Version: 11, Note: "no codes", In: in(x), Want: want(nil, scale, zero)})
}

// dynamicScale is the scale and the zero point of codes without sign for x and 0.
func dynamicScale(x *tensor.Tensor) (scale float32, zero float64) {
	low, high := float32(0), float32(0)
	for _, v := range numbers(x) {
		low, high = min(low, float32(v)), max(high, float32(v))
	}
	scale = (high - low) / 255
	if high == low {
		scale = 1 / float32(255)
	}
	return scale, math.RoundToEven(float64(min(max(-low/scale, 0), 255)))
}
