package quant

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/arith"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/internal/optest/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// operand is an operand of a product of codes. scale and zero are one number, one per row or
// column, or an array that broadcasts. They are nil if left out.
type operand struct {
	t, scale, zero *tensor.Tensor
	left           bool
}

// lane returns the element of scale or zero point p for the operand's element at an index.
func (o *operand) lane(p *tensor.Tensor, at []int) float64 {
	switch n := len(at); {
	case p.Len() == 1:
		return meaning(p, 0)
	case len(p.Shape()) > 1:
		return meaning(p, cases.Flat(p.Shape(), cases.BroadcastIndex(p.Shape(), at)...))
	case o.left:
		return meaning(p, at[n-2])
	default:
		return meaning(p, at[n-1])
	}
}

// shifted returns the codes less their zero points, as float64.
func (o *operand) shifted() *tensor.Tensor {
	y := tensor.New(tensor.F64, o.t.Shape()...)
	cases.Each(o.t.Shape(), func(i int, at []int) {
		v := meaning(o.t, i)
		if o.zero != nil {
			v -= o.lane(o.zero, at)
		}
		cases.SetNumber(y, i, v)
	})
	return y
}

// scaled returns shifted times the scales.
func (o *operand) scaled() *tensor.Tensor {
	y := o.shifted()
	cases.Each(o.t.Shape(), func(i int, at []int) { cases.SetNumber(y, i, cases.Number(y, i)*o.lane(o.scale, at)) })
	return y
}

// shapes lists the shapes of the operands of products.
func shapes() [][2][]int {
	return [][2][]int{{{3, 4}, {4, 5}}, {{1, 70}, {70, 33}}, {{2, 3, 5, 7}, {7, 9}}, {{4, 9}, {3, 9, 2}}, {{2, 1, 5, 6}, {3, 6, 40}},
		{{7}, {7, 3}}, {{5, 7}, {7}}, {{7}, {7}}, {{2, 4, 17}, {2, 17, 1}}, {{17, 21}, {21, 67}}, {{3, 0}, {0, 4}}, {{0, 3}, {3, 4}}}
}

// parametersOf lists the shapes that scales and zero points of an operand may have.
func parametersOf(shape []int, axis int) [][]int {
	list := [][]int{{}, {1}}
	n := len(shape)
	if n < 2 {
		return list
	}
	all := slices.Clone(shape)
	all[n-1], all[n-2] = 1, 1
	all[n+axis] = shape[n+axis]
	return append(list, []int{shape[n+axis]}, all)
}

func productCases(s *cases.Suite) {
	for _, shapes := range shapes() {
		for _, types := range [][2]tensor.DType{{tensor.U8, tensor.I8}, {tensor.U8, tensor.U8}, {tensor.I8, tensor.I8},
			{tensor.I8, tensor.U8}} {
			a, b := codesOf(s, types[0], shapes[0]...), codesOf(s, types[1], shapes[1]...)
			s.Add(cases.Case{Op: "MatMulInteger", Version: 10, In: cases.In(a, b),
				Want: cases.Want(integerProduct(a, nil, b, nil))})
			for _, left := range parametersOf(shapes[0], -2) {
				for _, right := range parametersOf(shapes[1], -1) {
					az, bz := codesOf(s, types[0], left...), codesOf(s, types[1], right...)
					s.Add(cases.Case{Op: "MatMulInteger", Version: 10, In: cases.In(a, b, az, bz),
						Want: cases.Want(integerProduct(a, az, b, bz))})
					qLinearCase(s, tensor.F32, byteCodes[s.IntN(2)], a, az, b, bz)
				}
			}
			b0 := codesOf(s, types[1])
			s.Add(cases.Case{Op: "MatMulInteger", Version: 10, Note: "one zero point", In: cases.In(a, b, nil, b0),
				Want: cases.Want(integerProduct(a, nil, b, b0))})
		}
	}
	for _, d := range []tensor.DType{tensor.F16, tensor.BF16} {
		qLinearCase(s, d, tensor.U8, codesOf(s, tensor.U8, 5, 7), codesOf(s, tensor.U8), codesOf(s, tensor.I8, 7, 9),
			codesOf(s, tensor.I8))
	}
	for i, d := range smallCodes[:4] {
		other := slices.Concat(byteCodes, smallCodes)[i]
		small := zeroPoints(s, d, 9)
		qLinearCase(s, tensor.F32, d, codesOf(s, d, 2, 5, 7), zeroPoints(s, d), codesOf(s, other, 7, 9), zeroPoints(s, other))
		qLinearCase(s, tensor.F32, other, codesOf(s, other, 5, 7), zeroPoints(s, other, 5), codesOf(s, d, 3, 7, 9), small)
		qLinearCase(s, tensor.F32, d, codesOf(s, tensor.U8, 5, 7), zeroPoints(s, tensor.U8), codesOf(s, tensor.I8, 7, 9),
			zeroPoints(s, tensor.I8))
	}
	productFails(s)
}

