package optest

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// quantFusedCases are the operators on codes that ONNX Runtime adds.
func quantFusedCases(s *suite) {
	for _, shapes := range quantShapes() {
		for _, d := range byteCodes {
			integerToFloatCases(s, d, shapes[0], shapes[1])
			dynamicProductCases(s, d, shapes[0], shapes[1])
		}
	}
	for _, a := range byteCodes {
		for _, b := range byteCodes {
			quantGemmCases(s, a, b)
		}
		for _, d := range narrowFloats {
			quantAttentionCases(s, a, d)
		}
	}
	quantFusedFails(s)
}

// addColumns is numbers plus one for each column, as elements of that type.
func addColumns(d tensor.DType, sums, bias *tensor.Tensor) *tensor.Tensor {
	y := tensor.New(d, sums.Shape()...)
	for i, v := range numbers(sums) {
		if bias != nil {
			v += number(bias, i%bias.Len())
		}
		setNumber(y, i, v)
	}
	return y
}

// columnsOf is how many columns a right operand has.
func columnsOf(shape []int) int {
	if len(shape) == 1 {
		return 1
	}
	return shape[len(shape)-1]
}

func integerToFloatCases(s *suite, codes tensor.DType, left, right []int) {
	for i, parameters := range parametersOf(right, -1) {
		d := narrowFloats[i%len(narrowFloats)]
		a := quantOperand{s.codesOf(tensor.U8, left...), s.between(d, 0.01, 0.02), s.codesOf(tensor.U8), true}
		b := quantOperand{s.codesOf(codes, right...), s.between(d, 0.01, 0.02, parameters...), s.codesOf(codes, parameters...), false}
		if i%2 == 0 {
			a.t, a.zero = s.codesOf(tensor.I8, left...), s.codesOf(tensor.I8)
		}
		sums, bias := product(tensor.F64, a.scaled(), b.scaled()), s.any(d, columnsOf(right))
		add := func(ulps float64, want []*tensor.Tensor, in ...*tensor.Tensor) {
			s.add(Case{Domain: microsoft, Op: "MatMulIntegerToFloat", Version: 1, In: in, Want: want, Ulps: ulps})
		}
		add(8, want(addColumns(d, sums, nil)), a.t, b.t, a.scale, b.scale, a.zero, b.zero)
		add(8, want(addColumns(d, sums, bias)), a.t, b.t, a.scale, b.scale, a.zero, b.zero, bias)
		a.zero, b.zero = nil, nil
		add(8, want(addColumns(d, product(tensor.F64, a.scaled(), b.scaled()), nil)), a.t, b.t, a.scale, b.scale)
	}
}

func dynamicProductCases(s *suite, codes tensor.DType, left, right []int) {
	x := s.between(tensor.F32, -3, 2, left...)
	step, zero := dynamicScale(x)
	a := quantOperand{tensor.New(tensor.U8, left...), scalar(tensor.F32, float64(step)), scalar(tensor.U8, zero), true}
	for i, v := range numbers(x) {
		putCode(a.t, i, math.RoundToEven(float64(float32(v)/step))+zero)
	}
	for _, parameters := range parametersOf(right, -1) {
		b := quantOperand{s.codesOf(codes, right...), s.between(tensor.F32, 0.01, 0.02, parameters...), s.codesOf(codes, parameters...), false}
		bias := s.any(tensor.F32, columnsOf(right))
		add := func(want []*tensor.Tensor, in ...*tensor.Tensor) {
			s.add(Case{Domain: microsoft, Op: "DynamicQuantizeMatMul", Version: 1, In: in, Want: want, Ulps: 8})
		}
		add(want(addColumns(tensor.F32, product(tensor.F64, a.scaled(), b.scaled()), bias)), x, b.t, b.scale, b.zero, bias)
		b.zero = nil
		add(want(addColumns(tensor.F32, product(tensor.F64, a.scaled(), b.scaled()), nil)), x, b.t, b.scale)
	}
}

// quantGemmCases have scales that are powers of two, so that the order of products
// does not matter.
func quantGemmCases(s *suite, da, db tensor.DType) {
	const m, k, n = 5, 9, 18
	for _, trans := range [][2]int{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
		for _, columns := range [][]int{{}, {n}} {
			a := quantOperand{s.codesOf(da, m, k), scalar(tensor.F32, 0.25), s.codesOf(da), true}
			b := quantOperand{s.codesOf(db, k, n), tensor.New(tensor.F32, columns...), s.codesOf(db, columns...), false}
			for i := range b.scale.Len() {
				setNumber(b.scale, i, math.Ldexp(1, -s.IntN(3)))
			}
			left, right := a.t, b.t
			if trans[0] == 1 {
				left = transposed(left)
			}
			if trans[1] == 1 {
				right = transposed(right)
			}
			sums := product(tensor.F64, a.shifted(), b.shifted())
			for i, shape := range [][]int{nil, {m, n}, {n}, {m, 1}, {1, n}, {}} {
				var c *tensor.Tensor
				if shape != nil {
					c = s.between(tensor.I32, -999, 999, shape...)
				}
				codes := byteCodes[i%2]
				scale, zero := scalar(tensor.F32, 64), s.codesOf(codes)
				floating, y := tensor.New(tensor.F32, m, n), tensor.New(codes, m, n)
				each(sums.Shape(), func(i int, at []int) {
					v := number(sums, i)
					if c != nil {
						v += number(c, flat(c.Shape(), broadcastIndex(c.Shape(), at)...))
					}
					v *= 0.5 * 0.25 * number(b.scale, at[1]%b.scale.Len())
					setNumber(floating, i, v)
					putCode(y, i, math.RoundToEven(v/64)+number(zero, 0))
				})
				list := attrs("transA", trans[0], "transB", trans[1], "alpha", 0.5)
				operands := in(left, a.scale, a.zero, right, b.scale, b.zero, c)
				s.add(Case{Domain: microsoft, Op: "QGemm", Version: 1, Attrs: list, In: operands, Want: want(floating)})
				s.add(Case{Domain: microsoft, Op: "QGemm", Version: 1, Attrs: list, In: append(slices.Clone(operands), scale, zero), Want: want(y)})
			}
		}
	}
}

