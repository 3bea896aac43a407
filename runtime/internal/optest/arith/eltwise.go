package arith

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// unary is an operator with one input that applies f to every element.
type unary struct {
	op      string
	version int
	types   []tensor.DType
	f       func(x float64) float64
	lo, hi  float64 // of the elements to try
	ulps    float64
	attrs   []*graph.Attr
}

func eltwiseCases(s *cases.Suite) {
	unaryCases(s)
	binaryCases(s)
	variadicCases(s)
	clipCases(s)
	integerCases(s)
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

func elu(x, alpha float64) float64 { return cases.Choose(x < 0, alpha*math.Expm1(x), x) }

func selu(x, alpha, gamma float64) float64 { return gamma * elu(x, alpha) }

func gelu(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) }

func geluTanh(x float64) float64 {
	return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

func hardSigmoid(x, alpha, beta float64) float64 { return math.Max(0, math.Min(1, alpha*x+beta)) }

func unaries() []unary {
	numericSigned := slices.Concat(cases.Floats, cases.Signed)
	list := []unary{
		{"Abs", 1, cases.Numeric, math.Abs, -9, 9, 0, nil},
		{"Neg", 1, numericSigned, func(x float64) float64 { return -x }, -9, 9, 0, nil},
		{"Sign", 9, cases.Numeric, sign, -2, 2, 0, nil},
		{"Relu", 1, cases.Floats, func(x float64) float64 { return math.Max(x, 0) }, -9, 9, 0, nil},
		{"Relu", 14, cases.Signed, func(x float64) float64 { return math.Max(x, 0) }, -9, 9, 0, nil},
		{"Floor", 1, cases.Floats, math.Floor, -9, 9, 0, nil},
		{"Ceil", 1, cases.Floats, math.Ceil, -9, 9, 0, nil},
		{"Round", 11, cases.Floats, math.RoundToEven, -9, 9, 0, nil},
		{"Sqrt", 1, cases.Floats, math.Sqrt, 0, 100, 1, nil},
		{"Reciprocal", 1, cases.Floats, func(x float64) float64 { return 1 / x }, 0.1, 9, 1, nil},
		{"Exp", 1, cases.Floats, math.Exp, -20, 5, 3, nil},
		{"Log", 1, cases.Floats, math.Log, 0.01, 100, 3, nil},
		{"Sigmoid", 1, cases.Floats, sigmoid, -20, 20, 3, nil},
		{"Tanh", 1, cases.Floats, math.Tanh, -12, 12, 3, nil},
		{"Softplus", 1, cases.Floats, softplus, -30, 30, 3, nil},
		{"Softsign", 1, cases.Floats, func(x float64) float64 { return x / (1 + math.Abs(x)) }, -9, 9, 2, nil},
		{"LeakyRelu", 1, cases.Floats, func(x float64) float64 { return cases.Choose(x < 0, float64(float32(0.01))*x, x) }, -9, 9, 2, nil},
		{"LeakyRelu", 6, cases.Floats, func(x float64) float64 { return cases.Choose(x < 0, 0.25*x, x) }, -9, 9, 2, cases.Attrs("alpha", 0.25)},
		{"ThresholdedRelu", 1, cases.Floats, func(x float64) float64 { return cases.Choose(x > 1, x, 0) }, -3, 3, 0, nil},
		{"ThresholdedRelu", 10, cases.Floats, func(x float64) float64 { return cases.Choose(x > -0.5, x, 0) }, -3, 3, 0, cases.Attrs("alpha", -0.5)},
		{"Elu", 1, cases.Floats, func(x float64) float64 { return elu(x, 1) }, -9, 9, 3, nil},
		{"Elu", 6, cases.Floats, func(x float64) float64 { return elu(x, 0.5) }, -9, 9, 3, cases.Attrs("alpha", 0.5)},
		{"Celu", 12, cases.Floats, func(x float64) float64 { return cases.Choose(x < 0, 2*math.Expm1(x/2), x) }, -9, 9, 4, cases.Attrs("alpha", 2.0)},
		{"Selu", 6, cases.Floats, func(x float64) float64 { return selu(x, 1.67326319217681884765625, 1.05070102214813232421875) }, -9, 9, 4, nil},
		{"Selu", 1, cases.Floats, func(x float64) float64 { return selu(x, 2, 0.5) }, -9, 9, 4, cases.Attrs("alpha", 2.0, "gamma", 0.5)},
		{"HardSigmoid", 1, cases.Floats, func(x float64) float64 { return hardSigmoid(x, float64(float32(0.2)), 0.5) }, -4, 4, 2, nil},
		{"HardSigmoid", 6, cases.Floats, func(x float64) float64 { return hardSigmoid(x, 0.5, 0.25) }, -4, 4, 2, cases.Attrs("alpha", 0.5, "beta", 0.25)},
		{"HardSwish", 14, cases.Floats, func(x float64) float64 { return x * hardSigmoid(x, 1.0/6, 0.5) }, -5, 5, 4, nil},
		{"Swish", 24, cases.Floats, func(x float64) float64 { return x * sigmoid(x) }, -9, 9, 4, nil},
		{"Swish", 24, cases.Floats, func(x float64) float64 { return x * sigmoid(2*x) }, -9, 9, 4, cases.Attrs("alpha", 2.0)},
		{"Mish", 18, cases.Floats, func(x float64) float64 { return x * math.Tanh(softplus(x)) }, -9, 9, 4, nil},
		{"Gelu", 20, cases.Floats, gelu, -6, 6, 4, nil},
		{"Gelu", 20, cases.Floats, geluTanh, -6, 6, 6, cases.Attrs("approximate", "tanh")},
		{"Erf", 9, cases.Floats, math.Erf, -4, 4, 3, nil},
		{"Shrink", 9, cases.Numeric, func(x float64) float64 { return cases.Choose(x < -1, x, cases.Choose(x > 1, x, 0)) }, -3, 3, 0, cases.Attrs("lambd", 1.0)},
		{"Shrink", 9, cases.Floats, func(x float64) float64 { return cases.Choose(x < -0.5, x+0.25, cases.Choose(x > 0.5, x-0.25, 0)) }, -3, 3, 2, cases.Attrs("bias", 0.25)},
	}
	return append(list, trigonometry()...)
}

func trigonometry() []unary {
	return []unary{
		{"Sin", 7, cases.Floats, math.Sin, -20, 20, 4, nil},
		{"Cos", 7, cases.Floats, math.Cos, -20, 20, 4, nil},
		{"Tan", 7, cases.Floats, math.Tan, -1.4, 1.4, 4, nil},
		{"Asin", 7, cases.Floats, math.Asin, -1, 1, 4, nil},
		{"Acos", 7, cases.Floats, math.Acos, -1, 1, 4, nil},
		{"Atan", 7, cases.Floats, math.Atan, -9, 9, 4, nil},
		{"Sinh", 9, cases.Floats, math.Sinh, -5, 5, 4, nil},
		{"Cosh", 9, cases.Floats, math.Cosh, -5, 5, 4, nil},
		{"Asinh", 9, cases.Floats, math.Asinh, -9, 9, 4, nil},
		{"Acosh", 9, cases.Floats, math.Acosh, 1, 9, 4, nil},
		{"Atanh", 9, cases.Floats, math.Atanh, -0.9, 0.9, 4, nil},
	}
}

// specials lists floats at which functions bend or end.
var specials = []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 0x1p-14, 30000, -30000}

