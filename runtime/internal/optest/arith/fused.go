package arith

import (
	"math"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sumMatMulCases adds a vector and a value to products and applies a function.
func sumMatMulCases(s *cases.Suite, d tensor.DType) {
	for _, c := range []struct{ m, k, n, batch int }{{3, 20, 17, 2}, {1, 700, 33, 1}, {0, 4, 5, 1}} {
		a, b, v, z := s.Any(d, c.batch, c.m, c.k), s.Any(d, c.k, c.n), s.Any(d, c.n), s.Any(d, c.batch, c.m, c.n)
		for _, f := range fusedFunctions {
			y := cases.Filled(d, func(at []int) float64 {
				sum := cases.Number(v, at[2]) + cases.Number(z, cases.Flat(z.Shape(), at...))
				for p := range c.k {
					sum += cases.Number(a, cases.Flat(a.Shape(), at[0], at[1], p)) * cases.Number(b, p*c.n+at[2])
				}
				return f.of(sum)
			}, c.batch, c.m, c.n)
			s.Add(cases.Case{Domain: "nacre", Op: "MatMulBias", Version: 1, Attrs: cases.Attrs("activation", f.name, "activation_params", f.params),
				In: cases.In(a, b, v, z), Want: cases.Want(y), Ulps: max(256, float64(c.k))})
		}
	}
	a, b := s.Any(d, 4, 5), s.Any(d, 5, 6)
	for _, more := range [][]*tensor.Tensor{{s.Any(d, 5), nil}, {s.Any(d, 1, 6), nil}, {nil, s.Any(d, 6)}} {
		s.Add(cases.Case{Domain: "nacre", Op: "MatMulBias", Version: 1, Note: "shape", In: cases.In(a, b, more[0], more[1]),
			Fails: graph.ErrShape})
	}
}

// widenedCases multiplies float32 by weights of 16 bits.
func widenedCases(s *cases.Suite) {
	for _, d := range []tensor.DType{tensor.F16, tensor.BF16} {
		for _, c := range []struct{ m, k, n, trans int }{{3, 20, 17, 0}, {1, 90, 33, 1}, {5, 64, 40, 1}} {
			a, b, v := s.Any(tensor.F32, c.m, c.k), s.Any(d, c.k, c.n), s.Any(tensor.F32, c.n)
			if c.trans == 1 {
				b = s.Any(d, c.n, c.k)
			}
			y := cases.Filled(tensor.F32, func(at []int) float64 {
				sum := cases.Number(v, at[1])
				for p := range c.k {
					w := p*c.n + at[1]
					if c.trans == 1 {
						w = at[1]*c.k + p
					}
					sum += cases.Number(a, at[0]*c.k+p) * cases.Number(b, w)
				}
				return sum
			}, c.m, c.n)
			s.Add(cases.Case{Domain: "nacre", Op: "WidenedGemm", Version: 1, Attrs: cases.Attrs("transB", c.trans),
				In: cases.In(a, b, v), Want: cases.Want(y), Ulps: 256})
		}
	}
	for i, b := range packed.BlockTypes {
		d := tensor.OfBlocks(b)
		c := blocksExtents[i%len(blocksExtents)]
		blocksCase(s, d, c.m, c.blocks*b.Elements, c.n, []int{c.n}, 1, 1)
	}
	for _, c := range []struct {
		addend      []int
		alpha, beta float64
	}{{nil, 1, 1}, {[]int{3, 1}, 1, 1}, {[]int{3, 5}, 1, 0.5}, {[]int{5}, 0.25, 2}, {[]int{1}, 2, 3}, {[]int{3, 5}, 1, 0}} {
		blocksCase(s, tensor.Q4_0, 3, 64, 5, c.addend, c.alpha, c.beta)
	}
	blocks, wide := s.Any(tensor.Q8_0, 32, 32), s.Any(tensor.F32, 32, 32)
	s.Add(cases.Case{Domain: "nacre", Op: "WidenedGemm", Version: 1, Note: "blocks of columns", In: cases.In(wide, blocks), Fails: graph.ErrUnsupported})
	s.Add(cases.Case{Domain: "nacre", Op: "WidenedGemm", Version: 1, Attrs: cases.Attrs("transA", 1, "transB", 1), Note: "transposed rows", In: cases.In(wide, blocks), Fails: graph.ErrUnsupported})
	s.Add(cases.Case{Op: "Gemm", Version: 13, Attrs: cases.Attrs("transB", 1), Note: "blocks", In: cases.In(wide, blocks), Fails: graph.ErrUnsupported})
	a, b := s.Any(tensor.F32, 4, 5), s.Any(tensor.F32, 5, 6)
	s.Add(cases.Case{Domain: "nacre", Op: "WidenedGemm", Version: 1, Note: "weights of 32 bits", In: cases.In(a, b),
		Fails: graph.ErrShape})
}

// blocksExtents are the rows, columns and blocks of a column of products.
var blocksExtents = []struct{ m, n, blocks int }{{1, 33, 5}, {3, 20, 1}, {26, 70, 3}, {5, 1, 2}}

// blocksCase multiplies float32 by weights in blocks, and adds beta*C.
func blocksCase(s *cases.Suite, d tensor.DType, m, k, n int, addend []int, alpha, beta float64) {
	a, b := s.Any(tensor.F32, m, k), s.Any(d, n, k)
	in := cases.In(a, b)
	if addend != nil {
		in = append(in, s.Any(tensor.F32, addend...))
	}
	x, w := cases.Numbers(a), cases.Numbers(b)
	y := cases.Filled(tensor.F32, func(at []int) float64 {
		sum := 0.0
		for p := range k {
			sum += x[at[0]*k+p] * w[at[1]*k+p]
		}
		sum *= alpha
		if addend != nil {
			row, column := addend[len(addend)-1] > 1, len(addend) > 1
			i := 0
			if column {
				i = at[0] * addend[1]
			}
			if row {
				i += at[1]
			}
			sum += beta * cases.Number(in[2], i)
		}
		return sum
	}, m, n)
	s.Add(cases.Case{Domain: "nacre", Op: "WidenedGemm", Version: 1, Attrs: cases.Attrs("transB", 1, "alpha", alpha, "beta", beta), In: in, Want: cases.Want(y), Ulps: float64(512 + k)})
}

// fusedFunctions lists functions that may follow sums.
var fusedFunctions = []struct {
	name   string
	params []float64
	of     func(x float64) float64
}{
	{"", nil, func(x float64) float64 { return x }},
	{"Relu", nil, func(x float64) float64 { return max(x, 0) }},
	{"Clip", []float64{-0.5, 2}, func(x float64) float64 { return min(max(x, -0.5), 2) }},
	{"LeakyRelu", []float64{0.25}, func(x float64) float64 { return max(x, 0.25*x) }},
	{"Sigmoid", nil, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
	{"Swish", []float64{1}, func(x float64) float64 { return x / (1 + math.Exp(-x)) }},
	{"HardSwish", nil, func(x float64) float64 { return x * min(max(x/6+0.5, 0), 1) }},
	{"Gelu", nil, func(x float64) float64 { return x * 0.5 * math.Erfc(-x/math.Sqrt2) }},
}

func fastGelu(x float64) float64 {
	return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

func biasedGelus(s *cases.Suite, d tensor.DType) {
	x, bias := s.Any(d, 3, 1025), s.Any(d, 1025)
	at := func(f func(x float64) float64, b *tensor.Tensor) *tensor.Tensor {
		return cases.Filled(d, func(at []int) float64 {
			v := cases.Number(x, cases.Flat(x.Shape(), at...))
			if b != nil {
				v += cases.Number(b, at[1])
			}
			return f(v)
		}, 3, 1025)
	}
	const ulps = 16
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "Gelu", Version: 1, In: cases.In(x), Want: cases.Want(at(gelu, nil)),
		Ulps: ulps})
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "BiasGelu", Version: 1, In: cases.In(x, bias),
		Want: cases.Want(at(gelu, bias)), Ulps: ulps})
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "FastGelu", Version: 1, In: cases.In(x),
		Want: cases.Want(at(fastGelu, nil)), Ulps: ulps})
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "FastGelu", Version: 1, In: cases.In(x, bias),
		Want: cases.Want(at(fastGelu, bias)), Ulps: ulps})
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "QuickGelu", Version: 1, Attrs: cases.Attrs("alpha", 0.5), In: cases.In(x), Ulps: ulps,
		Want: cases.Want(at(func(x float64) float64 { return x / (1 + math.Exp(-x/2)) }, nil))})
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "BiasGelu", Version: 1, Note: "a bias of another length",
		In: cases.In(x, s.Any(d, 1024)), Fails: graph.ErrShape})
}