// quantAttentionCases see the past and what is before them.
func quantAttentionCases(s *suite, codes, d tensor.DType) {
	const batch, heads, size, hidden, tokens = 2, 2, 4, 6, 5
	for _, columns := range [][]int{{}, {3 * heads * size}} {
		x := quantOperand{s.codesOf(codes, batch, tokens, hidden), scalar(d, 1.0/64), s.codesOf(codes), true}
		w := quantOperand{s.codesOf(tensor.I8, hidden, 3*heads*size), s.between(d, 0.005, 0.01, columns...), s.codesOf(tensor.I8, columns...), false}
		bias, past := s.any(d, 3*heads*size), s.any(d, 2, batch, heads, 2, size)
		all := product(tensor.F64, x.scaled(), w.scaled())
		project := func(part int) headed {
			return func(b, h, r, i int) float64 {
				col := (part*heads+h)*size + i
				return number(all, flat(all.Shape(), b, r, col)) + number(bias, col)
			}
		}
		behindPast := func(part int) headed {
			return func(b, h, r, i int) float64 {
				if r < 2 {
					return number(past, flat(past.Shape(), part-1, b, h, r, i))
				}
				return project(part)(b, h, r-2, i)
			}
		}
		k, v := behindPast(1), behindPast(2)
		a := &attend{batch: batch, heads: heads, kvHeads: heads, queries: tokens, keys: tokens + 2, d: size, dv: size,
			q: project(0), k: k, v: v, scale: 0.125, score: func(_, _, i, j int) float64 {
				if j > i+2 {
					return math.Inf(-1)
				}
				return 0
			}}
		out, _ := a.run()
		present := filled(d, func(at []int) float64 { return []headed{k, v}[at[0]](at[1], at[2], at[3], at[4]) }, 2, batch, heads, tokens+2, size)
		s.add(Case{Domain: microsoft, Op: "QAttention", Version: 1, In: in(x.t, w.t, bias, x.scale, w.scale, nil, x.zero, w.zero, past), Ulps: 8 * attentionUlps,
			Attrs: attrs("num_heads", heads, "unidirectional", 1, "scale", 0.125), Want: want(packedRows(d, out, batch, heads, tokens, size), present)})
	}
}

func quantFusedFails(s *suite) {
	a, b := s.codesOf(tensor.U8, 3, 4), s.codesOf(tensor.I8, 4, 5)
	u, i, one := tensor.New(tensor.U8), tensor.New(tensor.I8), scalar(tensor.F32, 1)
	fails := func(kind error, op, note string, in ...*tensor.Tensor) {
		s.add(Case{Domain: microsoft, Op: op, Version: 1, Note: note, In: in, Fails: kind})
	}
	fails(graph.ErrShape, "MatMulIntegerToFloat", "scales of rows", a, b, s.any(tensor.F32, 3), one)
	fails(graph.ErrShape, "MatMulIntegerToFloat", "a short bias", a, b, one, one, nil, nil, s.any(tensor.F32, 4))
	fails(graph.ErrShape, "MatMulIntegerToFloat", "a bias of another type", a, b, one, one, nil, nil, s.any(tensor.F16, 5))
	fails(graph.ErrShape, "MatMulIntegerToFloat", "scales of another number", a, b, one, s.any(tensor.F32, 4))
	fails(graph.ErrUnsupported, "DynamicQuantizeMatMul", "no bytes", s.any(tensor.F32, 3, 4), s.any(tensor.I32, 4, 5), one)
	fails(graph.ErrShape, "DynamicQuantizeMatMul", "a short bias", s.any(tensor.F32, 3, 4), b, one, i, s.any(tensor.F32, 4))
	fails(graph.ErrShape, "DynamicQuantizeMatMul", "zero points of another number", s.any(tensor.F32, 3, 4), b, one, s.codesOf(tensor.I8, 4))
	fails(graph.ErrFormat, "QGemm", "a scale of the result alone", a, one, u, b, one, i, nil, one)
	fails(graph.ErrShape, "QGemm", "C of another shape", a, one, u, b, one, i, s.between(tensor.I32, 0, 9, 4))
	fails(graph.ErrShape, "QGemm", "C of floats", a, one, u, b, one, i, s.any(tensor.F32, 5))
	fails(graph.ErrShape, "QGemm", "scales of rows", a, s.any(tensor.F32, 3), u, b, one, i)
	x, w := s.codesOf(tensor.U8, 1, 2, 6), s.codesOf(tensor.I8, 6, 24)
	heads := attrs("num_heads", 2)
	s.add(Case{Domain: microsoft, Op: "QAttention", Version: 1, Note: "a short bias", Attrs: heads, In: in(x, w, s.any(tensor.F32, 23), one, one), Fails: graph.ErrShape})
	s.add(Case{Domain: microsoft, Op: "QAttention", Version: 1, Note: "a shared buffer", Attrs: attrs("num_heads", 2, "past_present_share_buffer", 1),
		In: in(x, w, s.any(tensor.F32, 24), one, one), Fails: graph.ErrUnsupported})
	s.add(Case{Domain: microsoft, Op: "QAttention", Version: 1, Note: "scales of rows", Attrs: heads, In: in(x, w, s.any(tensor.F32, 24), one, s.any(tensor.F32, 6)), Fails: graph.ErrShape})
}