func unaryCases(s *cases.Suite) {
	for _, u := range unaries() {
		for _, d := range u.types {
			lo, hi := u.lo, u.hi
			if d.Kind() == tensor.Unsigned {
				lo = max(lo, 0)
			}
			for _, shape := range [][]int{{3, 37}, {2, 0}} {
				x := s.Between(d, lo, hi, shape...)
				s.Add(cases.Case{Op: u.op, Version: u.version, Attrs: u.attrs, In: cases.In(x),
					Want: cases.Want(cases.Applied(x, u.f)), Ulps: u.ulps})
			}
			if d.IsFloat() {
				x := cases.Vector(d, specials...)
				s.Add(cases.Case{Op: u.op, Version: u.version, Note: "specials", Attrs: u.attrs, In: cases.In(x),
					Want: cases.Want(cases.Applied(x, u.f)), Ulps: u.ulps})
			}
		}
		if u.types[0] == tensor.F32 {
			x := s.Between(tensor.F32, u.lo, u.hi, 70001)
			s.Add(cases.Case{Op: u.op, Version: u.version, Note: "many", Attrs: u.attrs, In: cases.In(x),
				Want: cases.Want(cases.Applied(x, u.f)), Ulps: u.ulps})
		}
	}
	for _, d := range cases.Integers {
		x := s.Between(d, 0, 3, 7)
		s.Add(cases.Case{Op: "Erf", Version: 9, In: cases.In(x), Want: cases.Want(cases.Applied(x, math.Erf))})
	}
}

func variadicCases(s *cases.Suite) {
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
		intsAt int // the version from which integers are allowed; 0 for never
		f      func(x []float64) float64
	}{
		{"Sum", 8, 0, sum},
		{"Mean", 8, 0, func(x []float64) float64 { return sum(x) / float64(len(x)) }},
		{"Max", 8, 12, func(x []float64) float64 { return slices.MaxFunc(x, order) }},
		{"Min", 8, 12, func(x []float64) float64 { return slices.MinFunc(x, order) }},
	}
	for _, v := range list {
		for _, d := range cases.Numeric {
			version := v.first
			if d.IsInteger() {
				version = v.intsAt
			}
			if version == 0 {
				continue
			}
			one, a, b, c := s.Any(d, 4, 5), s.Any(d, 2, 1, 5), s.Any(d, 3, 1), s.Any(d)
			s.Add(cases.Case{Op: v.op, Version: 1, Note: "one", In: cases.In(one), Want: cases.Want(one)})
			s.Add(cases.Case{Op: v.op, Version: version, Note: "broadcast", In: cases.In(a, b, c),
				Want: cases.Want(cases.Broadcasted(d, v.f, a, b, c)), Ulps: 2})
			two := s.Any(d, 4, 5)
			s.Add(cases.Case{Op: v.op, Version: version, Note: "two", In: cases.In(one, two),
				Want: cases.Want(cases.Broadcasted(d, v.f, one, two)), Ulps: 1})
			if !d.IsInteger() {
				s.Add(cases.Case{Op: v.op, Version: 1, Until: 8, Note: "same", In: cases.In(one, two, one),
					Want: cases.Want(cases.Broadcasted(d, v.f, one, two, one)), Ulps: 2})
			}
		}
	}
}

