package optest

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// quantOperand is an operand of a product of codes: its scale and its zero point
// are one number, one for each row or column, or an array that broadcasts; nil
// where they are left out.
type quantOperand struct {
	t, scale, zero *tensor.Tensor
	left           bool
}

// lane is element p of a scale or a zero point for an element of the operand.
func (o *quantOperand) lane(p *tensor.Tensor, at []int) float64 {
	switch n := len(at); {
	case p.Len() == 1:
		return meaning(p, 0)
	case len(p.Shape()) > 1:
		return meaning(p, flat(p.Shape(), broadcastIndex(p.Shape(), at)...))
	case o.left:
		return meaning(p, at[n-2])
	default:
		return meaning(p, at[n-1])
	}
}

// shifted is the codes less their zero points, as float64.
func (o *quantOperand) shifted() *tensor.Tensor {
	y := tensor.New(tensor.F64, o.t.Shape()...)
	each(o.t.Shape(), func(i int, at []int) {
		v := meaning(o.t, i)
		if o.zero != nil {
			v -= o.lane(o.zero, at)
		}
		setNumber(y, i, v)
	})
	return y
}

// scaled is shifted times the scales.
func (o *quantOperand) scaled() *tensor.Tensor {
	y := o.shifted()
	each(o.t.Shape(), func(i int, at []int) { setNumber(y, i, number(y, i)*o.lane(o.scale, at)) })
	return y
}

// quantShapes are operands of products, and whether numbers for rows or columns of
// every matrix of an operand are tried.
func quantShapes() [][2][]int {
	return [][2][]int{{{3, 4}, {4, 5}}, {{1, 70}, {70, 33}}, {{2, 3, 5, 7}, {7, 9}}, {{4, 9}, {3, 9, 2}}, {{2, 1, 5, 6}, {3, 6, 40}},
		{{7}, {7, 3}}, {{5, 7}, {7}}, {{7}, {7}}, {{2, 4, 17}, {2, 17, 1}}, {{17, 21}, {21, 67}}, {{3, 0}, {0, 4}}, {{0, 3}, {3, 4}}}
}

// parametersOf are the shapes that scales and zero points of an operand may have.
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

func quantProductCases(s *suite) {
	for _, shapes := range quantShapes() {
		for _, types := range [][2]tensor.DType{{tensor.U8, tensor.I8}, {tensor.U8, tensor.U8}, {tensor.I8, tensor.I8}, {tensor.I8, tensor.U8}} {
			a, b := s.codesOf(types[0], shapes[0]...), s.codesOf(types[1], shapes[1]...)
			s.add(Case{Op: "MatMulInteger", Version: 10, In: in(a, b), Want: want(integerProduct(a, nil, b, nil))})
			for _, left := range parametersOf(shapes[0], -2) {
				for _, right := range parametersOf(shapes[1], -1) {
					az, bz := s.codesOf(types[0], left...), s.codesOf(types[1], right...)
					s.add(Case{Op: "MatMulInteger", Version: 10, In: in(a, b, az, bz), Want: want(integerProduct(a, az, b, bz))})
					qLinearCase(s, tensor.F32, byteCodes[s.IntN(2)], a, az, b, bz)
				}
			}
			b0 := s.codesOf(types[1])
			s.add(Case{Op: "MatMulInteger", Version: 10, Note: "one zero point", In: in(a, b, nil, b0), Want: want(integerProduct(a, nil, b, b0))})
		}
	}
	for _, d := range []tensor.DType{tensor.F16, tensor.BF16} {
		qLinearCase(s, d, tensor.U8, s.codesOf(tensor.U8, 5, 7), s.codesOf(tensor.U8), s.codesOf(tensor.I8, 7, 9), s.codesOf(tensor.I8))
	}
	for i, d := range smallCodes[:4] {
		other := slices.Concat(byteCodes, smallCodes)[i]
		small := s.zeroPoints(d, 9)
		qLinearCase(s, tensor.F32, d, s.codesOf(d, 2, 5, 7), s.zeroPoints(d), s.codesOf(other, 7, 9), s.zeroPoints(other))
		qLinearCase(s, tensor.F32, other, s.codesOf(other, 5, 7), s.zeroPoints(other, 5), s.codesOf(d, 3, 7, 9), small)
		qLinearCase(s, tensor.F32, d, s.codesOf(tensor.U8, 5, 7), s.zeroPoints(tensor.U8), s.codesOf(tensor.I8, 7, 9), s.zeroPoints(tensor.I8))
	}
	quantProductFails(s)
}

// integerProduct is MatMulInteger by its definition. Its sums are below 2^53.
func integerProduct(a, az, b, bz *tensor.Tensor) *tensor.Tensor {
	left, right := quantOperand{t: a, zero: az, left: true}, quantOperand{t: b, zero: bz}
	sums := product(tensor.F64, left.shifted(), right.shifted())
	return fromNumbers(tensor.I32, numbers(sums), sums.Shape()...)
}

