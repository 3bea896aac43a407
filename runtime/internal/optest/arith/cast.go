package arith

import (
	"math"
	"strconv"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// smallFloat is a format of at most a byte: sign, exponent, fraction.
type smallFloat struct {
	bits, fraction, bias int
	isNaN                func(code int) bool
	isInf                func(code int) bool
}

func never(int) bool { return false }

// SmallFloats maps element types to formats.
var SmallFloats = map[tensor.DType]smallFloat{
	tensor.F8E4M3FN:   {8, 3, 7, func(c int) bool { return c&0x7f == 0x7f }, never},
	tensor.F8E4M3FNUZ: {8, 3, 8, func(c int) bool { return c == 0x80 }, never},
	tensor.F8E5M2:     {8, 2, 15, func(c int) bool { return c&0x7f > 0x7c }, func(c int) bool { return c&0x7f == 0x7c }},
	tensor.F8E5M2FNUZ: {8, 2, 16, func(c int) bool { return c == 0x80 }, never},
	tensor.F4E2M1:     {4, 1, 1, never, never},
}

// Value returns the number that a code stands for.
func (f smallFloat) Value(code int) float64 {
	sign := 1.0
	if code>>(f.bits-1) != 0 {
		sign = -1
	}
	frac := code & (1<<f.fraction - 1)
	exp := code >> f.fraction & (1<<(f.bits-1-f.fraction) - 1)
	switch {
	case f.isNaN(code):
		return math.NaN()
	case f.isInf(code):
		return math.Inf(int(sign))
	case exp == 0:
		return sign * math.Ldexp(float64(frac), 1-f.bias-f.fraction)
	}
	return sign * math.Ldexp(float64(frac+1<<f.fraction), exp-f.bias-f.fraction)
}

// Code returns the code of the number nearest to v. A tie goes to the even code. Beyond the range
// it returns the code of the largest number.
func (f smallFloat) Code(v float64) int {
	best, gap := 0, math.Inf(1)
	for c := range 1 << f.bits {
		x := f.Value(c)
		if math.IsNaN(x) || math.IsInf(x, 0) || math.Signbit(x) != math.Signbit(v) {
			continue
		}
		if d := math.Abs(x - v); d < gap || d == gap && c%2 == 0 {
			best, gap = c, d
		}
	}
	return best
}

// Coded returns a tensor of a small format from codes.
func Coded(d tensor.DType, list []int) *tensor.Tensor {
	t := tensor.New(d, len(list))
	for i, c := range list {
		if l := d.Layout(); l != nil {
			l.Set(t.Bytes(), i, int8(c))
		} else {
			t.Bytes()[i] = byte(c)
		}
	}
	return t
}

// holding returns a tensor of type d with the given numbers, which d must hold.
func holding(d tensor.DType, list ...float64) *tensor.Tensor {
	f, small := SmallFloats[d]
	t := tensor.New(d, len(list))
	var small8 []int
	for i, v := range list {
		switch {
		case small:
			small8 = append(small8, f.Code(v))
		case d == tensor.F8E8M0:
			small8 = append(small8, 127+int(math.Log2(v)))
		case d == tensor.String:
			t.Strings()[i] = strconv.FormatFloat(v, 'g', -1, 64)
		default:
			cases.SetNumber(t, i, v)
		}
	}
	if small8 != nil {
		return Coded(d, small8)
	}
	return t
}

func castCases(s *cases.Suite) {
	for _, from := range tensor.DTypes() {
		for _, to := range tensor.DTypes() {
			if from.Kind() == tensor.Complex || to.Kind() == tensor.Complex {
				if from.Kind() != to.Kind() {
					s.Add(cases.Case{Op: "Cast", Version: 25, Attrs: cases.Attrs("to", to.Code()), In: cases.In(s.Any(from, 2)),
						Fails: graph.ErrUnsupported})
					s.Add(cases.Case{Op: "CastLike", Version: 25, In: cases.In(s.Any(from, 2), s.Any(to)),
						Fails: graph.ErrUnsupported})
				}
				continue
			}
			castCase(s, from, to)
		}
	}
	x := cases.Vector(tensor.F32, 1.9, -1.9, 0.5, -0.5, 100.99, 0)
	for _, d := range cases.Signed {
		s.Add(cases.Case{Op: "Cast", Version: 6, Note: "fractions", Attrs: cases.Attrs("to", d.Code()), In: cases.In(x),
			Want: cases.Want(cases.Vector(d, 1, -1, 0, 0, 100, 0))})
	}
	s.Add(cases.Case{Op: "Cast", Version: 6, Note: "truth", Attrs: cases.Attrs("to", tensor.Bool.Code()),
		In: cases.In(x), Want: cases.Want(cases.Vector(tensor.Bool, 1, 1, 1, 1, 1, 0))})
	y := cases.FromNumbers(tensor.F64, cases.Numbers(x), 6)
	s.Add(cases.Case{Op: "Cast", Version: 1, Until: 6, Attrs: cases.Attrs("to", "DOUBLE"), In: cases.In(x),
		Want: cases.Want(y)})
	roundingCases(s)
	blocksCases(s)
}

// blocksCases casts blocks to other types.
func blocksCases(s *cases.Suite) {
	for _, b := range packed.BlockTypes {
		x := s.Any(tensor.OfBlocks(b), 3, 2*b.Elements)
		for _, to := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.F64} {
			y := cases.FromNumbers(to, cases.Numbers(x), x.Shape()...)
			s.Add(cases.Case{Op: "Cast", Version: 19, Attrs: cases.Attrs("to", to.Code()), In: cases.In(x), Want: cases.Want(y)})
		}
	}
	x := s.Any(tensor.Q4_0, 32)
	y := cases.FromNumbers(tensor.I32, cases.Numbers(x), 32)
	s.Add(cases.Case{Op: "Cast", Version: 19, Attrs: cases.Attrs("to", tensor.I32.Code()), In: cases.In(x), Want: cases.Want(y)})
	s.Add(cases.Case{Op: "CastLike", Version: 19, Note: "blocks", In: cases.In(cases.Vector(tensor.F32, 1), x), Fails: graph.ErrUnsupported})
	s.Add(cases.Case{Op: "BitCast", Version: 26, Note: "blocks", Attrs: cases.Attrs("to", tensor.U8.Code()), In: cases.In(x), Fails: graph.ErrUnsupported})
}

