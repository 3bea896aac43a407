package optest

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// unary is an operator with one input of which every element becomes f of it.
type unary struct {
	op      string
	version int
	types   []tensor.DType
	f       func(x float64) float64
	lo, hi  float64 // of the elements to try
	ulps    float64
	attrs   []*graph.Attr
}

func eltwiseCases(s *suite) {
	unaryCases(s)
	binaryCases(s)
	variadicCases(s)
	clipCases(s)
	integerCases(s)
}

// applied is f of every element.
func applied(x *tensor.Tensor, f func(float64) float64) *tensor.Tensor {
	list := numbers(x)
	for i, v := range list {
		list[i] = f(v)
	}
	return fromNumbers(x.DType(), list, x.Shape()...)
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func softplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

// choose is a where ok holds, else b.
func choose(ok bool, a, b float64) float64 {
	if ok {
		return a
	}
	return b
}

func elu(x, alpha float64) float64 { return choose(x < 0, alpha*math.Expm1(x), x) }

func selu(x, alpha, gamma float64) float64 { return gamma * elu(x, alpha) }

func gelu(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) }

func geluTanh(x float64) float64 {
	return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

func hardSigmoid(x, alpha, beta float64) float64 { return math.Max(0, math.Min(1, alpha*x+beta)) }

func unaries() []unary {
	numericSigned := slices.Concat(floats, signed)
	list := []unary{
		{"Abs", 1, numeric, math.Abs, -9, 9, 0, nil},
		{"Neg", 1, numericSigned, func(x float64) float64 { return -x }, -9, 9, 0, nil},
		{"Sign", 9, numeric, sign, -2, 2, 0, nil},
		{"Relu", 1, floats, func(x float64) float64 { return math.Max(x, 0) }, -9, 9, 0, nil},
		{"Relu", 14, signed, func(x float64) float64 { return math.Max(x, 0) }, -9, 9, 0, nil},
		{"Floor", 1, floats, math.Floor, -9, 9, 0, nil},
		{"Ceil", 1, floats, math.Ceil, -9, 9, 0, nil},
		{"Round", 11, floats, math.RoundToEven, -9, 9, 0, nil},
		{"Sqrt", 1, floats, math.Sqrt, 0, 100, 1, nil},
		{"Reciprocal", 1, floats, func(x float64) float64 { return 1 / x }, 0.1, 9, 1, nil},
		{"Exp", 1, floats, math.Exp, -20, 5, 3, nil},
		{"Log", 1, floats, math.Log, 0.01, 100, 3, nil},
		{"Sigmoid", 1, floats, sigmoid, -20, 20, 3, nil},
		{"Tanh", 1, floats, math.Tanh, -12, 12, 3, nil},
		{"Softplus", 1, floats, softplus, -30, 30, 3, nil},
		{"Softsign", 1, floats, func(x float64) float64 { return x / (1 + math.Abs(x)) }, -9, 9, 2, nil},
		{"LeakyRelu", 1, floats, func(x float64) float64 { return choose(x < 0, float64(float32(0.01))*x, x) }, -9, 9, 2, nil},
		{"LeakyRelu", 6, floats, func(x float64) float64 { return choose(x < 0, 0.25*x, x) }, -9, 9, 2, attrs("alpha", 0.25)},
		{"ThresholdedRelu", 10, floats, func(x float64) float64 { return choose(x > 1, x, 0) }, -3, 3, 0, nil},
		{"ThresholdedRelu", 10, floats, func(x float64) float64 { return choose(x > -0.5, x, 0) }, -3, 3, 0, attrs("alpha", -0.5)},
		{"Elu", 1, floats, func(x float64) float64 { return elu(x, 1) }, -9, 9, 3, nil},
		{"Elu", 6, floats, func(x float64) float64 { return elu(x, 0.5) }, -9, 9, 3, attrs("alpha", 0.5)},
		{"Celu", 12, floats, func(x float64) float64 { return choose(x < 0, 2*math.Expm1(x/2), x) }, -9, 9, 4, attrs("alpha", 2.0)},
		{"Selu", 6, floats, func(x float64) float64 { return selu(x, 1.67326319217681884765625, 1.05070102214813232421875) }, -9, 9, 4, nil},
		{"Selu", 1, floats, func(x float64) float64 { return selu(x, 2, 0.5) }, -9, 9, 4, attrs("alpha", 2.0, "gamma", 0.5)},
		{"HardSigmoid", 1, floats, func(x float64) float64 { return hardSigmoid(x, float64(float32(0.2)), 0.5) }, -4, 4, 2, nil},
		{"HardSigmoid", 6, floats, func(x float64) float64 { return hardSigmoid(x, 0.5, 0.25) }, -4, 4, 2, attrs("alpha", 0.5, "beta", 0.25)},
		{"HardSwish", 14, floats, func(x float64) float64 { return x * hardSigmoid(x, 1.0/6, 0.5) }, -5, 5, 4, nil},
		{"Swish", 24, floats, func(x float64) float64 { return x * sigmoid(x) }, -9, 9, 4, nil},
		{"Swish", 24, floats, func(x float64) float64 { return x * sigmoid(2*x) }, -9, 9, 4, attrs("alpha", 2.0)},
		{"Mish", 18, floats, func(x float64) float64 { return x * math.Tanh(softplus(x)) }, -9, 9, 4, nil},
		{"Gelu", 20, floats, gelu, -6, 6, 4, nil},
		{"Gelu", 20, floats, geluTanh, -6, 6, 6, attrs("approximate", "tanh")},
		{"Erf", 9, floats, math.Erf, -4, 4, 3, nil},
		{"Shrink", 9, numeric, func(x float64) float64 { return choose(x < -1, x, choose(x > 1, x, 0)) }, -3, 3, 0, attrs("lambd", 1.0)},
		{"Shrink", 9, floats, func(x float64) float64 { return choose(x < -0.5, x+0.25, choose(x > 0.5, x-0.25, 0)) }, -3, 3, 2, attrs("bias", 0.25)},
	}
	return append(list, trigonometry()...)
}

func trigonometry() []unary {
	return []unary{
		{"Sin", 7, floats, math.Sin, -20, 20, 4, nil},
		{"Cos", 7, floats, math.Cos, -20, 20, 4, nil},
		{"Tan", 7, floats, math.Tan, -1.4, 1.4, 4, nil},
		{"Asin", 7, floats, math.Asin, -1, 1, 4, nil},
		{"Acos", 7, floats, math.Acos, -1, 1, 4, nil},
		{"Atan", 7, floats, math.Atan, -9, 9, 4, nil},
		{"Sinh", 9, floats, math.Sinh, -5, 5, 4, nil},
		{"Cosh", 9, floats, math.Cosh, -5, 5, 4, nil},
		{"Asinh", 9, floats, math.Asinh, -9, 9, 4, nil},
		{"Acosh", 9, floats, math.Acosh, 1, 9, 4, nil},
		{"Atanh", 9, floats, math.Atanh, -0.9, 0.9, 4, nil},
	}
}

// specials are floats at which functions bend or end.
var specials = []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 0x1p-14, 30000, -30000}

