package openinfer

import (
	"math"
	"math/big"
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// numbered is an operator with optional numbers as its last inputs.
type numbered struct {
	name  string
	types []tensor.DType
	// operands is the number of operands before the numbers.
	operands int
	// numbers lists the numbers of the cases. Only elements that are floats get floats.
	numbers [][]any
	ints    func(d tensor.DType, x []*big.Int, p []any) *big.Int
	floats  func(x []float64, p []any, single func(float64) float64) float64
}

// inputOf returns a number as a tensor of int64, uint64, float64 or bool.
func inputOf(v any) *tensor.Tensor {
	switch v := v.(type) {
	case int:
		return cases.Scalar(tensor.I64, float64(v))
	case uint64:
		t := tensor.New(tensor.U64)
		putBitsAt(t, 0, v)
		return t
	case float64:
		return cases.Scalar(tensor.F64, v)
	case bool:
		return cases.Scalar(tensor.Bool, cases.Truth(v))
	}
	return nil
}

// wholeOf returns a number as an integer, or def if it is left out.
func wholeOf(v any, def int64) *big.Int {
	switch v := v.(type) {
	case int:
		return big.NewInt(int64(v))
	case uint64:
		return new(big.Int).SetUint64(v)
	case bool:
		return truth(v)
	}
	return big.NewInt(def)
}

// realOf returns a number as a float, or def if it is left out.
func realOf(v any, def float64) float64 {
	switch v := v.(type) {
	case nil:
		return def
	case float64:
		return v
	case bool:
		return cases.Truth(v)
	}
	f, _ := new(big.Float).SetInt(wholeOf(v, 0)).Float64()
	return f
}

// limits returns the least and the greatest integer of type d.
func limits(d tensor.DType) (low, high *big.Int) {
	size := new(big.Int).Lsh(big.NewInt(1), uint(d.Bits()))
	if !isSigned(d) {
		return new(big.Int), size.Sub(size, big.NewInt(1))
	}
	half := size.Rsh(size, 1)
	return new(big.Int).Neg(half), new(big.Int).Sub(half, big.NewInt(1))
}

func limited(v, low, high *big.Int) *big.Int {
	if v.Cmp(low) < 0 {
		v = low
	}
	if v.Cmp(high) > 0 {
		v = high
	}
	return v
}

var (
	masks  = [][]any{{nil}, {3}, {-1}, {true}, {uint64(7)}, {2.5}}
	counts = [][]any{{-3}, {0}, {1}, {3}, {7}, {8}, {9}, {63}, {64}, {70}, {uint64(2)}}
)

func scalarCases(s *cases.Suite) {
	for _, f := range []numbered{
		{"div", numbers, 2, masks, quotientOf((*big.Int).Quo), divided},
		{"floor_div", integers, 2, masks, quotientOf((*big.Int).Div), nil}, // Div is Euclidean division
		{"recip", floats, 1, masks, nil, func(x []float64, p []any, single func(float64) float64) float64 {
			return divided([]float64{1, x[0]}, p, single)
		}},
		{"relu", slices.Concat(floats, signed), 1, [][]any{{nil, nil}, {2, nil}, {nil, 3}, {-3, 5}, {0.25, 4.0}, {0.1, math.Inf(1)}}, reluOf, reluFloats},
		{"clamp", slices.Concat(floats, integers), 1, [][]any{{nil, nil}, {0, 3}, {nil, 1}, {-1, nil}, {5, 2}, {-1000, uint64(1000)}, {-0.5, 2.5}}, clampOf, clampFloats},
		{"shl", integers, 1, counts, shifted((*big.Int).Lsh), nil},
		{"shr", integers, 1, counts, shifted((*big.Int).Rsh), nil},
		{"fill", all, 1, [][]any{{0}, {1}, {-1}, {300}, {true}, {uint64(math.MaxUint64)}, {1.5}}, func(_ tensor.DType, _ []*big.Int, p []any) *big.Int { return wholeOf(p[0], 0) },
			func(_ []float64, p []any, _ func(float64) float64) float64 { return realOf(p[0], 0) }},
	} {
		for _, d := range f.types {
			for _, p := range f.numbers {
				numberedCase(s, f, d, p)
			}
		}
	}
}

func numberedCase(s *cases.Suite, f numbered, d tensor.DType, p []any) {
	if slices.ContainsFunc(p, func(v any) bool { _, float := v.(float64); return float }) && !d.IsFloat() {
		return
	}
	in := cases.In(some(s, d, 3, 5))
	if f.operands == 2 {
		a, b := crossed(s, d)
		in = cases.In(a, b)
	}
	var def definition
	if f.ints != nil {
		def.ints = func(_ int, x []*big.Int) *big.Int { return f.ints(d, x, p) }
	}
	if f.floats != nil {
		def.floats = func(_ tensor.DType, x []float64) float64 {
			return f.floats(x, p, func(v float64) float64 { return narrow(d, v) })
		}
	}
	want := computed(def, d, in...)
	for _, v := range p {
		in = append(in, inputOf(v))
	}
	s.Add(cases.Case{Domain: domain, Op: f.name, Version: 1, In: in, Want: cases.Want(want), Ulps: flushed[d]})
}

func quotientOf(f func(z, x, y *big.Int) *big.Int) func(tensor.DType, []*big.Int, []any) *big.Int {
	return func(_ tensor.DType, x []*big.Int, p []any) *big.Int {
		if x[1].Sign() == 0 {
			return wholeOf(p[0], 0)
		}
		return f(new(big.Int), x[0], x[1])
	}
}

func divided(x []float64, p []any, single func(float64) float64) float64 {
	if x[1] == 0 {
		return single(realOf(p[0], math.NaN()))
	}
	return x[0] / x[1]
}

// reluOf wraps products in the width of elements, or in 8 bits if that is wider.
func reluOf(d tensor.DType, x []*big.Int, p []any) *big.Int {
	v := x[0]
	if v.Sign() < 0 {
		v = wrapped(new(big.Int).Mul(v, wholeOf(p[0], 0)), max(d.Bits(), 8), true)
	}
	if p[1] != nil {
		_, high := limits(d)
		v = limited(v, v, limited(wholeOf(p[1], 0), new(big.Int).Neg(high), high))
	}
	return v
}

func reluFloats(x []float64, p []any, single func(float64) float64) float64 {
	v := x[0]
	if !(v >= 0) {
		v = single(v * single(realOf(p[0], 0)))
	}
	if high := single(realOf(p[1], math.Inf(1))); v > high {
		v = high
	}
	return v
}

func clampOf(d tensor.DType, x []*big.Int, p []any) *big.Int {
	least, most := limits(d)
	low, high := least, most
	if p[0] != nil {
		low = limited(wholeOf(p[0], 0), least, most)
	}
	if p[1] != nil {
		high = limited(wholeOf(p[1], 0), least, most)
	}
	v := x[0]
	if v.Cmp(low) < 0 {
		v = low
	}
	if v.Cmp(high) > 0 {
		v = high
	}
	return v
}

func clampFloats(x []float64, p []any, single func(float64) float64) float64 {
	v := x[0]
	if low := single(realOf(p[0], math.Inf(-1))); v < low {
		v = low
	}
	if high := single(realOf(p[1], math.Inf(1))); v > high {
		v = high
	}
	return v
}

// shifted takes counts modulo 64, or modulo 8 for elements narrower than a byte.
func shifted(f func(z, x *big.Int, n uint) *big.Int) func(tensor.DType, []*big.Int, []any) *big.Int {
	return func(d tensor.DType, x []*big.Int, p []any) *big.Int {
		n := wholeOf(p[0], 0).Int64()
		switch {
		case n < 0:
			n = 0
		case d.Bits() < 8:
			n %= 8
		default:
			n %= 64
		}
		return f(new(big.Int), x[0], uint(n))
	}
}
