package arith

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func logicCases(s *cases.Suite) {
	boolean := []tensor.DType{tensor.Bool}
	list := []binary{
		{"Equal", 7, slices.Concat(cases.Numeric, boolean), func(a, b float64) float64 { return cases.Truth(a == b) }, 0, false},
		{"Greater", 7, cases.Numeric, func(a, b float64) float64 { return cases.Truth(a > b) }, 0, false},
		{"Less", 7, cases.Numeric, func(a, b float64) float64 { return cases.Truth(a < b) }, 0, false},
		{"GreaterOrEqual", 12, cases.Numeric, func(a, b float64) float64 { return cases.Truth(a >= b) }, 0, false},
		{"LessOrEqual", 12, cases.Numeric, func(a, b float64) float64 { return cases.Truth(a <= b) }, 0, false},
		{"And", 7, boolean, func(a, b float64) float64 { return cases.Truth(a != 0 && b != 0) }, 0, false},
		{"Or", 7, boolean, func(a, b float64) float64 { return cases.Truth(a != 0 || b != 0) }, 0, false},
		{"Xor", 7, boolean, func(a, b float64) float64 { return cases.Truth((a != 0) != (b != 0)) }, 0, false},
	}
	for _, b := range list {
		f := func(v []float64) float64 { return b.f(v[0], v[1]) }
		for _, d := range b.types {
			for _, pair := range cases.ShapePairs {
				x, y := cases.Rounded(s.Any(d, pair[0]...)), cases.Rounded(s.Any(d, pair[1]...))
				s.Add(cases.Case{Op: b.op, Version: b.version, In: cases.In(x, y),
					Want: cases.Want(cases.Broadcasted(tensor.Bool, f, x, y))})
			}
			if d.IsFloat() {
				x, y := cases.Vector(d, specials...), cases.Seen(cases.Vector(d, specials...), len(specials), 1)
				s.Add(cases.Case{Op: b.op, Version: b.version, Note: "specials", In: cases.In(x, y),
					Want: cases.Want(cases.Broadcasted(tensor.Bool, f, x, y))})
			}
		}
		if b.version == 7 {
			x, y := cases.Rounded(s.Any(b.types[0], 2, 3)), cases.Rounded(s.Any(b.types[0], 2, 3))
			s.Add(cases.Case{Op: b.op, Version: 1, Until: 7, In: cases.In(x, y),
				Want: cases.Want(cases.Broadcasted(tensor.Bool, f, x, y))})
		}
	}
	x, y := s.Any(tensor.String, 30), s.Any(tensor.String, 7, 1)
	z := tensor.New(tensor.Bool, 7, 30)
	cases.Each(z.Shape(), func(i int,
		at []int) {
		cases.SetNumber(z, i, cases.Truth(x.Strings()[at[1]] == y.Strings()[at[0]]))
	})
	s.Add(cases.Case{Op: "Equal", Version: 19, In: cases.In(x, y), Want: cases.Want(z)})
	b := s.Any(tensor.Bool, 5, 7)
	s.Add(cases.Case{Op: "Not", Version: 1, In: cases.In(b),
		Want: cases.Want(cases.Applied(b, func(v float64) float64 { return 1 - v }))})
	whereCases(s)
	nanCases(s)
}

func whereCases(s *cases.Suite) {
	shapes := [][3][]int{{{3, 5}, {3, 5}, {3, 5}}, {{}, {2, 3}, {3}}, {{2, 1}, {}, {1, 3}}, {{1, 3}, {4, 1, 1}, {2, 1}},
		{{3, 1}, {3, 40}, {}}}
	for _, d := range tensor.DTypes() {
		if d.Layout() != nil {
			s.Add(cases.Case{Op: "Where", Version: 9, Note: "below a byte",
				In: cases.In(s.Any(tensor.Bool), s.Any(d, 2), s.Any(d, 2)), Fails: graph.ErrUnsupported})
			continue
		}
		for _, sh := range shapes {
			cond, x, y := s.Any(tensor.Bool, sh[0]...), s.Any(d, sh[1]...), s.Any(d, sh[2]...)
			z := tensor.New(d, cases.BroadcastShape(cases.BroadcastShape(sh[0], sh[1]), sh[2])...)
			cases.Each(z.Shape(), func(i int, at []int) {
				from := y
				if cases.Number(cond, cases.Flat(cond.Shape(), cases.BroadcastIndex(cond.Shape(), at)...)) != 0 {
					from = x
				}
				cases.SetElement(z, i, cases.Element(from, cases.Flat(from.Shape(), cases.BroadcastIndex(from.Shape(), at)...)))
			})
			s.Add(cases.Case{Op: "Where", Version: 9, In: cases.In(cond, x, y), Want: cases.Want(z)})
		}
	}
}

func nanCases(s *cases.Suite) {
	for _, d := range cases.Floats {
		x := cases.Vector(d, specials...)
		isInf := func(sign int) *tensor.Tensor {
			return cases.Broadcasted(tensor.Bool, func(v []float64) float64 { return cases.Truth(math.IsInf(v[0], sign)) }, x)
		}
		version := 10
		if d == tensor.F16 || d == tensor.BF16 {
			version = 20
		}
		s.Add(cases.Case{Op: "IsNaN", Version: 9, In: cases.In(x), Want: cases.Want(cases.Broadcasted(tensor.Bool,
			func(v []float64) float64 { return cases.Truth(math.IsNaN(v[0])) }, x))})
		s.Add(cases.Case{Op: "IsInf", Version: version, In: cases.In(x), Want: cases.Want(isInf(0))})
		s.Add(cases.Case{Op: "IsInf", Version: version, Attrs: cases.Attrs("detect_negative", 0), In: cases.In(x),
			Want: cases.Want(isInf(1))})
		s.Add(cases.Case{Op: "IsInf", Version: version, Attrs: cases.Attrs("detect_positive", 0), In: cases.In(x),
			Want: cases.Want(isInf(-1))})
	}
	// These codes are NaN: all bits set after the sign or, for float8e5m2, all exponent bits set
	// with a fraction.
	for _, c := range []struct {
		d    tensor.DType
		nans []byte
		infs []byte
	}{
		{tensor.F8E4M3FN, []byte{0x7f, 0xff}, nil},
		{tensor.F8E4M3FNUZ, []byte{0x80}, nil},
		{tensor.F8E5M2, []byte{0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff}, []byte{0x7c, 0xfc}},
		{tensor.F8E5M2FNUZ, []byte{0x80}, nil},
	} {
		x, nan, inf := tensor.New(c.d, 256), tensor.New(tensor.Bool, 256), tensor.New(tensor.Bool, 256)
		for i := range 256 {
			x.Bytes()[i] = byte(i)
			cases.SetNumber(nan, i, cases.Truth(slices.Contains(c.nans, byte(i))))
			cases.SetNumber(inf, i, cases.Truth(slices.Contains(c.infs, byte(i))))
		}
		s.Add(cases.Case{Op: "IsNaN", Version: 20, In: cases.In(x), Want: cases.Want(nan)})
		s.Add(cases.Case{Op: "IsInf", Version: 20, In: cases.In(x), Want: cases.Want(inf)})
	}
}