// qLinearCase multiplies codes with scales of the shapes that their zero points
// have: powers of two, so that the order of products does not matter.
func qLinearCase(s *suite, d, codes tensor.DType, a, az, b, bz *tensor.Tensor) {
	powers := func(shape tensor.Shape) *tensor.Tensor {
		t := tensor.New(d, shape...)
		for i := range t.Len() {
			setNumber(t, i, math.Ldexp(1, -s.IntN(3)))
		}
		return t
	}
	left, right := quantOperand{a, powers(az.Shape()), az, true}, quantOperand{b, powers(bz.Shape()), bz, false}
	scale, zero := scalar(d, 256), s.zeroPoints(codes)
	if _, small := smallFloats[codes]; small {
		setNumber(scale, 0, 512)
	}
	sums := product(tensor.F64, left.scaled(), right.scaled())
	y := tensor.New(codes, sums.Shape()...)
	for i, v := range numbers(sums) {
		v /= number(scale, 0)
		if codes.IsInteger() {
			v = math.RoundToEven(v)
		}
		putCode(y, i, v+meaning(zero, 0))
	}
	version := 10
	if d != tensor.F32 || !a.DType().IsInteger() || !b.DType().IsInteger() || !codes.IsInteger() {
		version = 21
	}
	s.add(Case{Op: "QLinearMatMul", Version: version, In: in(a, left.scale, az, b, right.scale, bz, scale, zero), Want: want(y)})
}

func quantProductFails(s *suite) {
	a, b := s.codesOf(tensor.U8, 3, 4), s.codesOf(tensor.I8, 4, 5)
	u, i, one := tensor.New(tensor.U8), tensor.New(tensor.I8), scalar(tensor.F32, 1)
	fails := func(kind error, op, note string, in ...*tensor.Tensor) {
		s.add(Case{Op: op, Version: 10, Note: note, In: in, Fails: kind})
	}
	fails(graph.ErrShape, "MatMulInteger", "zero points of another number", a, b, s.codesOf(tensor.U8, 4))
	fails(graph.ErrShape, "MatMulInteger", "zero point of another type", a, b, i)
	fails(graph.ErrShape, "MatMulInteger", "inner extents", a, a)
	fails(graph.ErrUnsupported, "MatMulInteger", "no bytes", a, s.any(tensor.I32, 4, 5))
	fails(graph.ErrShape, "MatMulInteger", "matrices of zero points", a, b, nil, s.codesOf(tensor.I8, 4, 5))
	fails(graph.ErrShape, "QLinearMatMul", "two scales of the result", a, one, u, b, one, i, s.any(tensor.F32, 2), u)
	fails(graph.ErrShape, "QLinearMatMul", "scales of another number", a, s.any(tensor.F32, 4), u, b, one, i, one, u)
	fails(graph.ErrShape, "QLinearMatMul", "scale that is no float", a, u, u, b, one, i, one, u)
	fails(graph.ErrUnsupported, "QLinearMatMul", "result of another type", a, one, u, b, one, i, one, scalar(tensor.I32, 1))
}

func quantConvCases(s *suite) {
	for i, c := range windows() {
		for j, g := range [][3]int{{1, 3, 5}, {2, 2, 4}, {4, 1, 1}} {
			types := [][2]tensor.DType{{tensor.U8, tensor.I8}, {tensor.I8, tensor.U8}}[i%2]
			quantConvCase(s, types[0], types[1], byteCodes[(i+j)%2], c.in, c.w, g[0], g[1], g[2])
		}
	}
	behind := window{[]int{1, 1}, []int{1, 1}, []int{1, 1}, []int{0, 0}, []int{0, 2}, "", false}
	quantConvCase(s, tensor.U8, tensor.I8, tensor.U8, []int{5, 7}, behind, 1, 3, 4)
	three := window{[]int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}, []int{1, 1}, "", false}
	quantConvCase(s, tensor.I8, tensor.I8, tensor.I8, []int{6, 7}, three, 1, 17, 35)
	quantConvCase(s, tensor.U8, tensor.U8, tensor.U8, []int{5, 37}, three, 9, 1, 1)
	quantConvFails(s)
}