// fusedProducts adds products of operands with permuted axes, and products with an activation.
func fusedProducts(s *cases.Suite, d tensor.DType) {
	const m, k, n, batch = 3, 20, 17, 2
	a, b := s.Any(d, batch, m, k), s.Any(d, k, batch, n)
	y := cases.Filled(d, func(at []int) float64 {
		sum := 0.0
		for p := range k {
			sum += cases.Number(a, (at[0]*m+at[1])*k+p) * cases.Number(b, (p*batch+at[0])*n+at[2])
		}
		return sum * 0.5
	}, batch, m, n)
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "FusedMatMul", Version: 1,
		Attrs: cases.Attrs("alpha", 0.5, "transBatchB", 1), In: cases.In(a, b), Want: cases.Want(y), Ulps: 32})
	at := cases.Filled(d, func(i []int) float64 { return cases.Number(a, (i[0]*m+i[2])*k+i[1]) }, batch, k, m)
	bt := cases.Filled(d, func(i []int) float64 { return cases.Number(b, (i[2]*batch+i[0])*n+i[1]) }, batch, n, k)
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "FusedMatMul", Version: 1,
		Attrs: cases.Attrs("alpha", 0.5, "transA", 1, "transB", 1), In: cases.In(at, bt), Want: cases.Want(y), Ulps: 32})
	x, w, c := s.Any(d, m, k), s.Any(d, n, k), s.Any(d, n)
	y = cases.Filled(d, func(at []int) float64 {
		sum := cases.Number(c, at[1])
		for p := range k {
			sum += cases.Number(x, at[0]*k+p) * cases.Number(w, at[1]*k+p)
		}
		if sum < 0 {
			sum *= 0.25
		}
		return sum
	}, m, n)
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "FusedGemm", Version: 1, In: cases.In(x, w, c), Want: cases.Want(y), Ulps: 32,
		Attrs: cases.Attrs("transB", 1, "activation", "LeakyRelu", "activation_alpha", 0.25)})
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "FusedGemm", Version: 1, Note: "an activation that is none", In: cases.In(x, w, c), Fails: graph.ErrUnsupported,
		Attrs: cases.Attrs("transB", 1, "activation", "Softmax")})
}

// fusedCases adds functions of sums, and products followed by functions.
func fusedCases(s *cases.Suite) {
	for _, d := range cases.Floats {
		biasedGelus(s, d)
		fusedProducts(s, d)
		sumMatMulCases(s, d)
	}
}
