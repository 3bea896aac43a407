package quant

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/arith"
	"github.com/nacre-ml/nacre/runtime/internal/optest/attention"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// fusedCases adds the operators on codes that ONNX Runtime defines.
func fusedCases(s *cases.Suite) {
	for _, shapes := range shapes() {
		for _, d := range byteCodes {
			integerToFloatCases(s, d, shapes[0], shapes[1])
			dynamicProductCases(s, d, shapes[0], shapes[1])
		}
	}
	for _, a := range byteCodes {
		for _, b := range byteCodes {
			gemmCases(s, a, b)
		}
		for _, d := range cases.NarrowFloats {
			attentionCases(s, a, d)
		}
	}
	fusedFails(s)
}

// addColumns returns sums plus a bias per column, as elements of type d.
func addColumns(d tensor.DType, sums, bias *tensor.Tensor) *tensor.Tensor {
	y := tensor.New(d, sums.Shape()...)
	for i, v := range cases.Numbers(sums) {
		if bias != nil {
			v += cases.Number(bias, i%bias.Len())
		}
		cases.SetNumber(y, i, v)
	}
	return y
}

// columnsOf returns the number of columns of a right operand.
func columnsOf(shape []int) int {
	if len(shape) == 1 {
		return 1
	}
	return shape[len(shape)-1]
}

func integerToFloatCases(s *cases.Suite, codes tensor.DType, left, right []int) {
	for i, parameters := range parametersOf(right, -1) {
		d := cases.NarrowFloats[i%len(cases.NarrowFloats)]
		a := operand{codesOf(s, tensor.U8, left...), s.Between(d, 0.01, 0.02), codesOf(s, tensor.U8), true}
		b := operand{codesOf(s, codes, right...), s.Between(d, 0.01, 0.02, parameters...), codesOf(s, codes, parameters...),
			false}
		if i%2 == 0 {
			a.t, a.zero = codesOf(s, tensor.I8, left...), codesOf(s, tensor.I8)
		}
		sums, bias := arith.Product(tensor.F64, a.scaled(), b.scaled()), s.Any(d, columnsOf(right))
		add := func(ulps float64, want []*tensor.Tensor, in ...*tensor.Tensor) {
			s.Add(cases.Case{Domain: cases.Microsoft, Op: "MatMulIntegerToFloat", Version: 1, In: in, Want: want, Ulps: ulps})
		}
		add(8, cases.Want(addColumns(d, sums, nil)), a.t, b.t, a.scale, b.scale, a.zero, b.zero)
		add(8, cases.Want(addColumns(d, sums, bias)), a.t, b.t, a.scale, b.scale, a.zero, b.zero, bias)
		a.zero, b.zero = nil, nil
		add(8, cases.Want(addColumns(d, arith.Product(tensor.F64, a.scaled(), b.scaled()), nil)), a.t, b.t, a.scale, b.scale)
	}
}

func dynamicProductCases(s *cases.Suite, codes tensor.DType, left, right []int) {
	x := s.Between(tensor.F32, -3, 2, left...)
	step, zero := dynamicScale(x)
	a := operand{tensor.New(tensor.U8, left...), cases.Scalar(tensor.F32, float64(step)), cases.Scalar(tensor.U8, zero),
		true}
	for i, v := range cases.Numbers(x) {
		putCode(a.t, i, math.RoundToEven(float64(float32(v)/step))+zero)
	}
	for _, parameters := range parametersOf(right, -1) {
		b := operand{codesOf(s, codes, right...), s.Between(tensor.F32, 0.01, 0.02, parameters...),
			codesOf(s, codes, parameters...), false}
		bias := s.Any(tensor.F32, columnsOf(right))
		add := func(want []*tensor.Tensor, in ...*tensor.Tensor) {
			s.Add(cases.Case{Domain: cases.Microsoft, Op: "DynamicQuantizeMatMul", Version: 1, In: in, Want: want, Ulps: 8})
		}
		add(cases.Want(addColumns(tensor.F32, arith.Product(tensor.F64, a.scaled(), b.scaled()), bias)), x, b.t, b.scale,
			b.zero, bias)
		b.zero = nil
		add(cases.Want(addColumns(tensor.F32, arith.Product(tensor.F64, a.scaled(), b.scaled()), nil)), x, b.t, b.scale)
	}
}