// integerProduct is MatMulInteger by its definition. Its sums are below 2^53.
func integerProduct(a, az, b, bz *tensor.Tensor) *tensor.Tensor {
	left, right := operand{t: a, zero: az, left: true}, operand{t: b, zero: bz}
	sums := arith.Product(tensor.F64, left.shifted(), right.shifted())
	return cases.FromNumbers(tensor.I32, cases.Numbers(sums), sums.Shape()...)
}

// qLinearCase multiplies codes. Scales have the shapes of the zero points and are powers of two, so
// the order of products does not matter.
func qLinearCase(s *cases.Suite, d, codes tensor.DType, a, az, b, bz *tensor.Tensor) {
	powers := func(shape tensor.Shape) *tensor.Tensor {
		t := tensor.New(d, shape...)
		for i := range t.Len() {
			cases.SetNumber(t, i, math.Ldexp(1, -s.IntN(3)))
		}
		return t
	}
	left, right := operand{a, powers(az.Shape()), az, true}, operand{b, powers(bz.Shape()), bz, false}
	scale, zero := cases.Scalar(d, 256), zeroPoints(s, codes)
	if _, small := arith.SmallFloats[codes]; small {
		cases.SetNumber(scale, 0, 512)
	}
	sums := arith.Product(tensor.F64, left.scaled(), right.scaled())
	y := tensor.New(codes, sums.Shape()...)
	for i, v := range cases.Numbers(sums) {
		v /= cases.Number(scale, 0)
		if codes.IsInteger() {
			v = math.RoundToEven(v)
		}
		putCode(y, i, v+meaning(zero, 0))
	}
	version := 10
	if d != tensor.F32 || !a.DType().IsInteger() || !b.DType().IsInteger() || !codes.IsInteger() {
		version = 21
	}
	s.Add(cases.Case{Op: "QLinearMatMul", Version: version,
		In: cases.In(a, left.scale, az, b, right.scale, bz, scale, zero), Want: cases.Want(y)})
}

func productFails(s *cases.Suite) {
	a, b := codesOf(s, tensor.U8, 3, 4), codesOf(s, tensor.I8, 4, 5)
	u, i, one := tensor.New(tensor.U8), tensor.New(tensor.I8), cases.Scalar(tensor.F32, 1)
	fails := func(kind error, op, note string, in ...*tensor.Tensor) {
		s.Add(cases.Case{Op: op, Version: 10, Note: note, In: in, Fails: kind})
	}
	fails(graph.ErrShape, "MatMulInteger", "zero points of another number", a, b, codesOf(s, tensor.U8, 4))
	fails(graph.ErrShape, "MatMulInteger", "zero point of another type", a, b, i)
	fails(graph.ErrShape, "MatMulInteger", "inner extents", a, a)
	fails(graph.ErrUnsupported, "MatMulInteger", "no bytes", a, s.Any(tensor.I32, 4, 5))
	fails(graph.ErrShape, "MatMulInteger", "matrices of zero points", a, b, nil, codesOf(s, tensor.I8, 4, 5))
	fails(graph.ErrShape, "QLinearMatMul", "two scales of the result", a, one, u, b, one, i, s.Any(tensor.F32, 2), u)
	fails(graph.ErrShape, "QLinearMatMul", "scales of another number", a, s.Any(tensor.F32, 4), u, b, one, i, one, u)
	fails(graph.ErrShape, "QLinearMatMul", "scale that is no float", a, u, u, b, one, i, one, u)
	fails(graph.ErrUnsupported, "QLinearMatMul", "result of another type", a, one, u, b, one, i, one,
		cases.Scalar(tensor.I32, 1))
}

