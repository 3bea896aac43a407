package quant

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/internal/optest/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// byteValue is a quantised value with one scale. The scale is a power of two, so the order of
// products does not matter.
type byteValue struct {
	codes, scale, zero *tensor.Tensor
}

func newByteValue(s *cases.Suite, d tensor.DType, shape ...int) byteValue {
	return byteValue{codesOf(s, d, shape...), cases.Scalar(tensor.F32, math.Ldexp(1, -s.IntN(4))), codesOf(s, d)}
}

// operands returns the value as inputs of an operator.
func (v byteValue) operands() []*tensor.Tensor { return cases.In(v.codes, v.scale, v.zero) }

// meant returns the numbers that the codes stand for.
func (v byteValue) meant() *tensor.Tensor {
	return cases.Broadcasted(tensor.F64, func(x []float64) float64 { return (x[0] - x[2]) * x[1] }, v.codes, v.scale,
		v.zero)
}

// coded quantises numbers with the scale and the zero point of v. If before is set, it adds the
// zero point before it rounds.
func (v byteValue) coded(x *tensor.Tensor, before bool) *tensor.Tensor {
	y := tensor.New(v.zero.DType(), x.Shape()...)
	scale, zero := cases.Number(v.scale, 0), cases.Number(v.zero, 0)
	for i, n := range cases.Numbers(x) {
		if before {
			putCode(y, i, math.RoundToEven(n/scale+zero))
		} else {
			putCode(y, i, math.RoundToEven(n/scale)+zero)
		}
	}
	return y
}

// byteCases adds ONNX Runtime's operators from codes to codes.
func byteCases(s *cases.Suite) {
	for _, d := range byteCodes {
		pairCases(s, d)
		unaryCases(s, d)
		softmaxCases(s, d)
		joinCases(s, d)
		for _, c := range nn.Windows() {
			poolCases(s, d, c.In, c.W)
		}
		poolCases(s, d, []int{6, 19}, nn.Window{Kernel: []int{3, 2}, Stride: []int{2, 3}, Dilation: []int{1, 1},
			Before: []int{1, 0}, After: []int{0, 1}, Ceil: true})
		poolCases(s, d, []int{9, 41}, nn.Window{Kernel: []int{3, 3}, Stride: []int{1, 1}, Dilation: []int{1, 1},
			Before: []int{1, 1}, After: []int{1, 1}})
	}
	byteFails(s)
}

func pairCases(s *cases.Suite, d tensor.DType) {
	for _, shapes := range slices.Concat(cases.ShapePairs, [][2][]int{{{3, 700}, {700}}, {{40000}, {}}}) {
		a, b, y := newByteValue(s, d, shapes[0]...), newByteValue(s, d, shapes[1]...), newByteValue(s, d)
		list := slices.Concat(a.operands(), b.operands(), cases.In(y.scale, y.zero))
		add := func(op string, f func(x []float64) float64) {
			s.Add(cases.Case{Domain: cases.Microsoft, Op: op, Version: 1, In: list,
				Want: cases.Want(y.coded(cases.Broadcasted(tensor.F64, f, a.meant(), b.meant()), true))})
		}
		add("QLinearAdd", func(x []float64) float64 { return x[0] + x[1] })
		add("QLinearMul", func(x []float64) float64 { return x[0] * x[1] })
		a.zero, b.zero, y.zero = nil, nil, tensor.New(d)
		sum := cases.Broadcasted(tensor.F64, func(x []float64) float64 { return x[0]*x[1] + x[2]*x[3] }, a.codes, a.scale,
			b.codes, b.scale)
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "QLinearAdd", Version: 1, Note: "no zero points", Want: cases.Want(y.coded(sum, true)),
			In: slices.Concat(a.operands(), b.operands(), cases.In(y.scale))})
	}
}

func unaryCases(s *cases.Suite, d tensor.DType) {
	for _, shape := range [][]int{{256}, {3, 5, 7}, {0, 3}, {}, {70001}} {
		x, y := newByteValue(s, d, shape...), newByteValue(s, d)
		list := append(x.operands(), y.scale, y.zero)
		leaky := cases.Broadcasted(tensor.F64, func(x []float64) float64 { return max(x[0], 0) + 0.25*min(x[0], 0) },
			x.meant())
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "QLinearLeakyRelu", Version: 1, Attrs: cases.Attrs("alpha", 0.25),
			In: list, Want: cases.Want(y.coded(leaky, false))})
		sigmoid := cases.Broadcasted(tensor.F64,
			func(x []float64) float64 { return float64(float32(1 / (1 + math.Exp(-x[0])))) }, x.meant())
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "QLinearSigmoid", Version: 1, In: list,
			Want: cases.Want(y.coded(sigmoid, false))})
	}
}

