package openinfer

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// ofOne returns the definition of an operator with one operand.
func ofOne(whole func(bits int, x *big.Int) *big.Int, real func(x float64) float64) definition {
	var f definition
	if whole != nil {
		f.ints = func(bits int, x []*big.Int) *big.Int { return whole(bits, x[0]) }
	}
	if real != nil {
		f.floats = func(_ tensor.DType, x []float64) float64 { return real(x[0]) }
	}
	return f
}

func (f definition) giving(d tensor.DType) definition {
	f.result = d
	return f
}

// rounds returns a function that rounds to a neighbouring whole number. up reports whether to round
// up.
func rounds(up func(below, x float64) bool) func(float64) float64 {
	return func(x float64) float64 {
		if x-x != 0 || math.Abs(x) >= 1<<53 {
			return x
		}
		below := float64(int64(x))
		if below > x {
			below--
		}
		if below != x && up(below, x) {
			below++
		}
		return math.Copysign(math.Abs(below), x)
	}
}

var lone = map[string]definition{
	"abs": ofOne(func(_ int, x *big.Int) *big.Int { return new(big.Int).Abs(x) }, math.Abs),
	"neg": ofOne(func(_ int, x *big.Int) *big.Int { return new(big.Int).Neg(x) }, func(x float64) float64 { return -x }),
	"sign": ofOne(func(_ int, x *big.Int) *big.Int { return big.NewInt(int64(x.Sign())) },
		func(x float64) float64 { return cases.Truth(x > 0) - cases.Truth(x < 0) }).giving(tensor.I8),
	"is_neg": ofOne(func(_ int, x *big.Int) *big.Int { return truth(x.Sign() < 0) },
		func(x float64) float64 { return cases.Truth(math.Float64bits(x)>>63 == 1) }).giving(tensor.Bool),
	"floor": ofOne(nil, rounds(func(_, _ float64) bool { return false })),
	"ceil":  ofOne(nil, rounds(func(_, _ float64) bool { return true })),
	"trunc": ofOne(nil, rounds(func(_, x float64) bool { return x < 0 })),
	"round": ofOne(nil, rounds(func(below, x float64) bool { return x-below > 0.5 || x-below == 0.5 && x > 0 })),
	"not": ofOne(func(bits int, x *big.Int) *big.Int {
		return new(big.Int).Sub(new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(bits)), big.NewInt(1)),
			wrapped(x, bits, false))
	}, nil),
	"popcount": ofOne(func(n int, x *big.Int) *big.Int {
		return big.NewInt(int64(bits.OnesCount64(wrapped(x, n, false).Uint64())))
	}, nil).giving(tensor.U8),
}

func loneCases(s *cases.Suite) {
	for _, name := range names(lone) {
		f := lone[name]
		for _, d := range f.takes() {
			if d.Kind() == tensor.Unsigned && (name == "abs" || name == "neg" || name == "sign") {
				continue
			}
			for _, x := range []*tensor.Tensor{edges(s, d), some(s, d, 5, 7), some(s, d), some(s, d, 0), some(s, d, 2061)} {
				s.Add(cases.Case{Domain: domain, Op: name, Version: 1, In: cases.In(x),
					Want: cases.Want(computed(f, f.makes(d), x))})
				if name != "abs" {
					continue
				}
				for _, acc := range wider(d) {
					s.Add(cases.Case{Domain: domain, Op: name, Version: 1, Note: "acc", Attrs: cases.Attrs("acc", acc.String()),
						In: cases.In(x), Want: cases.Want(computed(f, acc, x))})
				}
			}
		}
	}
	flip := ofOne(func(_ int, x *big.Int) *big.Int { return truth(x.Sign() == 0) }, nil)
	x := some(s, tensor.Bool, 5)
	s.Add(cases.Case{Domain: domain, Op: "not", Version: 1, In: cases.In(x),
		Want: cases.Want(computed(flip, tensor.Bool, x))})
	finiteCases(s)
}

func finiteCases(s *cases.Suite) {
	for _, d := range floats {
		for _, list := range [][]float64{{}, {1}, {1, math.NaN()}, {math.Inf(-1), 0, 3}, {-57344, 0, 0.25}} {
			x, want := tensor.New(d, len(list)), tensor.New(tensor.Bool)
			want.Bytes()[0] = 1
			for i, v := range list {
				putFloat(x, i, v)
				if v-v != 0 {
					want.Bytes()[0] = 0
				}
			}
			s.Add(cases.Case{Domain: domain, Op: "is_finite", Version: 1, In: cases.In(x), Want: cases.Want(want)})
		}
	}
}