func convCases(s *cases.Suite) {
	for i, c := range nn.Windows() {
		for j, g := range [][3]int{{1, 3, 5}, {2, 2, 4}, {4, 1, 1}} {
			types := [][2]tensor.DType{{tensor.U8, tensor.I8}, {tensor.I8, tensor.U8}}[i%2]
			convCase(s, types[0], types[1], byteCodes[(i+j)%2], c.In, c.W, g[0], g[1], g[2])
		}
	}
	behind := nn.Window{Kernel: []int{1, 1}, Stride: []int{1, 1}, Dilation: []int{1, 1}, Before: []int{0, 0},
		After: []int{0, 2}}
	convCase(s, tensor.U8, tensor.I8, tensor.U8, []int{5, 7}, behind, 1, 3, 4)
	three := nn.Window{Kernel: []int{3, 3}, Stride: []int{1, 1}, Dilation: []int{1, 1}, Before: []int{1, 1},
		After: []int{1, 1}}
	convCase(s, tensor.I8, tensor.I8, tensor.I8, []int{6, 7}, three, 1, 17, 35)
	convCase(s, tensor.U8, tensor.U8, tensor.U8, []int{5, 37}, three, 9, 1, 1)
	convFails(s)
	tableCases(s)
}

func tableCases(s *cases.Suite) {
	for _, types := range [][2]tensor.DType{{tensor.U8, tensor.I8}, {tensor.I8, tensor.U8}} {
		x, table := codesOf(s, types[0], 2, 3, 70), codesOf(s, types[1], 256)
		y := tensor.New(types[1], x.Shape()...)
		for i, b := range x.Bytes() {
			y.Bytes()[i] = table.Bytes()[b]
		}
		s.Add(cases.Case{Domain: "nacre", Op: "CodeTable", Version: 1, In: cases.In(x, table), Want: cases.Want(y)})
	}
}

