package optest

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// byteValue is a quantised value of which all codes have one scale, a power of two so
// that the order of products does not matter.
type byteValue struct {
	codes, scale, zero *tensor.Tensor
}

func (s *suite) byteValue(d tensor.DType, shape ...int) byteValue {
	return byteValue{s.codesOf(d, shape...), scalar(tensor.F32, math.Ldexp(1, -s.IntN(4))), s.codesOf(d)}
}

// operands are the value as inputs of an operator.
func (v byteValue) operands() []*tensor.Tensor { return in(v.codes, v.scale, v.zero) }

// meant is the numbers that the codes stand for.
func (v byteValue) meant() *tensor.Tensor {
	return broadcasted(tensor.F64, func(x []float64) float64 { return (x[0] - x[2]) * x[1] }, v.codes, v.scale, v.zero)
}

// coded is numbers as codes with the scale and the zero point of v. The zero point goes
// in before the rounding if `before` says so.
func (v byteValue) coded(x *tensor.Tensor, before bool) *tensor.Tensor {
	y := tensor.New(v.zero.DType(), x.Shape()...)
	scale, zero := number(v.scale, 0), number(v.zero, 0)
	for i, n := range numbers(x) {
		if before {
			putCode(y, i, math.RoundToEven(n/scale+zero))
		} else {
			putCode(y, i, math.RoundToEven(n/scale)+zero)
		}
	}
	return y
}

// quantByteCases are the operators of ONNX Runtime from codes to codes.
func quantByteCases(s *suite) {
	for _, d := range byteCodes {
		quantPairCases(s, d)
		quantUnaryCases(s, d)
		quantSoftmaxCases(s, d)
		quantJoinCases(s, d)
		for _, c := range windows() {
			quantPoolCases(s, d, c.in, c.w)
		}
		quantPoolCases(s, d, []int{6, 19}, window{[]int{3, 2}, []int{2, 3}, []int{1, 1}, []int{1, 0}, []int{0, 1}, "", true})
		quantPoolCases(s, d, []int{9, 41}, window{[]int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}, []int{1, 1}, "", false})
	}
	quantByteFails(s)
}

func quantPairCases(s *suite, d tensor.DType) {
	for _, shapes := range slices.Concat(shapePairs, [][2][]int{{{3, 700}, {700}}, {{40000}, {}}}) {
		a, b, y := s.byteValue(d, shapes[0]...), s.byteValue(d, shapes[1]...), s.byteValue(d)
		list := slices.Concat(a.operands(), b.operands(), in(y.scale, y.zero))
		add := func(op string, f func(x []float64) float64) {
			s.add(Case{Domain: microsoft, Op: op, Version: 1, In: list, Want: want(y.coded(broadcasted(tensor.F64, f, a.meant(), b.meant()), true))})
		}
		add("QLinearAdd", func(x []float64) float64 { return x[0] + x[1] })
		add("QLinearMul", func(x []float64) float64 { return x[0] * x[1] })
		a.zero, b.zero, y.zero = nil, nil, tensor.New(d)
		sum := broadcasted(tensor.F64, func(x []float64) float64 { return x[0]*x[1] + x[2]*x[3] }, a.codes, a.scale, b.codes, b.scale)
		s.add(Case{Domain: microsoft, Op: "QLinearAdd", Version: 1, Note: "no zero points", Want: want(y.coded(sum, true)),
			In: slices.Concat(a.operands(), b.operands(), in(y.scale))})
	}
}

func quantUnaryCases(s *suite, d tensor.DType) {
	for _, shape := range [][]int{{256}, {3, 5, 7}, {0, 3}, {}, {70001}} {
		x, y := s.byteValue(d, shape...), s.byteValue(d)
		list := append(x.operands(), y.scale, y.zero)
		leaky := broadcasted(tensor.F64, func(x []float64) float64 { return max(x[0], 0) + 0.25*min(x[0], 0) }, x.meant())
		s.add(Case{Domain: microsoft, Op: "QLinearLeakyRelu", Version: 1, Attrs: attrs("alpha", 0.25), In: list, Want: want(y.coded(leaky, false))})
		sigmoid := broadcasted(tensor.F64, func(x []float64) float64 { return float64(float32(1 / (1 + math.Exp(-x[0])))) }, x.meant())
		s.add(Case{Domain: microsoft, Op: "QLinearSigmoid", Version: 1, In: list, Want: want(y.coded(sigmoid, false))})
	}
}