// quantConvCase convolves images with group·filters filters of some channels.
func quantConvCase(s *suite, dx, dw, codes tensor.DType, space []int, w window, group, channels, filters int) {
	x := s.codesOf(dx, slices.Concat([]int{2, group * channels}, space)...)
	k := s.codesOf(dw, slices.Concat([]int{group * filters, channels}, w.kernel)...)
	xZero := s.codesOf(dx)
	placed, out := w.over(space)
	shape := tensor.Shape(slices.Concat([]int{2, group * filters}, out))
	sums := func(xz, kz *tensor.Tensor) []float64 {
		list := make([]float64, shape.Len())
		each(shape, func(i int, at []int) {
			placed.visit(at[2:], func(kernel, in []int) {
				if !inside(space, in) {
					return
				}
				for c := range channels {
					u := number(x, flat(x.Shape(), slices.Concat([]int{at[0], at[1]/filters*channels + c}, in)...))
					v := number(k, flat(k.Shape(), slices.Concat([]int{at[1], c}, kernel)...))
					if xz != nil {
						u -= number(xz, 0)
					}
					if kz != nil {
						v -= number(kz, at[1]%kz.Len())
					}
					list[i] += u * v
				}
			})
		})
		return list
	}
	integers := func(list []float64) *tensor.Tensor { return fromNumbers(tensor.I32, list, shape...) }
	window := w.attrs("group", group)
	s.add(Case{Op: "ConvInteger", Version: 10, Note: w.auto, Attrs: window, In: in(x, k), Want: want(integers(sums(nil, nil)))})
	for _, n := range [][]int{{}, {1}, {group * filters}} {
		kZero := s.codesOf(dw, n...)
		list := sums(xZero, kZero)
		s.add(Case{Op: "ConvInteger", Version: 10, Note: w.auto, Attrs: window, In: in(x, k, xZero, kZero), Want: want(integers(list))})
		scale, yZero, bias := s.between(tensor.F32, 0.5, 1.5, n...), s.codesOf(codes), s.between(tensor.I32, -9999, 9999, group*filters)
		y, biased := tensor.New(codes, shape...), tensor.New(codes, shape...)
		xs, ys := scalar(tensor.F32, 0.3), scalar(tensor.F32, float64(channels*len(w.kernel))*50)
		each(shape, func(i int, at []int) {
			factor := float32(0.3) * float32(number(scale, at[1]%scale.Len())) / float32(number(ys, 0))
			put := func(t *tensor.Tensor, sum float64) {
				putCode(t, i, math.RoundToEven(float64(float32(sum)*factor))+number(yZero, 0))
			}
			put(y, list[i])
			put(biased, list[i]+number(bias, at[1]))
		})
		plain := in(x, xs, xZero, k, scale, kZero, ys, yZero)
		s.add(Case{Op: "QLinearConv", Version: 10, Note: w.auto, Attrs: window, In: plain, Want: want(y)})
		s.add(Case{Op: "QLinearConv", Version: 10, Note: w.auto, Attrs: window, In: append(slices.Clone(plain), bias), Want: want(biased)})
		s.add(Case{Domain: microsoft, Op: "QLinearConv", Version: 1, Note: w.auto, Attrs: window, In: plain, Want: want(y)})
		last := slices.Clone(plain)
		last[0] = behindChannels(x)
		s.add(Case{Domain: microsoft, Op: "QLinearConv", Version: 1, Note: "channels last " + w.auto, Attrs: w.attrs("group", group, "channels_last", 1),
			In: append(last, bias), Want: want(behindChannels(biased))})
	}
}

// behindChannels is t with axis 1 behind all others.
func behindChannels(t *tensor.Tensor) *tensor.Tensor {
	sh := t.Shape()
	n := len(sh)
	to := slices.Concat(sh[:1], sh[2:], sh[1:2])
	return pick(t, to, func(at []int) []int { return slices.Concat(at[:1], at[n-1:], at[1:n-1]) })
}

func quantConvFails(s *suite) {
	x, w := s.codesOf(tensor.U8, 1, 2, 5), s.codesOf(tensor.I8, 3, 2, 2)
	u, i, one := tensor.New(tensor.U8), tensor.New(tensor.I8), scalar(tensor.F32, 1)
	fails := func(kind error, op, note string, in ...*tensor.Tensor) {
		s.add(Case{Op: op, Version: 10, Note: note, In: in, Fails: kind})
	}
	fails(graph.ErrShape, "ConvInteger", "zero points of x", x, w, s.codesOf(tensor.U8, 2))
	fails(graph.ErrShape, "ConvInteger", "zero points of another number", x, w, u, s.codesOf(tensor.I8, 2))
	fails(graph.ErrShape, "ConvInteger", "zero point of another type", x, w, i)
	fails(graph.ErrUnsupported, "ConvInteger", "no bytes", x, s.any(tensor.F32, 3, 2, 2))
	fails(graph.ErrShape, "ConvInteger", "channels", x, s.codesOf(tensor.I8, 3, 3, 2))
	fails(graph.ErrShape, "QLinearConv", "scales of another number", x, one, u, w, s.any(tensor.F32, 2), i, one, u)
	fails(graph.ErrShape, "QLinearConv", "bias of another number", x, one, u, w, one, i, one, u, s.any(tensor.I32, 2))
	fails(graph.ErrShape, "QLinearConv", "bias of floats", x, one, u, w, one, i, one, u, s.any(tensor.F32, 3))
	fails(graph.ErrShape, "QLinearConv", "scales of the result", x, one, u, w, one, i, s.any(tensor.F32, 3), u)
}
