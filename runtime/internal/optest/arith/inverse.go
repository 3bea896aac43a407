package arith

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// inverses adds matrices with known inverses.
func inverses(s *cases.Suite, d tensor.DType) {
	const n = 6
	x, y := tensor.New(d, 3, n, n), tensor.New(d, 3, n, n)
	for b := range 3 {
		for i := range n {
			// The inverse of a scaled permutation permutes back and scales back.
			to := (i*5 + b) % n
			cases.SetNumber(x, (b*n+i)*n+to, float64(int(2)<<i))
			cases.SetNumber(y, (b*n+to)*n+i, 1/float64(int(2)<<i))
		}
	}
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "Inverse", Version: 1, In: cases.In(x), Want: cases.Want(y), Ulps: 1})
	m, inv := cases.FromNumbers(d, []float64{4, 2, 7, 6}, 2, 2),
		cases.FromNumbers(d, []float64{0.6, -0.2, -0.7, 0.4}, 2, 2)
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "Inverse", Version: 1, Note: "two", In: cases.In(m),
		Want: cases.Want(inv), Ulps: 4})
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "Inverse", Version: 1, Note: "not square",
		In: cases.In(s.Any(d, 2, 3)), Fails: graph.ErrShape})
}

// inverseCases adds inverses, and products of transposed matrices.
func inverseCases(s *cases.Suite) {
	for _, d := range []tensor.DType{tensor.F32, tensor.F64, tensor.I32, tensor.I64, tensor.U32, tensor.U64} {
		a, b := s.Any(d, 4, 3), s.Any(d, 5, 4)
		y := cases.Filled(d, func(at []int) float64 {
			sum := 0.0
			for p := range 4 {
				sum += cases.Number(a, p*3+at[0]) * cases.Number(b, at[1]*4+p)
			}
			return sum
		}, 3, 5)
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "SparseToDenseMatMul", Version: 1,
			Attrs: cases.Attrs("transA", 1, "transB", 1), In: cases.In(a, b), Want: cases.Want(y), Ulps: 32})
	}
	for _, d := range cases.Floats {
		inverses(s, d)
		a, b := s.Any(d, 4, 3), s.Any(d, 5, 4)
		y := cases.Filled(d, func(at []int) float64 {
			sum := 0.0
			for p := range 4 {
				sum += cases.Number(a, p*3+at[0]) * cases.Number(b, at[1]*4+p)
			}
			return sum / 2
		}, 3, 5)
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "TransposeMatMul", Version: 1,
			Attrs: cases.Attrs("alpha", 0.5, "transA", 1, "transB", 1), In: cases.In(a, b), Want: cases.Want(y), Ulps: 32})
	}
}
