package arith

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

type binary struct {
	op      string
	version int
	types   []tensor.DType
	f       func(a, b float64) float64
	ulps    float64
	nonzero bool // the second operand is
}

// quotient returns a/b, truncated for integers.
func quotient(d tensor.DType) func(a, b float64) float64 {
	if d.IsInteger() {
		return func(a, b float64) float64 { return math.Trunc(a / b) }
	}
	return func(a, b float64) float64 { return a / b }
}

func binaryCases(s *cases.Suite) {
	list := []binary{
		{"Add", 7, cases.Numeric, func(a, b float64) float64 { return a + b }, 1, false},
		{"Sub", 7, cases.Numeric, func(a, b float64) float64 { return a - b }, 1, false},
		{"Mul", 7, cases.Numeric, func(a, b float64) float64 { return a * b }, 1, false},
		{"PRelu", 7, slices.Concat(cases.Floats, cases.Signed[2:], cases.Unsigned[2:]), func(a, b float64) float64 { return cases.Choose(a < 0, a*b, a) }, 1, false},
		{"Pow", 7, cases.Floats, math.Pow, 6, false},
		{"Pow", 12, []tensor.DType{tensor.I32, tensor.I64}, math.Pow, 0, false},
		{"Mod", 10, cases.Integers, func(a, b float64) float64 { return a - b*math.Floor(a/b) }, 0, true},
	}
	for _, d := range cases.Numeric {
		list = append(list, binary{"Div", 7, []tensor.DType{d}, quotient(d), 2, true})
	}
	for _, b := range list {
		for _, d := range b.types {
			for _, pair := range cases.ShapePairs {
				if b.op == "PRelu" && (len(pair[1]) > len(pair[0]) ||
					!slices.Equal(cases.BroadcastShape(pair[0], pair[1]), pair[0])) {
					continue
				}
				x, y := s.Any(d, pair[0]...), s.Any(d, pair[1]...)
				if b.op == "Pow" {
					x, y = s.Between(d, 0.25, 4, pair[0]...), s.Between(d, 0, 3, pair[1]...)
				}
				if b.nonzero {
					y = cases.Applied(y, func(v float64) float64 { return cases.Choose(math.Abs(v) < 0.25, 1, v) })
				}
				z := cases.Broadcasted(d, func(v []float64) float64 { return b.f(v[0], v[1]) }, x, y)
				s.Add(cases.Case{Op: b.op, Version: b.version, In: cases.In(x, y), Want: cases.Want(z), Ulps: b.ulps})
			}
		}
		oldBroadcast(s, b)
	}
	manyElements(s)
	for _, d := range cases.Floats {
		x, y := s.Any(d, 3, 5), s.Between(d, 0.5, 2, 5)
		s.Add(cases.Case{Op: "Mod", Version: 10, Note: "fmod", Attrs: cases.Attrs("fmod", 1), In: cases.In(x, y),
			Want: cases.Want(cases.Broadcasted(d, func(v []float64) float64 { return math.Mod(v[0], v[1]) }, x, y)), Ulps: 2})
	}
	for _, d := range cases.Signed {
		x, y := cases.Vector(d, -7, -7, 7, 7), cases.Vector(d, 3, -3, 3, -3)
		s.Add(cases.Case{Op: "Mod", Version: 10, Note: "fmod", Attrs: cases.Attrs("fmod", 1), In: cases.In(x, y),
			Want: cases.Want(cases.Vector(d, -1, -1, 1, 1))})
	}
	x := s.Between(tensor.F32, 0.5, 2, 9)
	for _, e := range []float64{2, 0.5, -1, 3, 0} {
		for _, d := range []tensor.DType{tensor.F32, tensor.I32, tensor.I64, tensor.F64} {
			y := cases.Scalar(d, e)
			z := cases.Broadcasted(tensor.F32, func(v []float64) float64 { return math.Pow(v[0], v[1]) }, x, y)
			version := 12
			if d == tensor.F32 {
				version = 7
			}
			s.Add(cases.Case{Op: "Pow", Version: version, Note: "exponent", In: cases.In(x, y), Want: cases.Want(z), Ulps: 6})
		}
	}
}

func manyElements(s *cases.Suite) {
	f := func(v []float64) float64 { return v[0] + v[1] }
	for _, pair := range [][2][]int{{{70001}, {70001}}, {{40, 2003}, {2003}}, {{40, 2003}, {40, 1}}, {{80000}, {}}} {
		x, y := s.Any(tensor.F32, pair[0]...), s.Any(tensor.F32, pair[1]...)
		s.Add(cases.Case{Op: "Add", Version: 7, Note: "many", In: cases.In(x, y),
			Want: cases.Want(cases.Broadcasted(tensor.F32, f, x, y)), Ulps: 1})
	}
}

// oldBroadcast adds cases of the attributes broadcast and axis as they were before opset 7.
func oldBroadcast(s *cases.Suite, b binary) {
	if b.version != 7 || b.types[0] != tensor.F32 {
		return
	}
	if b.op == "PRelu" {
		oldPRelu(s)
		return
	}
	f := func(v []float64) float64 { return b.f(v[0], v[1]) }
	x, y := s.Between(tensor.F32, 0.5, 3, 2, 3, 4), s.Between(tensor.F32, 1, 2, 2, 3, 4)
	s.Add(cases.Case{Op: b.op, Version: 1, Until: 7, In: cases.In(x, y),
		Want: cases.Want(cases.Broadcasted(tensor.F32, f, x, y)), Ulps: b.ulps})
	y = s.Between(tensor.F32, 1, 2, 3)
	z := cases.Broadcasted(tensor.F32, f, x, cases.Seen(y, 3, 1))
	s.Add(cases.Case{Op: b.op, Version: 1, Until: 7, Attrs: cases.Attrs("broadcast", 1, "axis", 1), In: cases.In(x, y),
		Want: cases.Want(z), Ulps: b.ulps})
	y = s.Between(tensor.F32, 1, 2, 3, 4)
	s.Add(cases.Case{Op: b.op, Version: 1, Until: 7, Attrs: cases.Attrs("broadcast", 1), In: cases.In(x, y),
		Want: cases.Want(cases.Broadcasted(tensor.F32, f, x, y)), Ulps: b.ulps})
}

// oldPRelu adds cases with one slope for all elements, and one per channel.
func oldPRelu(s *cases.Suite) {
	x, one, three := s.Any(tensor.F32, 2, 3, 4), s.Any(tensor.F32, 1), s.Any(tensor.F32, 3)
	f := func(v []float64) float64 { return cases.Choose(v[0] < 0, v[0]*v[1], v[0]) }
	s.Add(cases.Case{Op: "PRelu", Version: 1, Until: 7, In: cases.In(x, one),
		Want: cases.Want(cases.Broadcasted(tensor.F32, f, x, one)), Ulps: 1})
	s.Add(cases.Case{Op: "PRelu", Version: 1, Until: 7, Note: "channels", In: cases.In(x, three),
		Want: cases.Want(cases.Broadcasted(tensor.F32, f, x, cases.Seen(three, 3, 1))), Ulps: 1})
}