func unaryCases(s *suite) {
	for _, u := range unaries() {
		for _, d := range u.types {
			lo, hi := u.lo, u.hi
			if d.Kind() == tensor.Unsigned {
				lo = max(lo, 0)
			}
			for _, shape := range [][]int{{3, 37}, {2, 0}} {
				x := s.between(d, lo, hi, shape...)
				s.add(Case{Op: u.op, Version: u.version, Attrs: u.attrs, In: in(x), Want: want(applied(x, u.f)), Ulps: u.ulps})
			}
			if d.IsFloat() {
				x := vector(d, specials...)
				s.add(Case{Op: u.op, Version: u.version, Note: "specials", Attrs: u.attrs, In: in(x), Want: want(applied(x, u.f)), Ulps: u.ulps})
			}
		}
		if u.types[0] == tensor.F32 {
			x := s.between(tensor.F32, u.lo, u.hi, 70001)
			s.add(Case{Op: u.op, Version: u.version, Note: "many", Attrs: u.attrs, In: in(x), Want: want(applied(x, u.f)), Ulps: u.ulps})
		}
	}
	for _, d := range integers {
		x := s.between(d, 0, 3, 7)
		s.add(Case{Op: "Erf", Version: 9, In: in(x), Want: want(applied(x, math.Erf))})
	}
}

func variadicCases(s *suite) {
	sum := func(x []float64) float64 {
		t := 0.0
		for _, v := range x {
			t += v
		}
		return t
	}
	list := []struct {
		op     string
		first  int
		intsAt int // the version from which integers are taken; 0 for never
		f      func(x []float64) float64
	}{
		{"Sum", 8, 0, sum},
		{"Mean", 8, 0, func(x []float64) float64 { return sum(x) / float64(len(x)) }},
		{"Max", 8, 12, func(x []float64) float64 { return slices.MaxFunc(x, order) }},
		{"Min", 8, 12, func(x []float64) float64 { return slices.MinFunc(x, order) }},
	}
	for _, v := range list {
		for _, d := range numeric {
			version := v.first
			if d.IsInteger() {
				version = v.intsAt
			}
			if version == 0 {
				continue
			}
			one, a, b, c := s.any(d, 4, 5), s.any(d, 2, 1, 5), s.any(d, 3, 1), s.any(d)
			s.add(Case{Op: v.op, Version: 1, Note: "one", In: in(one), Want: want(one)})
			s.add(Case{Op: v.op, Version: version, Note: "broadcast", In: in(a, b, c), Want: want(broadcasted(d, v.f, a, b, c)), Ulps: 2})
			two := s.any(d, 4, 5)
			s.add(Case{Op: v.op, Version: version, Note: "two", In: in(one, two), Want: want(broadcasted(d, v.f, one, two)), Ulps: 1})
			if !d.IsInteger() {
				s.add(Case{Op: v.op, Version: 1, Until: 8, Note: "same", In: in(one, two, one), Want: want(broadcasted(d, v.f, one, two, one)), Ulps: 2})
			}
		}
	}
}