// gemmCases uses scales that are powers of two, so the order of products does not matter.
func gemmCases(s *cases.Suite, da, db tensor.DType) {
	const m, k, n = 5, 9, 18
	for _, trans := range [][2]int{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
		for _, columns := range [][]int{{}, {n}} {
			a := operand{codesOf(s, da, m, k), cases.Scalar(tensor.F32, 0.25), codesOf(s, da), true}
			b := operand{codesOf(s, db, k, n), tensor.New(tensor.F32, columns...), codesOf(s, db, columns...), false}
			for i := range b.scale.Len() {
				cases.SetNumber(b.scale, i, math.Ldexp(1, -s.IntN(3)))
			}
			left, right := a.t, b.t
			if trans[0] == 1 {
				left = cases.Transposed(left)
			}
			if trans[1] == 1 {
				right = cases.Transposed(right)
			}
			sums := arith.Product(tensor.F64, a.shifted(), b.shifted())
			for i, shape := range [][]int{nil, {m, n}, {n}, {m, 1}, {1, n}, {}} {
				var c *tensor.Tensor
				if shape != nil {
					c = s.Between(tensor.I32, -999, 999, shape...)
				}
				codes := byteCodes[i%2]
				scale, zero := cases.Scalar(tensor.F32, 64), codesOf(s, codes)
				floating, y := tensor.New(tensor.F32, m, n), tensor.New(codes, m, n)
				cases.Each(sums.Shape(), func(i int, at []int) {
					v := cases.Number(sums, i)
					if c != nil {
						v += cases.Number(c, cases.Flat(c.Shape(), cases.BroadcastIndex(c.Shape(), at)...))
					}
					v *= 0.5 * 0.25 * cases.Number(b.scale, at[1]%b.scale.Len())
					cases.SetNumber(floating, i, v)
					putCode(y, i, math.RoundToEven(v/64)+cases.Number(zero, 0))
				})
				list := cases.Attrs("transA", trans[0], "transB", trans[1], "alpha", 0.5)
				operands := cases.In(left, a.scale, a.zero, right, b.scale, b.zero, c)
				s.Add(cases.Case{Domain: cases.Microsoft, Op: "QGemm", Version: 1, Attrs: list, In: operands,
					Want: cases.Want(floating)})
				s.Add(cases.Case{Domain: cases.Microsoft, Op: "QGemm", Version: 1, Attrs: list,
					In: append(slices.Clone(operands), scale, zero), Want: cases.Want(y)})
			}
		}
	}
}

// attentionCases adds attention to the past and to earlier tokens.
func attentionCases(s *cases.Suite, codes, d tensor.DType) {
	const batch, heads, size, hidden, tokens = 2, 2, 4, 6, 5
	for _, columns := range [][]int{{}, {3 * heads * size}} {
		x := operand{codesOf(s, codes, batch, tokens, hidden), cases.Scalar(d, 1.0/64), codesOf(s, codes), true}
		w := operand{codesOf(s, tensor.I8, hidden, 3*heads*size), s.Between(d, 0.005, 0.01, columns...),
			codesOf(s, tensor.I8, columns...), false}
		bias, past := s.Any(d, 3*heads*size), s.Any(d, 2, batch, heads, 2, size)
		all := arith.Product(tensor.F64, x.scaled(), w.scaled())
		project := func(part int) attention.Headed {
			return func(b, h, r, i int) float64 {
				col := (part*heads+h)*size + i
				return cases.Number(all, cases.Flat(all.Shape(), b, r, col)) + cases.Number(bias, col)
			}
		}
		behindPast := func(part int) attention.Headed {
			return func(b, h, r, i int) float64 {
				if r < 2 {
					return cases.Number(past, cases.Flat(past.Shape(), part-1, b, h, r, i))
				}
				return project(part)(b, h, r-2, i)
			}
		}
		k, v := behindPast(1), behindPast(2)
		a := &attention.Attention{Batch: batch, Heads: heads, KVHeads: heads, Queries: tokens, Keys: tokens + 2, D: size, DV: size,
			Q: project(0), K: k, V: v, Scale: 0.125, Score: func(_, _, i, j int) float64 {
				if j > i+2 {
					return math.Inf(-1)
				}
				return 0
			}}
		out, _ := a.Run()
		present := cases.Filled(d,
			func(at []int) float64 { return []attention.Headed{k, v}[at[0]](at[1], at[2], at[3], at[4]) }, 2, batch, heads,
			tokens+2, size)
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "QAttention", Version: 1, In: cases.In(x.t, w.t, bias, x.scale, w.scale, nil, x.zero, w.zero, past), Ulps: 8 * attention.Ulps,
			Attrs: cases.Attrs("num_heads", heads, "unidirectional", 1, "scale", 0.125), Want: cases.Want(attention.PackedRows(d, out, batch, heads, tokens, size), present)})
	}
}