func quantSoftmaxCases(s *suite, d tensor.DType) {
	for _, c := range []struct {
		shape       []int
		axis, opset int
		group       func(at []int) []int // the same for elements that are normalised together
	}{
		{[]int{3, 17}, -1, 13, func(at []int) []int { return at[:1] }},
		{[]int{2, 300}, 1, 13, func(at []int) []int { return at[:1] }},
		{[]int{2, 5, 3}, 1, 13, func(at []int) []int { return []int{at[0], at[2]} }},
		{[]int{2, 5, 3}, 1, 11, func(at []int) []int { return at[:1] }},
		{[]int{2, 5, 3}, -1, 12, func(at []int) []int { return at[:2] }},
	} {
		x, y := s.byteValue(d, c.shape...), s.byteValue(d)
		x.scale, y.scale = scalar(tensor.F32, 0.0625), scalar(tensor.F32, 0.00390625)
		sums, codes := map[string]float64{}, x.meant()
		key := func(at []int) string { return ints(c.group(at)...).String() + string(ints(c.group(at)...).Bytes()) }
		each(codes.Shape(), func(i int, at []int) { sums[key(at)] += math.Exp(number(codes, i)) })
		shares := tensor.New(tensor.F64, c.shape...)
		each(codes.Shape(), func(i int, at []int) { setNumber(shares, i, math.Exp(number(codes, i))/sums[key(at)]) })
		s.add(Case{Domain: microsoft, Op: "QLinearSoftmax", Version: 1, Attrs: attrs("opset", c.opset, "axis", c.axis),
			In: append(x.operands(), y.scale, y.zero), Want: want(y.coded(shares, false))})
	}
}

func quantJoinCases(s *suite, d tensor.DType) {
	y := s.byteValue(d)
	parts := []byteValue{s.byteValue(d, 2, 3, 5), s.byteValue(d, 2, 70, 5), s.byteValue(d, 2, 0, 5)}
	parts[0].scale, parts[0].zero = y.scale, y.zero
	list := in(y.scale, y.zero)
	for _, p := range parts {
		list = append(list, p.operands()...)
	}
	joined := tensor.New(tensor.F64, 2, 73, 5)
	each(joined.Shape(), func(i int, at []int) {
		p, k := parts[0].meant(), at[1]
		if k >= 3 {
			p, k = parts[1].meant(), k-3
		}
		setNumber(joined, i, number(p, flat(p.Shape(), at[0], k, at[2])))
	})
	for _, axis := range []int{1, -2} {
		s.add(Case{Domain: microsoft, Op: "QLinearConcat", Version: 1, Attrs: attrs("axis", axis), In: list, Want: want(y.coded(joined, false))})
	}
	for _, shapes := range shapePairs {
		cond, a, b := s.any(tensor.Bool, shapes[0]...), s.byteValue(d, shapes[1]...), s.byteValue(d, shapes[0]...)
		b.scale, b.zero = y.scale, y.zero
		picked := broadcasted(tensor.F64, func(x []float64) float64 { return x[0]*x[1] + (1-x[0])*x[2] }, chosen(cond), a.meant(), b.meant())
		s.add(Case{Domain: microsoft, Op: "QLinearWhere", Version: 1, Want: want(y.coded(picked, false)),
			In: slices.Concat(in(cond), a.operands(), b.operands(), in(y.scale, y.zero))})
	}
}

// chosen is 1 where a condition holds and 0 elsewhere.
func chosen(cond *tensor.Tensor) *tensor.Tensor {
	t := tensor.New(tensor.F64, cond.Shape()...)
	for i, b := range cond.Bytes() {
		setNumber(t, i, float64(b))
	}
	return t
}