func softmaxCases(s *cases.Suite, d tensor.DType) {
	for _, c := range []struct {
		shape       []int
		axis, opset int
		group       func(at []int) []int // equal for elements that are normalised together
	}{
		{[]int{3, 17}, -1, 13, func(at []int) []int { return at[:1] }},
		{[]int{2, 300}, 1, 13, func(at []int) []int { return at[:1] }},
		{[]int{2, 5, 3}, 1, 13, func(at []int) []int { return []int{at[0], at[2]} }},
		{[]int{2, 5, 3}, 1, 11, func(at []int) []int { return at[:1] }},
		{[]int{2, 5, 3}, -1, 12, func(at []int) []int { return at[:2] }},
	} {
		x, y := newByteValue(s, d, c.shape...), newByteValue(s, d)
		x.scale, y.scale = cases.Scalar(tensor.F32, 0.0625), cases.Scalar(tensor.F32, 0.00390625)
		sums, codes := map[string]float64{}, x.meant()
		key := func(at []int) string {
			return cases.Ints(c.group(at)...).String() + string(cases.Ints(c.group(at)...).Bytes())
		}
		cases.Each(codes.Shape(), func(i int, at []int) { sums[key(at)] += math.Exp(cases.Number(codes, i)) })
		shares := tensor.New(tensor.F64, c.shape...)
		cases.Each(codes.Shape(), func(i int,
			at []int) {
			cases.SetNumber(shares, i, math.Exp(cases.Number(codes, i))/sums[key(at)])
		})
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "QLinearSoftmax", Version: 1, Attrs: cases.Attrs("opset", c.opset, "axis", c.axis),
			In: append(x.operands(), y.scale, y.zero), Want: cases.Want(y.coded(shares, false))})
	}
}

func joinCases(s *cases.Suite, d tensor.DType) {
	y := newByteValue(s, d)
	parts := []byteValue{newByteValue(s, d, 2, 3, 5), newByteValue(s, d, 2, 70, 5), newByteValue(s, d, 2, 0, 5)}
	parts[0].scale, parts[0].zero = y.scale, y.zero
	list := cases.In(y.scale, y.zero)
	for _, p := range parts {
		list = append(list, p.operands()...)
	}
	joined := tensor.New(tensor.F64, 2, 73, 5)
	cases.Each(joined.Shape(), func(i int, at []int) {
		p, k := parts[0].meant(), at[1]
		if k >= 3 {
			p, k = parts[1].meant(), k-3
		}
		cases.SetNumber(joined, i, cases.Number(p, cases.Flat(p.Shape(), at[0], k, at[2])))
	})
	for _, axis := range []int{1, -2} {
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "QLinearConcat", Version: 1, Attrs: cases.Attrs("axis", axis),
			In: list, Want: cases.Want(y.coded(joined, false))})
	}
	for _, shapes := range cases.ShapePairs {
		cond, a, b := s.Any(tensor.Bool, shapes[0]...), newByteValue(s, d, shapes[1]...), newByteValue(s, d, shapes[0]...)
		b.scale, b.zero = y.scale, y.zero
		picked := cases.Broadcasted(tensor.F64, func(x []float64) float64 { return x[0]*x[1] + (1-x[0])*x[2] },
			chosen(cond), a.meant(), b.meant())
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "QLinearWhere", Version: 1, Want: cases.Want(y.coded(picked, false)),
			In: slices.Concat(cases.In(cond), a.operands(), b.operands(), cases.In(y.scale, y.zero))})
	}
}

// chosen returns 1 where a condition is true, otherwise 0.
func chosen(cond *tensor.Tensor) *tensor.Tensor {
	t := tensor.New(tensor.F64, cond.Shape()...)
	for i, b := range cond.Bytes() {
		cases.SetNumber(t, i, float64(b))
	}
	return t
}

