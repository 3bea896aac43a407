package openinfer

import (
	"math"
	"math/bits"
)

func add[C number](y []C, in [][]C, _ *params[C]) {
	a, b := in[0], in[1]
	for i := range y {
		y[i] = a[i] + b[i]
	}
}

func sub[C number](y []C, in [][]C, _ *params[C]) {
	a, b := in[0], in[1]
	for i := range y {
		y[i] = a[i] - b[i]
	}
}

func mul[C number](y []C, in [][]C, _ *params[C]) {
	a, b := in[0], in[1]
	for i := range y {
		y[i] = a[i] * b[i]
	}
}

// quotient divides and rounds integers towards zero. Division by zero gives p.A.
func quotient[C number](y []C, in [][]C, p *params[C]) {
	for i, b := range in[1] {
		if b == 0 {
			y[i] = p.A
		} else {
			y[i] = in[0][i] / b
		}
	}
}

// euclid divides such that the remainder is not negative. Division by zero gives p.A.
func euclid(y []int64, in [][]int64, p *params[int64]) {
	for i, b := range in[1] {
		a := in[0][i]
		switch {
		case b == 0:
			y[i] = p.A
		case a%b >= 0:
			y[i] = a / b
		case b > 0:
			y[i] = a/b - 1
		default:
			y[i] = a/b + 1
		}
	}
}

// remainder has the sign of the dividend. For a zero divisor it is 0.
func remainder[C int64 | uint64](y []C, in [][]C, _ *params[C]) {
	for i, b := range in[1] {
		y[i] = 0
		if b != 0 {
			y[i] = in[0][i] % b
		}
	}
}

func magnitude(y []int64, in [][]int64, _ *params[int64]) {
	for i, a := range in[0] {
		y[i] = a
		if a < 0 {
			y[i] = -a
		}
	}
}

func absolute[C float32 | float64](y []C, in [][]C, _ *params[C]) {
	for i, a := range in[0] {
		y[i] = C(math.Abs(float64(a)))
	}
}

func negate[C number](y []C, in [][]C, _ *params[C]) {
	for i, a := range in[0] {
		y[i] = -a
	}
}

// sign returns -1, 0 or 1. The sign of a NaN is 0.
func sign[C number](y []C, in [][]C, _ *params[C]) {
	for i, a := range in[0] {
		y[i] = is[C](a > 0) - is[C](a < 0)
	}
}

// is returns 1 for true and 0 for false.
func is[C number](v bool) C {
	if v {
		return 1
	}
	return 0
}

func reciprocal[C float32 | float64](y []C, in [][]C, p *params[C]) {
	for i, a := range in[0] {
		y[i] = p.A
		if a != 0 {
			y[i] = 1 / a
		}
	}
}

// fused32 computes a*b + c with one rounding. The product is exact in float64. If the sum is
// inexact in float64, its last bit is made odd.
func fused32(y []float32, in [][]float32, _ *params[float32]) {
	for i, a := range in[0] {
		product, c := float64(a)*float64(in[1][i]), float64(in[2][i])
		sum := product + c
		t := sum - product
		lost := (product - (sum - t)) + (c - t)
		if lost != 0 && lost == lost && math.Float64bits(sum)&1 == 0 {
			sum = math.Nextafter(sum, math.Inf(int(sign64(lost))))
		}
		y[i] = float32(sum)
	}
}

func sign64(v float64) float64 { return math.Copysign(1, v) }

func fused64(y []float64, in [][]float64, _ *params[float64]) {
	for i, a := range in[0] {
		y[i] = math.FMA(a, in[1][i], in[2][i])
	}
}

// relu multiplies negative elements by p.A. If p.Limit is set, it caps elements at p.B. A NaN stays
// NaN.
func relu[C float32 | float64](y []C, in [][]C, p *params[C]) {
	for i, a := range in[0] {
		if !(a >= 0) {
			a *= p.A
		}
		if p.Limit && a > p.B {
			a = p.B
		}
		y[i] = a
	}
}

// reluInts is relu for integers. Products wrap in the width of an element, or in 8 bits if that is
// wider.
func reluInts(y []int64, in [][]int64, p *params[int64]) {
	spare := 64 - max(p.bits, 8)
	for i, a := range in[0] {
		if a < 0 {
			a = a * p.A << spare >> spare
		}
		if p.Limit && a > p.B {
			a = p.B
		}
		y[i] = a
	}
}

