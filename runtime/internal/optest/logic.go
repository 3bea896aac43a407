package optest

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func truth(ok bool) float64 { return choose(ok, 1, 0) }

func logicCases(s *suite) {
	boolean := []tensor.DType{tensor.Bool}
	list := []binary{
		{"Equal", 7, slices.Concat(numeric, boolean), func(a, b float64) float64 { return truth(a == b) }, 0, false},
		{"Greater", 7, numeric, func(a, b float64) float64 { return truth(a > b) }, 0, false},
		{"Less", 7, numeric, func(a, b float64) float64 { return truth(a < b) }, 0, false},
		{"GreaterOrEqual", 12, numeric, func(a, b float64) float64 { return truth(a >= b) }, 0, false},
		{"LessOrEqual", 12, numeric, func(a, b float64) float64 { return truth(a <= b) }, 0, false},
		{"And", 7, boolean, func(a, b float64) float64 { return truth(a != 0 && b != 0) }, 0, false},
		{"Or", 7, boolean, func(a, b float64) float64 { return truth(a != 0 || b != 0) }, 0, false},
		{"Xor", 7, boolean, func(a, b float64) float64 { return truth((a != 0) != (b != 0)) }, 0, false},
	}
	for _, b := range list {
		f := func(v []float64) float64 { return b.f(v[0], v[1]) }
		for _, d := range b.types {
			for _, pair := range shapePairs {
				x, y := rounded(s.any(d, pair[0]...)), rounded(s.any(d, pair[1]...))
				s.add(Case{Op: b.op, Version: b.version, In: in(x, y), Want: want(broadcasted(tensor.Bool, f, x, y))})
			}
			if d.IsFloat() {
				x, y := vector(d, specials...), seen(vector(d, specials...), len(specials), 1)
				s.add(Case{Op: b.op, Version: b.version, Note: "specials", In: in(x, y), Want: want(broadcasted(tensor.Bool, f, x, y))})
			}
		}
		if b.version == 7 {
			x, y := rounded(s.any(b.types[0], 2, 3)), rounded(s.any(b.types[0], 2, 3))
			s.add(Case{Op: b.op, Version: 1, Until: 7, In: in(x, y), Want: want(broadcasted(tensor.Bool, f, x, y))})
		}
	}
	x, y := s.any(tensor.String, 30), s.any(tensor.String, 7, 1)
	z := tensor.New(tensor.Bool, 7, 30)
	each(z.Shape(), func(i int, at []int) { setNumber(z, i, truth(x.Strings()[at[1]] == y.Strings()[at[0]])) })
	s.add(Case{Op: "Equal", Version: 19, In: in(x, y), Want: want(z)})
	b := s.any(tensor.Bool, 5, 7)
	s.add(Case{Op: "Not", Version: 1, In: in(b), Want: want(applied(b, func(v float64) float64 { return 1 - v }))})
	whereCases(s)
	nanCases(s)
}

// rounded makes equal elements likely.
func rounded(t *tensor.Tensor) *tensor.Tensor { return applied(t, math.Round) }

func whereCases(s *suite) {
	shapes := [][3][]int{{{3, 5}, {3, 5}, {3, 5}}, {{}, {2, 3}, {3}}, {{2, 1}, {}, {1, 3}}, {{1, 3}, {4, 1, 1}, {2, 1}}, {{3, 1}, {3, 40}, {}}}
	for _, d := range tensor.DTypes() {
		if d.Layout() != nil {
			s.add(Case{Op: "Where", Version: 9, Note: "below a byte", In: in(s.any(tensor.Bool), s.any(d, 2), s.any(d, 2)), Fails: graph.ErrUnsupported})
			continue
		}
		for _, sh := range shapes {
			cond, x, y := s.any(tensor.Bool, sh[0]...), s.any(d, sh[1]...), s.any(d, sh[2]...)
			z := tensor.New(d, broadcastShape(broadcastShape(sh[0], sh[1]), sh[2])...)
			each(z.Shape(), func(i int, at []int) {
				from := y
				if number(cond, flat(cond.Shape(), broadcastIndex(cond.Shape(), at)...)) != 0 {
					from = x
				}
				setElement(z, i, element(from, flat(from.Shape(), broadcastIndex(from.Shape(), at)...)))
			})
			s.add(Case{Op: "Where", Version: 9, In: in(cond, x, y), Want: want(z)})
		}
	}
}

func nanCases(s *suite) {
	for _, d := range floats {
		x := vector(d, specials...)
		isInf := func(sign int) *tensor.Tensor {
			return broadcasted(tensor.Bool, func(v []float64) float64 { return truth(math.IsInf(v[0], sign)) }, x)
		}
		version := 10
		if d == tensor.F16 || d == tensor.BF16 {
			version = 20
		}
		s.add(Case{Op: "IsNaN", Version: 9, In: in(x), Want: want(broadcasted(tensor.Bool, func(v []float64) float64 { return truth(math.IsNaN(v[0])) }, x))})
		s.add(Case{Op: "IsInf", Version: version, In: in(x), Want: want(isInf(0))})
		s.add(Case{Op: "IsInf", Version: version, Attrs: attrs("detect_negative", 0), In: in(x), Want: want(isInf(1))})
		s.add(Case{Op: "IsInf", Version: version, Attrs: attrs("detect_positive", 0), In: in(x), Want: want(isInf(-1))})
	}
	// In these formats the bits say it: all ones behind the sign, and for
	// float8e5m2 all exponents one with a fraction.
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
			setNumber(nan, i, truth(slices.Contains(c.nans, byte(i))))
			setNumber(inf, i, truth(slices.Contains(c.infs, byte(i))))
		}
		s.add(Case{Op: "IsNaN", Version: 20, In: in(x), Want: want(nan)})
		s.add(Case{Op: "IsInf", Version: 20, In: in(x), Want: want(inf)})
	}
}