func poolCases(s *cases.Suite, d tensor.DType, space []int, w nn.Window) {
	x, y := newByteValue(s, d, slices.Concat([]int{2, 3}, space)...), newByteValue(s, d)
	last := slices.Clone(x.operands())
	last[0] = behindChannels(x.codes)
	if slices.Max(w.Dilation) == 1 {
		size := 1.0
		for _, k := range w.Kernel {
			size *= float64(k)
		}
		for pads, f := range []func([]float64, int) float64{nn.Mean,
			func(list []float64, _ int) float64 { return cases.Total(list) / size }} {
			codes := y.coded(nn.Pooled(x.meant(), w, f), !slices.Equal(space, w.Kernel))
			s.Add(cases.Case{Domain: cases.Microsoft, Op: "QLinearAveragePool", Version: 1, Attrs: w.Attrs("count_include_pad", pads),
				In: append(x.operands(), y.scale, y.zero), Want: cases.Want(codes)})
			s.Add(cases.Case{Domain: cases.Microsoft, Op: "QLinearAveragePool", Version: 1, Attrs: w.Attrs("count_include_pad", pads, "channels_last", 1),
				In: append(slices.Clone(last), y.scale, y.zero), Want: cases.Want(behindChannels(codes))})
		}
	}
	codes := y.coded(nn.Pooled(x.meant(), nn.Plain(space...), nn.Mean), false)
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "QLinearGlobalAveragePool", Version: 1,
		In: append(x.operands(), y.scale, y.zero), Want: cases.Want(codes)})
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "QLinearGlobalAveragePool", Version: 1, Attrs: cases.Attrs("channels_last", 1),
		In: append(slices.Clone(last), y.scale, y.zero), Want: cases.Want(behindChannels(codes))})
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "NhwcMaxPool", Version: 1, Attrs: w.Attrs(), In: cases.In(last[0]),
		Want: cases.Want(behindChannels(nn.Pooled(x.codes, w, nn.Largest)))})
}

func byteFails(s *cases.Suite) {
	a, b, half := newByteValue(s, tensor.U8, 2, 3), newByteValue(s, tensor.I8, 2, 3), cases.Scalar(tensor.F32, 0.5)
	many := cases.Vector(tensor.F32, 1, 2)
	fails := func(kind error, op, note string, list []*graph.Attr, in ...*tensor.Tensor) {
		s.Add(cases.Case{Domain: cases.Microsoft, Op: op, Version: 1, Note: note, Attrs: list, In: in, Fails: kind})
	}
	fails(graph.ErrShape, "QLinearAdd", "codes of two types", nil,
		slices.Concat(a.operands(), b.operands(), cases.In(half))...)
	fails(graph.ErrShape, "QLinearMul", "shapes apart", nil,
		slices.Concat(a.operands(), newByteValue(s, tensor.U8, 4).operands(), cases.In(half))...)
	fails(graph.ErrFormat, "QLinearMul", "no scale", nil, a.codes, a.scale)
	fails(graph.ErrShape, "QLinearAdd", "two scales", nil,
		slices.Concat(cases.In(a.codes, many, nil), a.operands(), cases.In(half))...)
	fails(graph.ErrShape, "QLinearSigmoid", "a zero point of another type", nil, a.codes, a.scale, b.zero, half)
	fails(graph.ErrFormat, "QLinearLeakyRelu", "no scale of the result", nil, a.codes, a.scale)
	fails(graph.ErrFormat, "QLinearSoftmax", "no version", nil, a.codes, a.scale, a.zero, half)
	fails(graph.ErrShape, "QLinearSoftmax", "no such axis", cases.Attrs("opset", 13, "axis", 2), a.codes, a.scale,
		a.zero, half)
	fails(graph.ErrFormat, "QLinearConcat", "part of a value", cases.Attrs("axis", 0), a.scale, a.zero, a.codes, a.scale,
		a.zero, a.codes)
	fails(graph.ErrFormat, "QLinearConcat", "no axis", nil, a.scale, a.zero, a.codes, a.scale, a.zero)
	fails(graph.ErrShape, "QLinearConcat", "shapes apart", cases.Attrs("axis", 0),
		slices.Concat(cases.In(a.scale, a.zero), a.operands(), newByteValue(s, tensor.U8, 2, 2).operands())...)
	fails(graph.ErrShape, "QLinearWhere", "codes of two types", nil,
		slices.Concat(cases.In(tensor.New(tensor.Bool)), a.operands(), b.operands(), cases.In(half, a.zero))...)
	fails(graph.ErrShape, "QLinearWhere", "no condition", nil,
		slices.Concat(cases.In(a.codes), a.operands(), a.operands(), cases.In(half, a.zero))...)
	fails(graph.ErrShape, "QLinearAveragePool", "no space", cases.Attrs("kernel_shape", []int{1}), a.codes, a.scale,
		a.zero, half)
	fails(graph.ErrShape, "QLinearGlobalAveragePool", "no space", nil, a.codes, a.scale, a.zero, half)
	fails(graph.ErrShape, "NhwcMaxPool", "a window of other axes", cases.Attrs("kernel_shape", []int{1}),
		tensor.New(tensor.U8, 1, 2, 3, 1))
}