// clamp raises elements to p.A, then lowers them to p.B. A NaN stays NaN.
func clamp[C number](y []C, in [][]C, p *params[C]) {
	for i, a := range in[0] {
		if a < p.A {
			a = p.A
		}
		if a > p.B {
			a = p.B
		}
		y[i] = a
	}
}

func rounded[C float32 | float64](round func(float64) float64) function[C] {
	return func(y []C, in [][]C, _ *params[C]) {
		for i, a := range in[0] {
			y[i] = C(round(float64(a)))
		}
	}
}

// least returns the smaller element and ignores a NaN beside a number.
func least[C number](y []C, in [][]C, _ *params[C]) {
	for i, a := range in[0] {
		if b := in[1][i]; b < a || a != a {
			a = b
		}
		y[i] = a
	}
}

// greatest returns the larger element and ignores a NaN beside a number.
func greatest[C number](y []C, in [][]C, _ *params[C]) {
	for i, a := range in[0] {
		if b := in[1][i]; b > a || a != a {
			a = b
		}
		y[i] = a
	}
}

func and[C int64 | uint64](y []C, in [][]C, _ *params[C]) {
	for i, a := range in[0] {
		y[i] = a & in[1][i]
	}
}

func or[C int64 | uint64](y []C, in [][]C, _ *params[C]) {
	for i, a := range in[0] {
		y[i] = a | in[1][i]
	}
}

func xor[C int64 | uint64](y []C, in [][]C, _ *params[C]) {
	for i, a := range in[0] {
		y[i] = a ^ in[1][i]
	}
}

// not flips the bits of an element. A bool has one bit.
func not[C int64 | uint64](y []C, in [][]C, p *params[C]) {
	mask := ^C(0)
	if p.bits < 64 {
		mask = C(1)<<p.bits - 1
	}
	for i, a := range in[0] {
		y[i] = a ^ mask
	}
}

// shiftLeft shifts bits up by p.A places.
func shiftLeft[C int64 | uint64](y []C, in [][]C, p *params[C]) {
	for i, a := range in[0] {
		y[i] = a << p.A
	}
}

// shiftRight shifts bits down by p.A places and keeps the sign.
func shiftRight[C int64 | uint64](y []C, in [][]C, p *params[C]) {
	for i, a := range in[0] {
		y[i] = a >> p.A
	}
}

// popcount counts the ones within the width of an element.
func popcount[C int64 | uint64](y []C, in [][]C, p *params[C]) {
	for i, a := range in[0] {
		y[i] = C(bits.OnesCount64(uint64(a) << (64 - p.bits)))
	}
}

func equal[C number](y []C, in [][]C, _ *params[C]) {
	for i, a := range in[0] {
		y[i] = is[C](a == in[1][i])
	}
}

func unequal[C number](y []C, in [][]C, _ *params[C]) {
	for i, a := range in[0] {
		y[i] = is[C](a != in[1][i])
	}
}

func less[C number](y []C, in [][]C, _ *params[C]) {
	for i, a := range in[0] {
		y[i] = is[C](a < in[1][i])
	}
}

func lessOrEqual[C number](y []C, in [][]C, _ *params[C]) {
	for i, a := range in[0] {
		y[i] = is[C](a <= in[1][i])
	}
}

func greater[C number](y []C, in [][]C, _ *params[C]) {
	for i, a := range in[0] {
		y[i] = is[C](a > in[1][i])
	}
}

func greaterOrEqual[C number](y []C, in [][]C, _ *params[C]) {
	for i, a := range in[0] {
		y[i] = is[C](a >= in[1][i])
	}
}

// filter selects from operand 0 where operand 2 is not 0, otherwise from operand 1.
func filter[C number](y []C, in [][]C, _ *params[C]) {
	for i, cond := range in[2] {
		y[i] = in[1][i]
		if cond != 0 {
			y[i] = in[0][i]
		}
	}
}

func negative[C number](y []C, in [][]C, _ *params[C]) {
	for i, a := range in[0] {
		y[i] = is[C](a < 0)
	}
}

// signBit reports the sign bit, which a negative zero has too.
func signBit[C float32 | float64](y []C, in [][]C, _ *params[C]) {
	for i, a := range in[0] {
		y[i] = is[C](math.Signbit(float64(a)))
	}
}

func fill[C number](y []C, _ [][]C, p *params[C]) {
	for i := range y {
		y[i] = p.A
	}
}