func clipCases(s *cases.Suite) {
	for _, d := range cases.Numeric {
		x := s.Between(d, 0, 9, 4, 7)
		lo, hi := cases.Scalar(d, 2), cases.Scalar(d, 6)
		both := cases.Applied(x, func(v float64) float64 { return math.Min(math.Max(v, 2), 6) })
		version := 11
		if d.IsInteger() {
			version = 12
		}
		s.Add(cases.Case{Op: "Clip", Version: version, In: cases.In(x, lo, hi), Want: cases.Want(both)})
		s.Add(cases.Case{Op: "Clip", Version: version, Note: "above", In: cases.In(x, nil, hi),
			Want: cases.Want(cases.Applied(x, func(v float64) float64 { return math.Min(v, 6) }))})
		s.Add(cases.Case{Op: "Clip", Version: version, Note: "below", In: cases.In(x, lo),
			Want: cases.Want(cases.Applied(x, func(v float64) float64 { return math.Max(v, 2) }))})
		s.Add(cases.Case{Op: "Clip", Version: version, Note: "none", In: cases.In(x), Want: cases.Want(x)})
		s.Add(cases.Case{Op: "Clip", Version: version, Note: "crossed", In: cases.In(x, hi, lo),
			Want: cases.Want(cases.Applied(x, func(float64) float64 { return 2 }))})
		if d.IsFloat() {
			s.Add(cases.Case{Op: "Clip", Version: 1, Until: 11, Attrs: cases.Attrs("min", 2.0, "max", 6.0), In: cases.In(x),
				Want: cases.Want(both)})
		}
	}
}

// integerCases adds operators on bits, and sums that wrap around.
func integerCases(s *cases.Suite) {
	bits := map[string]func(a, b uint64) uint64{
		"BitwiseAnd": func(a, b uint64) uint64 { return a & b },
		"BitwiseOr":  func(a, b uint64) uint64 { return a | b },
		"BitwiseXor": func(a, b uint64) uint64 { return a ^ b },
		"Add":        func(a, b uint64) uint64 { return a + b },
		"Sub":        func(a, b uint64) uint64 { return a - b },
		"Mul":        func(a, b uint64) uint64 { return a * b },
	}
	for _, name := range []string{"BitwiseAnd", "BitwiseOr", "BitwiseXor", "Add", "Sub", "Mul"} {
		for _, d := range cases.Integers {
			x, y := s.Bits(d, 3, 5), s.Bits(d, 5)
			z := tensor.New(d, 3, 5)
			for i := range z.Len() {
				cases.PutBits(z, i, bits[name](cases.GetBits(x, i), cases.GetBits(y, i%5)))
			}
			s.Add(cases.Case{Op: name, Version: 7, Note: "all bits", In: cases.In(x, y), Want: cases.Want(z)})
		}
	}
	for _, d := range cases.Integers {
		x := s.Bits(d, 3, 5)
		z := tensor.New(d, 3, 5)
		for i := range z.Len() {
			cases.PutBits(z, i, ^cases.GetBits(x, i))
		}
		s.Add(cases.Case{Op: "BitwiseNot", Version: 18, In: cases.In(x), Want: cases.Want(z)})
	}
	for _, d := range cases.Unsigned {
		x, y := s.Bits(d, 3, 5), s.Between(d, 0, float64(d.Bits()-1), 5)
		left, right := tensor.New(d, 3, 5), tensor.New(d, 3, 5)
		for i := range x.Len() {
			n := cases.GetBits(y, i%5)
			cases.PutBits(left, i, cases.GetBits(x, i)<<n)
			cases.PutBits(right, i, cases.GetBits(x, i)>>n)
		}
		s.Add(cases.Case{Op: "BitShift", Version: 11, Attrs: cases.Attrs("direction", "LEFT"), In: cases.In(x, y),
			Want: cases.Want(left)})
		s.Add(cases.Case{Op: "BitShift", Version: 11, Attrs: cases.Attrs("direction", "RIGHT"), In: cases.In(x, y),
			Want: cases.Want(right)})
	}
}

// order returns -1, 0 or 1 if a is less than, equal to or greater than b.
func order(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
