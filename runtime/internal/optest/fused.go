package optest

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sumMatMulCases add a vector and a value to products, and apply a function.
func sumMatMulCases(s *suite, d tensor.DType) {
	for _, c := range []struct{ m, k, n, batch int }{{3, 20, 17, 2}, {1, 700, 33, 1}, {0, 4, 5, 1}} {
		a, b, v, z := s.any(d, c.batch, c.m, c.k), s.any(d, c.k, c.n), s.any(d, c.n), s.any(d, c.batch, c.m, c.n)
		for _, f := range fusedFunctions {
			y := filled(d, func(at []int) float64 {
				sum := number(v, at[2]) + number(z, flat(z.Shape(), at...))
				for p := range c.k {
					sum += number(a, flat(a.Shape(), at[0], at[1], p)) * number(b, p*c.n+at[2])
				}
				return f.of(sum)
			}, c.batch, c.m, c.n)
			s.add(Case{Domain: "nacre", Op: "FusedMatMul", Version: 1, Attrs: attrs("activation", f.name, "activation_params", f.params),
				In: in(a, b, v, z), Want: want(y), Ulps: 64})
		}
	}
	a, b := s.any(d, 4, 5), s.any(d, 5, 6)
	for _, more := range [][]*tensor.Tensor{{s.any(d, 5), nil}, {s.any(d, 1, 6), nil}, {nil, s.any(d, 6)}} {
		s.add(Case{Domain: "nacre", Op: "FusedMatMul", Version: 1, Note: "shape", In: in(a, b, more[0], more[1]), Fails: graph.ErrShape})
	}
}

// fusedFunctions are functions that may stand behind sums.
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