func fusedFails(s *cases.Suite) {
	a, b := codesOf(s, tensor.U8, 3, 4), codesOf(s, tensor.I8, 4, 5)
	u, i, one := tensor.New(tensor.U8), tensor.New(tensor.I8), cases.Scalar(tensor.F32, 1)
	fails := func(kind error, op, note string, in ...*tensor.Tensor) {
		s.Add(cases.Case{Domain: cases.Microsoft, Op: op, Version: 1, Note: note, In: in, Fails: kind})
	}
	fails(graph.ErrShape, "MatMulIntegerToFloat", "scales of rows", a, b, s.Any(tensor.F32, 3), one)
	fails(graph.ErrShape, "MatMulIntegerToFloat", "a short bias", a, b, one, one, nil, nil, s.Any(tensor.F32, 4))
	fails(graph.ErrShape, "MatMulIntegerToFloat", "a bias of another type", a, b, one, one, nil, nil, s.Any(tensor.F16, 5))
	fails(graph.ErrShape, "MatMulIntegerToFloat", "scales of another number", a, b, one, s.Any(tensor.F32, 4))
	fails(graph.ErrUnsupported, "DynamicQuantizeMatMul", "no bytes", s.Any(tensor.F32, 3, 4), s.Any(tensor.I32, 4, 5), one)
	fails(graph.ErrShape, "DynamicQuantizeMatMul", "a short bias", s.Any(tensor.F32, 3, 4), b, one, i,
		s.Any(tensor.F32, 4))
	fails(graph.ErrShape, "DynamicQuantizeMatMul", "zero points of another number", s.Any(tensor.F32, 3, 4), b, one,
		codesOf(s, tensor.I8, 4))
	fails(graph.ErrFormat, "QGemm", "a scale of the result alone", a, one, u, b, one, i, nil, one)
	fails(graph.ErrShape, "QGemm", "C of another shape", a, one, u, b, one, i, s.Between(tensor.I32, 0, 9, 4))
	fails(graph.ErrShape, "QGemm", "C of floats", a, one, u, b, one, i, s.Any(tensor.F32, 5))
	fails(graph.ErrShape, "QGemm", "scales of rows", a, s.Any(tensor.F32, 3), u, b, one, i)
	x, w := codesOf(s, tensor.U8, 1, 2, 6), codesOf(s, tensor.I8, 6, 24)
	heads := cases.Attrs("num_heads", 2)
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "QAttention", Version: 1, Note: "a short bias", Attrs: heads,
		In: cases.In(x, w, s.Any(tensor.F32, 23), one, one), Fails: graph.ErrShape})
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "QAttention", Version: 1, Note: "a shared buffer", Attrs: cases.Attrs("num_heads", 2, "past_present_share_buffer", 1),
		In: cases.In(x, w, s.Any(tensor.F32, 24), one, one), Fails: graph.ErrUnsupported})
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "QAttention", Version: 1, Note: "scales of rows", Attrs: heads,
		In: cases.In(x, w, s.Any(tensor.F32, 24), one, s.Any(tensor.F32, 6)), Fails: graph.ErrShape})
}
