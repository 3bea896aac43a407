package optest

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// broadcasted is f of the elements of tensors that broadcast to one shape; the
// result has elements of type d.
func broadcasted(d tensor.DType, f func(x []float64) float64, list ...*tensor.Tensor) *tensor.Tensor {
	shape := tensor.Shape{}
	for _, t := range list {
		shape = broadcastShape(shape, t.Shape())
	}
	y := tensor.New(d, shape...)
	x := make([]float64, len(list))
	each(shape, func(i int, at []int) {
		for k, t := range list {
			x[k] = number(t, flat(t.Shape(), broadcastIndex(t.Shape(), at)...))
		}
		setNumber(y, i, f(x))
	})
	return y
}

// shapePairs are shapes that broadcast to each other in every manner.
var shapePairs = [][2][]int{
	{{3, 5}, {3, 5}}, {{2, 3, 19}, {}}, {{}, {7}}, {{2, 3, 5}, {5}}, {{2, 3, 5}, {3, 1}},
	{{1, 5}, {3, 1}}, {{2, 1, 4, 1}, {3, 1, 6}}, {{2, 3, 17}, {2, 1, 17}}, {{0, 3}, {1}}, {{1}, {1, 1}},
}

type binary struct {
	op      string
	version int
	types   []tensor.DType
	f       func(a, b float64) float64
	ulps    float64
	nonzero bool // the second operand is
}

// quotient is a/b, cut off to a whole number for integers.
func quotient(d tensor.DType) func(a, b float64) float64 {
	if d.IsInteger() {
		return func(a, b float64) float64 { return math.Trunc(a / b) }
	}
	return func(a, b float64) float64 { return a / b }
}

func binaryCases(s *suite) {
	list := []binary{
		{"Add", 7, numeric, func(a, b float64) float64 { return a + b }, 1, false},
		{"Sub", 7, numeric, func(a, b float64) float64 { return a - b }, 1, false},
		{"Mul", 7, numeric, func(a, b float64) float64 { return a * b }, 1, false},
		{"PRelu", 7, slices.Concat(floats, signed[2:], unsigned[2:]), func(a, b float64) float64 { return choose(a < 0, a*b, a) }, 1, false},
		{"Pow", 7, floats, math.Pow, 6, false},
		{"Pow", 12, []tensor.DType{tensor.I32, tensor.I64}, math.Pow, 0, false},
		{"Mod", 10, integers, func(a, b float64) float64 { return a - b*math.Floor(a/b) }, 0, true},
	}
	for _, d := range numeric {
		list = append(list, binary{"Div", 7, []tensor.DType{d}, quotient(d), 2, true})
	}
	for _, b := range list {
		for _, d := range b.types {
			for _, pair := range shapePairs {
				if b.op == "PRelu" && (len(pair[1]) > len(pair[0]) || !slices.Equal(broadcastShape(pair[0], pair[1]), pair[0])) {
					continue
				}
				x, y := s.any(d, pair[0]...), s.any(d, pair[1]...)
				if b.op == "Pow" {
					x, y = s.between(d, 0.25, 4, pair[0]...), s.between(d, 0, 3, pair[1]...)
				}
				if b.nonzero {
					y = applied(y, func(v float64) float64 { return choose(math.Abs(v) < 0.25, 1, v) })
				}
				z := broadcasted(d, func(v []float64) float64 { return b.f(v[0], v[1]) }, x, y)
				s.add(Case{Op: b.op, Version: b.version, In: in(x, y), Want: want(z), Ulps: b.ulps})
			}
		}
		oldBroadcast(s, b)
	}
	manyElements(s)
	for _, d := range floats {
		x, y := s.any(d, 3, 5), s.between(d, 0.5, 2, 5)
		s.add(Case{Op: "Mod", Version: 10, Note: "fmod", Attrs: attrs("fmod", 1), In: in(x, y),
			Want: want(broadcasted(d, func(v []float64) float64 { return math.Mod(v[0], v[1]) }, x, y)), Ulps: 2})
	}
	for _, d := range signed {
		x, y := vector(d, -7, -7, 7, 7), vector(d, 3, -3, 3, -3)
		s.add(Case{Op: "Mod", Version: 10, Note: "fmod", Attrs: attrs("fmod", 1), In: in(x, y), Want: want(vector(d, -1, -1, 1, 1))})
	}
	x := s.between(tensor.F32, 0.5, 2, 9)
	for _, e := range []float64{2, 0.5, -1, 3, 0} {
		for _, d := range []tensor.DType{tensor.F32, tensor.I32, tensor.I64, tensor.F64} {
			y := scalar(d, e)
			z := broadcasted(tensor.F32, func(v []float64) float64 { return math.Pow(v[0], v[1]) }, x, y)
			version := 12
			if d == tensor.F32 {
				version = 7
			}
			s.add(Case{Op: "Pow", Version: version, Note: "exponent", In: in(x, y), Want: want(z), Ulps: 6})
		}
	}
}

func manyElements(s *suite) {
	f := func(v []float64) float64 { return v[0] + v[1] }
	for _, pair := range [][2][]int{{{70001}, {70001}}, {{40, 2003}, {2003}}, {{40, 2003}, {40, 1}}, {{80000}, {}}} {
		x, y := s.any(tensor.F32, pair[0]...), s.any(tensor.F32, pair[1]...)
		s.add(Case{Op: "Add", Version: 7, Note: "many", In: in(x, y), Want: want(broadcasted(tensor.F32, f, x, y)), Ulps: 1})
	}
}

// oldBroadcast is what the attributes broadcast and axis meant before opset 7.
func oldBroadcast(s *suite, b binary) {
	if b.version != 7 || b.types[0] != tensor.F32 {
		return
	}
	if b.op == "PRelu" {
		oldPRelu(s)
		return
	}
	f := func(v []float64) float64 { return b.f(v[0], v[1]) }
	x, y := s.between(tensor.F32, 0.5, 3, 2, 3, 4), s.between(tensor.F32, 1, 2, 2, 3, 4)
	s.add(Case{Op: b.op, Version: 1, Until: 7, In: in(x, y), Want: want(broadcasted(tensor.F32, f, x, y)), Ulps: b.ulps})
	y = s.between(tensor.F32, 1, 2, 3)
	z := broadcasted(tensor.F32, f, x, seen(y, 3, 1))
	s.add(Case{Op: b.op, Version: 1, Until: 7, Attrs: attrs("broadcast", 1, "axis", 1), In: in(x, y), Want: want(z), Ulps: b.ulps})
	y = s.between(tensor.F32, 1, 2, 3, 4)
	s.add(Case{Op: b.op, Version: 1, Until: 7, Attrs: attrs("broadcast", 1), In: in(x, y), Want: want(broadcasted(tensor.F32, f, x, y)), Ulps: b.ulps})
}

// oldPRelu has one slope for all elements, or one per channel.
func oldPRelu(s *suite) {
	x, one, three := s.any(tensor.F32, 2, 3, 4), s.any(tensor.F32, 1), s.any(tensor.F32, 3)
	f := func(v []float64) float64 { return choose(v[0] < 0, v[0]*v[1], v[0]) }
	s.add(Case{Op: "PRelu", Version: 1, Until: 7, In: in(x, one), Want: want(broadcasted(tensor.F32, f, x, one)), Ulps: 1})
	s.add(Case{Op: "PRelu", Version: 1, Until: 7, Note: "channels", In: in(x, three), Want: want(broadcasted(tensor.F32, f, x, seen(three, 3, 1))), Ulps: 1})
}