func castCase(s *cases.Suite, from, to tensor.DType) {
	list := []float64{1, 0, 1, 1, 0}
	if from == tensor.F8E8M0 || to == tensor.F8E8M0 {
		list = []float64{1, 1, 1}
	}
	x, y := holding(from, list...), holding(to, list...)
	for i, v := range list {
		switch {
		case to != tensor.String || from == tensor.String:
		case from == tensor.Bool:
			y.Strings()[i] = map[float64]string{0: "False", 1: "True"}[v]
		case from.IsFloat():
			y.Strings()[i] += ".0"
		}
	}
	s.Add(cases.Case{Op: "Cast", Version: since(from, to), Attrs: cases.Attrs("to", to.Code()), In: cases.In(x),
		Want: cases.Want(y)})
	s.Add(cases.Case{Op: "CastLike", Version: max(since(from, to), 15), In: cases.In(x, tensor.New(to)),
		Want: cases.Want(y)})
}

// since returns the first version that can cast all given types.
func since(types ...tensor.DType) int {
	v := 6
	for _, d := range types {
		switch code := d.Code(); {
		case code == 8:
			v = max(v, 9)
		case code >= 25:
			v = max(v, 25)
		case code == 24:
			v = max(v, 24)
		case code == 23:
			v = max(v, 23)
		case code >= 21:
			v = max(v, 21)
		case code >= 17:
			v = max(v, 19)
		case code == 16:
			v = max(v, 13)
		}
	}
	return v
}

// roundingCases checks every value of the small formats, and numbers between them.
func roundingCases(s *cases.Suite) {
	for _, d := range tensor.DTypes() {
		f, ok := SmallFloats[d]
		if !ok {
			continue
		}
		var all []int
		var values []float64
		for c := range 1 << f.bits {
			all = append(all, c)
			values = append(values, f.Value(c))
		}
		for _, to := range []tensor.DType{tensor.F32, tensor.F16, tensor.F64} {
			y := cases.FromNumbers(to, values, len(values))
			s.Add(cases.Case{Op: "Cast", Version: since(d, to), Note: "every value", Attrs: cases.Attrs("to", to.Code()),
				In: cases.In(Coded(d, all)), Want: cases.Want(y)})
		}
		x := s.Between(tensor.F32, -9, 9, 300)
		var near []int
		for _, v := range cases.Numbers(x) {
			near = append(near, f.Code(v))
		}
		s.Add(cases.Case{Op: "Cast", Version: since(d, tensor.F32), Note: "between", Attrs: cases.Attrs("to", d.Code()),
			In: cases.In(x), Want: cases.Want(Coded(d, near))})
	}
	for _, d := range []tensor.DType{tensor.F16, tensor.BF16, tensor.F64} {
		x := s.Between(tensor.F32, -70000, 70000, 300)
		s.Add(cases.Case{Op: "Cast", Version: since(d), Note: "between", Attrs: cases.Attrs("to", d.Code()),
			In: cases.In(x), Want: cases.Want(cases.FromNumbers(d, cases.Numbers(x), 300))})
		x = cases.Vector(tensor.F32, specials...)
		s.Add(cases.Case{Op: "Cast", Version: since(d), Note: "specials", Attrs: cases.Attrs("to", d.Code()),
			In: cases.In(x), Want: cases.Want(cases.Vector(d, specials...))})
	}
}