func order(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func clipCases(s *suite) {
	for _, d := range numeric {
		x := s.between(d, 0, 9, 4, 7)
		lo, hi := scalar(d, 2), scalar(d, 6)
		both := applied(x, func(v float64) float64 { return math.Min(math.Max(v, 2), 6) })
		version := 11
		if d.IsInteger() {
			version = 12
		}
		s.add(Case{Op: "Clip", Version: version, In: in(x, lo, hi), Want: want(both)})
		s.add(Case{Op: "Clip", Version: version, Note: "above", In: in(x, nil, hi), Want: want(applied(x, func(v float64) float64 { return math.Min(v, 6) }))})
		s.add(Case{Op: "Clip", Version: version, Note: "below", In: in(x, lo), Want: want(applied(x, func(v float64) float64 { return math.Max(v, 2) }))})
		s.add(Case{Op: "Clip", Version: version, Note: "none", In: in(x), Want: want(x)})
		s.add(Case{Op: "Clip", Version: version, Note: "crossed", In: in(x, hi, lo), Want: want(applied(x, func(float64) float64 { return 2 }))})
		if d.IsFloat() {
			s.add(Case{Op: "Clip", Version: 1, Until: 11, Attrs: attrs("min", 2.0, "max", 6.0), In: in(x), Want: want(both)})
		}
	}
}

// integerCases are the operators on bits, and sums that wrap around.
func integerCases(s *suite) {
	bits := map[string]func(a, b uint64) uint64{
		"BitwiseAnd": func(a, b uint64) uint64 { return a & b },
		"BitwiseOr":  func(a, b uint64) uint64 { return a | b },
		"BitwiseXor": func(a, b uint64) uint64 { return a ^ b },
		"Add":        func(a, b uint64) uint64 { return a + b },
		"Sub":        func(a, b uint64) uint64 { return a - b },
		"Mul":        func(a, b uint64) uint64 { return a * b },
	}
	for _, name := range []string{"BitwiseAnd", "BitwiseOr", "BitwiseXor", "Add", "Sub", "Mul"} {
		for _, d := range integers {
			x, y := s.bits(d, 3, 5), s.bits(d, 5)
			z := tensor.New(d, 3, 5)
			for i := range z.Len() {
				putBits(z, i, bits[name](getBits(x, i), getBits(y, i%5)))
			}
			s.add(Case{Op: name, Version: 7, Note: "all bits", In: in(x, y), Want: want(z)})
		}
	}
	for _, d := range integers {
		x := s.bits(d, 3, 5)
		z := tensor.New(d, 3, 5)
		for i := range z.Len() {
			putBits(z, i, ^getBits(x, i))
		}
		s.add(Case{Op: "BitwiseNot", Version: 18, In: in(x), Want: want(z)})
	}
	for _, d := range unsigned {
		x, y := s.bits(d, 3, 5), s.between(d, 0, float64(d.Bits()-1), 5)
		left, right := tensor.New(d, 3, 5), tensor.New(d, 3, 5)
		for i := range x.Len() {
			n := getBits(y, i%5)
			putBits(left, i, getBits(x, i)<<n)
			putBits(right, i, getBits(x, i)>>n)
		}
		s.add(Case{Op: "BitShift", Version: 11, Attrs: attrs("direction", "LEFT"), In: in(x, y), Want: want(left)})
		s.add(Case{Op: "BitShift", Version: 11, Attrs: attrs("direction", "RIGHT"), In: in(x, y), Want: want(right)})
	}
}

// bits returns integers of any value.
func (s *source) bits(d tensor.DType, shape ...int) *tensor.Tensor {
	t := tensor.New(d, shape...)
	for i := range t.Len() {
		putBits(t, i, s.Uint64())
	}
	return t
}

// getBits is the bits of element i of integers, the high ones zero.
func getBits(t *tensor.Tensor, i int) uint64 {
	w, v := t.DType().Bits()/8, uint64(0)
	for j := range w {
		v |= uint64(t.Bytes()[i*w+j]) << (8 * j)
	}
	return v
}

// putBits stores the low bits of v as element i.
func putBits(t *tensor.Tensor, i int, v uint64) {
	w := t.DType().Bits() / 8
	for j := range w {
		t.Bytes()[i*w+j] = byte(v >> (8 * j))
	}
}