// convCase convolves images by group·filters filters with the given channels each.
func convCase(s *cases.Suite, dx, dw, codes tensor.DType, space []int, w nn.Window, group, channels, filters int) {
	x := codesOf(s, dx, slices.Concat([]int{2, group * channels}, space)...)
	k := codesOf(s, dw, slices.Concat([]int{group * filters, channels}, w.Kernel)...)
	xZero := codesOf(s, dx)
	placed, out := w.Over(space)
	shape := tensor.Shape(slices.Concat([]int{2, group * filters}, out))
	sums := func(xz, kz *tensor.Tensor) []float64 {
		list := make([]float64, shape.Len())
		cases.Each(shape, func(i int, at []int) {
			placed.Visit(at[2:], func(kernel, in []int) {
				if !cases.Inside(space, in) {
					return
				}
				for c := range channels {
					u := cases.Number(x, cases.Flat(x.Shape(), slices.Concat([]int{at[0], at[1]/filters*channels + c}, in)...))
					v := cases.Number(k, cases.Flat(k.Shape(), slices.Concat([]int{at[1], c}, kernel)...))
					if xz != nil {
						u -= cases.Number(xz, 0)
					}
					if kz != nil {
						v -= cases.Number(kz, at[1]%kz.Len())
					}
					list[i] += u * v
				}
			})
		})
		return list
	}
	integers := func(list []float64) *tensor.Tensor { return cases.FromNumbers(tensor.I32, list, shape...) }
	window := w.Attrs("group", group)
	s.Add(cases.Case{Op: "ConvInteger", Version: 10, Note: w.Auto, Attrs: window, In: cases.In(x, k),
		Want: cases.Want(integers(sums(nil, nil)))})
	for _, n := range [][]int{{}, {1}, {group * filters}} {
		kZero := codesOf(s, dw, n...)
		list := sums(xZero, kZero)
		s.Add(cases.Case{Op: "ConvInteger", Version: 10, Note: w.Auto, Attrs: window, In: cases.In(x, k, xZero, kZero),
			Want: cases.Want(integers(list))})
		scale, yZero, bias := s.Between(tensor.F32, 0.5, 1.5, n...), codesOf(s, codes),
			s.Between(tensor.I32, -9999, 9999, group*filters)
		floats := func(t *tensor.Tensor, bias ...*tensor.Tensor) {
			scaled := make([]float64, len(list))
			cases.Each(shape, func(i int, at []int) {
				sum := list[i]
				for _, b := range bias {
					sum += cases.Number(b, at[1])
				}
				scaled[i] = float64(float32(sum) * float32(cases.Number(t, at[1]%t.Len())))
			})
			s.Add(cases.Case{Domain: "nacre", Op: "ConvIntegerToFloat", Version: 1, Note: w.Auto, Attrs: window,
				In: append(cases.In(x, k, xZero, kZero, t), bias...), Want: cases.Want(cases.FromNumbers(tensor.F32, scaled, shape...))})
		}
		floats(scale)
		floats(scale, bias)
		y, biased := tensor.New(codes, shape...), tensor.New(codes, shape...)
		xs, ys := cases.Scalar(tensor.F32, 0.3), cases.Scalar(tensor.F32, float64(channels*len(w.Kernel))*50)
		cases.Each(shape, func(i int, at []int) {
			factor := float32(0.3) * float32(cases.Number(scale, at[1]%scale.Len())) / float32(cases.Number(ys, 0))
			put := func(t *tensor.Tensor, sum float64) {
				putCode(t, i, math.RoundToEven(float64(float32(sum)*factor))+cases.Number(yZero, 0))
			}
			put(y, list[i])
			put(biased, list[i]+cases.Number(bias, at[1]))
		})
		plain := cases.In(x, xs, xZero, k, scale, kZero, ys, yZero)
		s.Add(cases.Case{Op: "QLinearConv", Version: 10, Note: w.Auto, Attrs: window, In: plain, Want: cases.Want(y)})
		s.Add(cases.Case{Op: "QLinearConv", Version: 10, Note: w.Auto, Attrs: window, In: append(slices.Clone(plain), bias),
			Want: cases.Want(biased)})
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "QLinearConv", Version: 1, Note: w.Auto, Attrs: window, In: plain,
			Want: cases.Want(y)})
		fusedConvCases(s, w.Attrs("group", group), w.Auto, plain, list, shape)
		last := slices.Clone(plain)
		last[0] = behindChannels(x)
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "QLinearConv", Version: 1, Note: "channels last " + w.Auto, Attrs: w.Attrs("group", group, "channels_last", 1),
			In: append(last, bias), Want: cases.Want(behindChannels(biased))})
	}
}

// fusedConvCases adds convolutions with the inputs plain of QLinearConv and their sums: with a
// float bias, an added value, a clamp, and a stage before the value.
func fusedConvCases(
	s *cases.Suite, window []*graph.Attr, note string, plain []*tensor.Tensor, sums []float64, shape tensor.Shape,
) {
	scale, yScale, yZero := plain[4], float32(cases.Number(plain[6], 0)), plain[7]
	bias := s.Between(tensor.F32, -2, 2, shape[1])
	z, zScale, zZero := codesOf(s, yZero.DType(), shape...), cases.Scalar(tensor.F32, 0.7), codesOf(s, yZero.DType())
	stage, stageZero := cases.Scalar(tensor.F32, 0.9), codesOf(s, tensor.I8)
	y, staged := tensor.New(yZero.DType(), shape...), tensor.New(yZero.DType(), shape...)
	ratio := float32(0.7) / yScale
	cases.Each(shape, func(i int, at []int) {
		weight := float32(0.3) * float32(cases.Number(scale, at[1]%scale.Len()))
		back := float32(float32(cases.Number(zZero, 0)) * ratio)
		more := float32(float32(cases.Number(z, i)) * ratio)
		end := func(v float32) float64 {
			v = min(max(v+more, -3/yScale), 2.5/yScale)
			return math.RoundToEven(float64(v)) + cases.Number(yZero, 0)
		}
		sum, b := float32(sums[i]), float32(cases.Number(bias, at[1]))
		putCode(y, i, end(float32(sum*float32(weight/yScale))+float32(b/yScale-back)))
		low := -128 - cases.Number(stageZero, 0)
		code := math.RoundToEven(min(max(float64(float32(sum*float32(weight/0.9))+b/0.9), low), low+255))
		putCode(staged, i, end(float32(float32(code)*float32(float32(0.9)/yScale))-back))
	})
	attrs := append(slices.Clone(window), cases.Attrs("activation", "Clip", "activation_params", []float64{-3, 2.5})...)
	in := append(slices.Clone(plain), bias, z, zScale, zZero)
	s.Add(cases.Case{Domain: "nacre", Op: "FusedQLinearConv", Version: 1, Note: note, Attrs: attrs, In: in,
		Want: cases.Want(y)})
	s.Add(cases.Case{Domain: "nacre", Op: "FusedQLinearConv", Version: 1, Note: "stage " + note, Attrs: attrs,
		In: append(slices.Clone(in), stage, stageZero), Want: cases.Want(staged)})
}

