package optest

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var productTypes = slices.Concat(floats, []tensor.DType{tensor.I32, tensor.I64, tensor.U32, tensor.U64})

func matmulCases(s *suite) {
	pairs := [][2][]int{
		{{3, 4}, {4, 5}}, {{4}, {4}}, {{4}, {4, 5}}, {{3, 4}, {4}}, {{1, 1}, {1, 1}}, {{3, 0}, {0, 5}}, {{0, 3}, {3, 5}},
		{{2, 3, 4}, {4, 5}}, {{3, 4}, {2, 4, 5}}, {{2, 1, 3, 4}, {5, 4, 2}}, {{2, 3, 4}, {4}}, {{4}, {2, 4, 5}},
		{{17, 33}, {33, 35}}, {{1, 70}, {70, 67}}, {{65, 19}, {19, 1}},
	}
	for _, d := range productTypes {
		version := 1
		if d.IsInteger() {
			version = 9
		}
		if d == tensor.BF16 {
			version = 13
		}
		for _, p := range pairs {
			a, b := s.any(d, p[0]...), s.any(d, p[1]...)
			s.add(Case{Op: "MatMul", Version: version, In: in(a, b), Want: want(product(d, a, b)), Ulps: 64})
		}
		gemmCases(s, d, version)
	}
	for _, p := range [][2][]int{{{61, 300}, {300, 129}}, {{200, 64}, {64, 200}}, {{1, 515}, {515, 260}}} {
		a, b := s.any(tensor.F32, p[0]...), s.any(tensor.F32, p[1]...)
		s.add(Case{Op: "MatMul", Version: 1, Note: "large", In: in(a, b), Want: want(product(tensor.F32, a, b)), Ulps: 2000})
	}
	s.add(Case{Op: "MatMul", Version: 1, Note: "inner extents", In: in(s.any(tensor.F32, 2, 3), s.any(tensor.F32, 4, 2)), Fails: graph.ErrShape})
	s.add(Case{Op: "MatMul", Version: 1, Note: "scalar", In: in(s.any(tensor.F32), s.any(tensor.F32, 4, 2)), Fails: graph.ErrShape})
}

// product is the matrix product with the rules of numpy.matmul.
func product(d tensor.DType, a, b *tensor.Tensor) *tensor.Tensor {
	sa, sb := a.Shape(), b.Shape()
	x, y := a, b
	if len(sa) == 1 {
		x = seen(a, 1, sa[0])
	}
	if len(sb) == 1 {
		y = seen(b, sb[0], 1)
	}
	ra, rb := len(x.Shape()), len(y.Shape())
	m, k, n := x.Shape()[ra-2], x.Shape()[ra-1], y.Shape()[rb-1]
	batch := broadcastShape(x.Shape()[:ra-2], y.Shape()[:rb-2])
	z := tensor.New(d, slices.Concat(batch, []int{m, n})...)
	each(z.Shape(), func(i int, at []int) {
		r, c := at[len(at)-2], at[len(at)-1]
		outer := at[:len(at)-2]
		sum := 0.0
		for j := range k {
			p := append(broadcastIndex(x.Shape()[:ra-2], outer), r, j)
			q := append(broadcastIndex(y.Shape()[:rb-2], outer), j, c)
			sum += number(x, flat(x.Shape(), p...)) * number(y, flat(y.Shape(), q...))
		}
		setNumber(z, i, sum)
	})
	out := slices.Clone(batch)
	if len(sa) > 1 {
		out = append(out, m)
	}
	if len(sb) > 1 {
		out = append(out, n)
	}
	return seen(z, out...)
}

func gemmCases(s *suite, d tensor.DType, first int) {
	const m, k, n = 5, 7, 18
	for _, trans := range [][2]int{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
		a, b := s.any(d, m, k), s.any(d, k, n)
		x, y := a, b
		if trans[0] == 1 {
			x = transposed(a)
		}
		if trans[1] == 1 {
			y = transposed(b)
		}
		for _, shape := range [][]int{{m, n}, {n}, {m, 1}, {1, 1}, {}} {
			c := s.any(d, shape...)
			version := max(first, 7)
			s.add(Case{Op: "Gemm", Version: version, Attrs: attrs("transA", trans[0], "transB", trans[1]), In: in(x, y, c),
				Want: want(gemm(d, a, b, c, 1, 1)), Ulps: 64})
			scale := attrs("transA", trans[0], "transB", trans[1], "alpha", 2.0, "beta", 3.0)
			s.add(Case{Op: "Gemm", Version: version, Note: "scaled", Attrs: scale, In: in(x, y, c), Want: want(gemm(d, a, b, c, 2, 3)), Ulps: 256})
		}
		s.add(Case{Op: "Gemm", Version: max(first, 11), Note: "no bias", Attrs: attrs("transA", trans[0], "transB", trans[1]), In: in(x, y),
			Want: want(gemm(d, a, b, nil, 1, 1)), Ulps: 64})
		if !d.IsInteger() {
			c := s.any(d, n)
			old := attrs("transA", trans[0], "transB", trans[1], "broadcast", 1)
			s.add(Case{Op: "Gemm", Version: 1, Until: 7, Attrs: old, In: in(x, y, c), Want: want(gemm(d, a, b, c, 1, 1)), Ulps: 64})
		}
	}
	zero := tensor.New(d, 0, n)
	c := s.any(d, n)
	s.add(Case{Op: "Gemm", Version: max(first, 7), Note: "no sum", In: in(tensor.New(d, m, 0), zero, c), Want: want(gemm(d, tensor.New(d, m, 0), zero, c, 1, 1))})
}

func transposed(x *tensor.Tensor) *tensor.Tensor {
	sh := x.Shape()
	return pick(x, tensor.Shape{sh[1], sh[0]}, func(at []int) []int { return []int{at[1], at[0]} })
}

// gemm is alpha·a·b + beta·c.
func gemm(d tensor.DType, a, b, c *tensor.Tensor, alpha, beta float64) *tensor.Tensor {
	m, k, n := a.Shape()[0], a.Shape()[1], b.Shape()[1]
	z := tensor.New(d, m, n)
	each(z.Shape(), func(i int, at []int) {
		sum := 0.0
		for j := range k {
			sum += number(a, at[0]*k+j) * number(b, j*n+at[1])
		}
		sum *= alpha
		if c != nil {
			sum += beta * number(c, flat(c.Shape(), broadcastIndex(c.Shape(), at)...))
		}
		setNumber(z, i, sum)
	})
	return z
}
