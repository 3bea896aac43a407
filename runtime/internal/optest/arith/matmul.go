package arith

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func matmulCases(s *cases.Suite) {
	pairs := [][2][]int{
		{{3, 4}, {4, 5}}, {{4}, {4}}, {{4}, {4, 5}}, {{3, 4}, {4}}, {{1, 1}, {1, 1}}, {{3, 0}, {0, 5}}, {{0, 3}, {3, 5}},
		{{2, 3, 4}, {4, 5}}, {{3, 4}, {2, 4, 5}}, {{2, 1, 3, 4}, {5, 4, 2}}, {{2, 3, 4}, {4}}, {{4}, {2, 4, 5}},
		{{17, 33}, {33, 35}}, {{1, 70}, {70, 67}}, {{65, 19}, {19, 1}},
	}
	for _, d := range cases.ProductTypes {
		version := 1
		if d.IsInteger() {
			version = 9
		}
		if d == tensor.BF16 {
			version = 13
		}
		for _, p := range pairs {
			a, b := s.Any(d, p[0]...), s.Any(d, p[1]...)
			s.Add(cases.Case{Op: "MatMul", Version: version, In: cases.In(a, b), Want: cases.Want(Product(d, a, b)), Ulps: 64})
		}
		gemmCases(s, d, version)
	}
	for _, p := range [][2][]int{{{61, 300}, {300, 129}}, {{200, 64}, {64, 200}}, {{1, 515}, {515, 260}}} {
		a, b := s.Any(tensor.F32, p[0]...), s.Any(tensor.F32, p[1]...)
		s.Add(cases.Case{Op: "MatMul", Version: 1, Note: "large", In: cases.In(a, b),
			Want: cases.Want(Product(tensor.F32, a, b)), Ulps: 2000})
	}
	s.Add(cases.Case{Op: "MatMul", Version: 1, Note: "inner extents",
		In: cases.In(s.Any(tensor.F32, 2, 3), s.Any(tensor.F32, 4, 2)), Fails: graph.ErrShape})
	s.Add(cases.Case{Op: "MatMul", Version: 1, Note: "scalar", In: cases.In(s.Any(tensor.F32), s.Any(tensor.F32, 4, 2)),
		Fails: graph.ErrShape})
}

// Product returns the matrix product by the rules of numpy.matmul.
func Product(d tensor.DType, a, b *tensor.Tensor) *tensor.Tensor {
	sa, sb := a.Shape(), b.Shape()
	x, y := a, b
	if len(sa) == 1 {
		x = cases.Seen(a, 1, sa[0])
	}
	if len(sb) == 1 {
		y = cases.Seen(b, sb[0], 1)
	}
	ra, rb := len(x.Shape()), len(y.Shape())
	m, k, n := x.Shape()[ra-2], x.Shape()[ra-1], y.Shape()[rb-1]
	batch := cases.BroadcastShape(x.Shape()[:ra-2], y.Shape()[:rb-2])
	z := tensor.New(d, slices.Concat(batch, []int{m, n})...)
	cases.Each(z.Shape(), func(i int, at []int) {
		r, c := at[len(at)-2], at[len(at)-1]
		outer := at[:len(at)-2]
		sum := 0.0
		for j := range k {
			p := append(cases.BroadcastIndex(x.Shape()[:ra-2], outer), r, j)
			q := append(cases.BroadcastIndex(y.Shape()[:rb-2], outer), j, c)
			sum += cases.Number(x, cases.Flat(x.Shape(), p...)) * cases.Number(y, cases.Flat(y.Shape(), q...))
		}
		cases.SetNumber(z, i, sum)
	})
	out := slices.Clone(batch)
	if len(sa) > 1 {
		out = append(out, m)
	}
	if len(sb) > 1 {
		out = append(out, n)
	}
	return cases.Seen(z, out...)
}

func gemmCases(s *cases.Suite, d tensor.DType, first int) {
	const m, k, n = 5, 7, 18
	for _, trans := range [][2]int{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
		a, b := s.Any(d, m, k), s.Any(d, k, n)
		x, y := a, b
		if trans[0] == 1 {
			x = cases.Transposed(a)
		}
		if trans[1] == 1 {
			y = cases.Transposed(b)
		}
		for _, shape := range [][]int{{m, n}, {n}, {m, 1}, {1, 1}, {}} {
			c := s.Any(d, shape...)
			version := max(first, 7)
			s.Add(cases.Case{Op: "Gemm", Version: version, Attrs: cases.Attrs("transA", trans[0], "transB", trans[1]), In: cases.In(x, y, c),
				Want: cases.Want(gemm(d, a, b, c, 1, 1)), Ulps: 64})
			scale := cases.Attrs("transA", trans[0], "transB", trans[1], "alpha", 2.0, "beta", 3.0)
			s.Add(cases.Case{Op: "Gemm", Version: version, Note: "scaled", Attrs: scale, In: cases.In(x, y, c),
				Want: cases.Want(gemm(d, a, b, c, 2, 3)), Ulps: 256})
		}
		s.Add(cases.Case{Op: "Gemm", Version: max(first, 11), Note: "no bias", Attrs: cases.Attrs("transA", trans[0], "transB", trans[1]), In: cases.In(x, y),
			Want: cases.Want(gemm(d, a, b, nil, 1, 1)), Ulps: 64})
		if !d.IsInteger() {
			c := s.Any(d, n)
			old := cases.Attrs("transA", trans[0], "transB", trans[1], "broadcast", 1)
			s.Add(cases.Case{Op: "Gemm", Version: 1, Until: 7, Attrs: old, In: cases.In(x, y, c),
				Want: cases.Want(gemm(d, a, b, c, 1, 1)), Ulps: 64})
		}
	}
	zero := tensor.New(d, 0, n)
	c := s.Any(d, n)
	s.Add(cases.Case{Op: "Gemm", Version: max(first, 7), Note: "no sum", In: cases.In(tensor.New(d, m, 0), zero, c),
		Want: cases.Want(gemm(d, tensor.New(d, m, 0), zero, c, 1, 1))})
}

// gemm returns alpha·a·b + beta·c.
func gemm(d tensor.DType, a, b, c *tensor.Tensor, alpha, beta float64) *tensor.Tensor {
	m, k, n := a.Shape()[0], a.Shape()[1], b.Shape()[1]
	z := tensor.New(d, m, n)
	cases.Each(z.Shape(), func(i int, at []int) {
		sum := 0.0
		for j := range k {
			sum += cases.Number(a, at[0]*k+j) * cases.Number(b, j*n+at[1])
		}
		sum *= alpha
		if c != nil {
			sum += beta * cases.Number(c, cases.Flat(c.Shape(), cases.BroadcastIndex(c.Shape(), at)...))
		}
		cases.SetNumber(z, i, sum)
	})
	return z
}