func quantPoolCases(s *suite, d tensor.DType, space []int, w window) {
	x, y := s.byteValue(d, slices.Concat([]int{2, 3}, space)...), s.byteValue(d)
	last := slices.Clone(x.operands())
	last[0] = behindChannels(x.codes)
	if slices.Max(w.dilation) == 1 {
		size := 1.0
		for _, k := range w.kernel {
			size *= float64(k)
		}
		for pads, f := range []func([]float64, int) float64{mean, func(list []float64, _ int) float64 { return total(list) / size }} {
			codes := y.coded(pooled(x.meant(), w, f), !slices.Equal(space, w.kernel))
			s.add(Case{Domain: microsoft, Op: "QLinearAveragePool", Version: 1, Attrs: w.attrs("count_include_pad", pads),
				In: append(x.operands(), y.scale, y.zero), Want: want(codes)})
			s.add(Case{Domain: microsoft, Op: "QLinearAveragePool", Version: 1, Attrs: w.attrs("count_include_pad", pads, "channels_last", 1),
				In: append(slices.Clone(last), y.scale, y.zero), Want: want(behindChannels(codes))})
		}
	}
	codes := y.coded(pooled(x.meant(), plain(space...), mean), false)
	s.add(Case{Domain: microsoft, Op: "QLinearGlobalAveragePool", Version: 1, In: append(x.operands(), y.scale, y.zero), Want: want(codes)})
	s.add(Case{Domain: microsoft, Op: "QLinearGlobalAveragePool", Version: 1, Attrs: attrs("channels_last", 1),
		In: append(slices.Clone(last), y.scale, y.zero), Want: want(behindChannels(codes))})
	s.add(Case{Domain: microsoft, Op: "NhwcMaxPool", Version: 1, Attrs: w.attrs(), In: in(last[0]), Want: want(behindChannels(pooled(x.codes, w, largest)))})
}

func quantByteFails(s *suite) {
	a, b, half := s.byteValue(tensor.U8, 2, 3), s.byteValue(tensor.I8, 2, 3), scalar(tensor.F32, 0.5)
	many := vector(tensor.F32, 1, 2)
	fails := func(kind error, op, note string, list []*graph.Attr, in ...*tensor.Tensor) {
		s.add(Case{Domain: microsoft, Op: op, Version: 1, Note: note, Attrs: list, In: in, Fails: kind})
	}
	fails(graph.ErrShape, "QLinearAdd", "codes of two types", nil, slices.Concat(a.operands(), b.operands(), in(half))...)
	fails(graph.ErrShape, "QLinearMul", "shapes apart", nil, slices.Concat(a.operands(), s.byteValue(tensor.U8, 4).operands(), in(half))...)
	fails(graph.ErrFormat, "QLinearMul", "no scale", nil, a.codes, a.scale)
	fails(graph.ErrShape, "QLinearAdd", "two scales", nil, slices.Concat(in(a.codes, many, nil), a.operands(), in(half))...)
	fails(graph.ErrShape, "QLinearSigmoid", "a zero point of another type", nil, a.codes, a.scale, b.zero, half)
	fails(graph.ErrFormat, "QLinearLeakyRelu", "no scale of the result", nil, a.codes, a.scale)
	fails(graph.ErrFormat, "QLinearSoftmax", "no version", nil, a.codes, a.scale, a.zero, half)
	fails(graph.ErrShape, "QLinearSoftmax", "no such axis", attrs("opset", 13, "axis", 2), a.codes, a.scale, a.zero, half)
	fails(graph.ErrFormat, "QLinearConcat", "part of a value", attrs("axis", 0), a.scale, a.zero, a.codes, a.scale, a.zero, a.codes)
	fails(graph.ErrFormat, "QLinearConcat", "no axis", nil, a.scale, a.zero, a.codes, a.scale, a.zero)
	fails(graph.ErrShape, "QLinearConcat", "shapes apart", attrs("axis", 0), slices.Concat(in(a.scale, a.zero), a.operands(), s.byteValue(tensor.U8, 2, 2).operands())...)
	fails(graph.ErrShape, "QLinearWhere", "codes of two types", nil, slices.Concat(in(tensor.New(tensor.Bool)), a.operands(), b.operands(), in(half, a.zero))...)
	fails(graph.ErrShape, "QLinearWhere", "no condition", nil, slices.Concat(in(a.codes), a.operands(), a.operands(), in(half, a.zero))...)
	fails(graph.ErrShape, "QLinearAveragePool", "no space", attrs("kernel_shape", []int{1}), a.codes, a.scale, a.zero, half)
	fails(graph.ErrShape, "QLinearGlobalAveragePool", "no space", nil, a.codes, a.scale, a.zero, half)
	fails(graph.ErrShape, "NhwcMaxPool", "a window of other axes", attrs("kernel_shape", []int{1}), tensor.New(tensor.U8, 1, 2, 3, 1))
}