// behindChannels returns t with axis 1 moved to the end.
func behindChannels(t *tensor.Tensor) *tensor.Tensor {
	sh := t.Shape()
	n := len(sh)
	to := slices.Concat(sh[:1], sh[2:], sh[1:2])
	return cases.Pick(t, to, func(at []int) []int { return slices.Concat(at[:1], at[n-1:], at[1:n-1]) })
}

func convFails(s *cases.Suite) {
	x, w := codesOf(s, tensor.U8, 1, 2, 5), codesOf(s, tensor.I8, 3, 2, 2)
	u, i, one := tensor.New(tensor.U8), tensor.New(tensor.I8), cases.Scalar(tensor.F32, 1)
	fails := func(kind error, op, note string, in ...*tensor.Tensor) {
		s.Add(cases.Case{Op: op, Version: 10, Note: note, In: in, Fails: kind})
	}
	fails(graph.ErrShape, "ConvInteger", "zero points of x", x, w, codesOf(s, tensor.U8, 2))
	fails(graph.ErrShape, "ConvInteger", "zero points of another number", x, w, u, codesOf(s, tensor.I8, 2))
	fails(graph.ErrShape, "ConvInteger", "zero point of another type", x, w, i)
	fails(graph.ErrUnsupported, "ConvInteger", "no bytes", x, s.Any(tensor.F32, 3, 2, 2))
	fails(graph.ErrShape, "ConvInteger", "channels", x, codesOf(s, tensor.I8, 3, 3, 2))
	floats := func(note string, in ...*tensor.Tensor) {
		s.Add(cases.Case{Domain: "nacre", Op: "ConvIntegerToFloat", Version: 1, Note: note, In: in, Fails: graph.ErrShape})
	}
	floats("scales of another number", x, w, u, i, s.Any(tensor.F32, 2))
	floats("scale of another type", x, w, u, i, cases.Scalar(tensor.F16, 1))
	floats("bias of another number", x, w, u, i, one, s.Any(tensor.I32, 1))
	floats("bias of floats", x, w, u, i, one, s.Any(tensor.F32, 3))
	fails(graph.ErrShape, "QLinearConv", "scales of another number", x, one, u, w, s.Any(tensor.F32, 2), i, one, u)
	fails(graph.ErrShape, "QLinearConv", "bias of another number", x, one, u, w, one, i, one, u, s.Any(tensor.I32, 2))
	fails(graph.ErrShape, "QLinearConv", "bias of floats", x, one, u, w, one, i, one, u, s.Any(tensor.F32, 3))
	fails(graph.ErrShape, "QLinearConv", "scales of the result", x, one, u, w, one, i, s.Any(tensor.F32, 3), u)
	fused := func(note string, attrs []*graph.Attr, in ...*tensor.Tensor) {
		s.Add(cases.Case{Domain: "nacre", Op: "FusedQLinearConv", Version: 1, Note: note, Attrs: attrs, In: in,
			Fails: graph.ErrShape})
	}
	fused("another shape is added", nil, x, one, u, w, one, i, one, u, nil, codesOf(s, tensor.U8, 1, 3, 5), one, u)
	fused("scales of what is added", nil, x, one, u, w, one, i, one, u, nil, codesOf(s, tensor.U8, 1, 3, 4),
		s.Any(tensor.F32, 3), u)
	s.Add(cases.Case{Domain: "nacre", Op: "CodeTable", Version: 1, Note: "short",
		In: cases.In(x, codesOf(s, tensor.U8, 255)), Fails: graph.ErrShape})
}
