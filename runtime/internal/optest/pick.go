package optest

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func pickCases(s *suite) {
	for _, d := range tensor.DTypes() {
		gatherElementsCases(s, d)
		gatherNDCases(s, d)
		scatterCases(s, d)
		triluCases(s, d, []int{3, 5})
		reverseCases(s, d)
		compressCases(s, d)
		oneHotCase(s, tensor.I64, tensor.F32, d, 11)
		nonZeroCases(s, d)
	}
	triluCases(s, tensor.F32, []int{2, 4, 3})
	for _, d := range numeric {
		oneHotCase(s, d, tensor.I64, tensor.F32, 9)
		oneHotCase(s, tensor.I32, d, tensor.F32, 9)
		for _, reduction := range []string{"add", "mul", "max", "min"} {
			scatterReductions(s, d, reduction)
		}
	}
	eyeLikeCases(s)
	x := s.any(tensor.F32, 3, 4)
	for _, bad := range []int{4, -5} {
		index := seen(ints(0, bad), 1, 2)
		s.add(Case{Op: "GatherElements", Version: 11, Note: "outside", Attrs: attrs("axis", 1), In: in(x, index), Fails: graph.ErrShape})
		s.add(Case{Op: "ScatterElements", Version: 11, Note: "outside", Attrs: attrs("axis", 1), In: in(x, index, s.any(tensor.F32, 1, 2)), Fails: graph.ErrShape})
		s.add(Case{Op: "GatherND", Version: 11, Note: "outside", In: in(x, index), Fails: graph.ErrShape})
		s.add(Case{Op: "ScatterND", Version: 11, Note: "outside", In: in(x, index, s.any(tensor.F32, 1)), Fails: graph.ErrShape})
	}
	s.add(Case{Op: "Compress", Version: 9, Note: "outside", Attrs: attrs("axis", 0), In: in(x, vector(tensor.Bool, 0, 0, 0, 1)), Fails: graph.ErrShape})
	s.add(Case{Op: "ReverseSequence", Version: 10, Note: "too long", In: in(x, ints(1, 2, 4, 0)), Fails: graph.ErrShape})
}

// Sets of element types.
var (
	floats   = []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16}
	signed   = []tensor.DType{tensor.I8, tensor.I16, tensor.I32, tensor.I64}
	unsigned = []tensor.DType{tensor.U8, tensor.U16, tensor.U32, tensor.U64}
	integers = slices.Concat(signed, unsigned)
	numeric  = slices.Concat(floats, integers)
)

// index returns element i of a tensor of indices into n elements.
func index(t *tensor.Tensor, i, n int) int { return mod(int(number(t, i)), n) }

func gatherElementsCases(s *suite, d tensor.DType) {
	x := s.any(d, 3, 4, 5)
	for axis := range 3 {
		at := s.indices(tensor.I64, -3, 3, 2, 3, 4)
		y := pick(x, at.Shape(), func(i []int) []int { return with(i, axis, index(at, flat(at.Shape(), i...), x.Shape()[axis])) })
		s.add(Case{Op: "GatherElements", Version: 11, Attrs: attrs("axis", axis-3), In: in(x, at), Want: want(y)})
	}
}

func gatherNDCases(s *suite, d tensor.DType) {
	x := s.any(d, 2, 3, 4)
	pairs := s.indices(tensor.I64, -2, 2, 5, 2)
	y := pick(x, tensor.Shape{5, 4}, func(at []int) []int {
		return []int{index(pairs, at[0]*2, 2), index(pairs, at[0]*2+1, 3), at[1]}
	})
	s.add(Case{Op: "GatherND", Version: 11, In: in(x, pairs), Want: want(y)})
	batched := s.indices(tensor.I64, -3, 3, 2, 5, 1)
	y = pick(x, tensor.Shape{2, 5, 4}, func(at []int) []int {
		return []int{at[0], index(batched, at[0]*5+at[1], 3), at[2]}
	})
	s.add(Case{Op: "GatherND", Version: 12, Attrs: attrs("batch_dims", 1), In: in(x, batched), Want: want(y)})
}

func scatterCases(s *suite, d tensor.DType) {
	x, updates := s.any(d, 3, 5), s.any(d, 2, 3)
	at := seen(ints(0, 4, -2, 1, -1, 0), 2, 3)
	y := pick(x, x.Shape(), func(at []int) []int { return at })
	each(at.Shape(), func(i int, pos []int) {
		setElement(y, flat(y.Shape(), pos[0], index(at, i, 5)), element(updates, i))
	})
	s.add(Case{Op: "ScatterElements", Version: 11, Attrs: attrs("axis", 1), In: in(x, at, updates), Want: want(y)})
	s.add(Case{Op: "Scatter", Version: 9, Attrs: attrs("axis", 1), In: in(x, at, updates), Want: want(y)})

	rows := seen(ints(2, -3), 2, 1)
	updates = s.any(d, 2, 5)
	y = pick(x, x.Shape(), func(at []int) []int { return at })
	for i := range 2 {
		for j := range 5 {
			setElement(y, index(rows, i, 3)*5+j, element(updates, i*5+j))
		}
	}
	s.add(Case{Op: "ScatterND", Version: 11, In: in(x, rows, updates), Want: want(y)})
}

func scatterReductions(s *suite, d tensor.DType, reduction string) {
	version := 16
	combine := map[string]func(a, b float64) float64{
		"add": func(a, b float64) float64 { return a + b },
		"mul": func(a, b float64) float64 { return a * b },
		"max": math.Max,
		"min": math.Min,
	}[reduction]
	if reduction == "max" || reduction == "min" {
		version = 18
	}
	x, updates := s.any(d, 4), s.any(d, 6)
	at := ints(0, 3, 3, -1, 2, 0)
	y := pick(x, x.Shape(), func(at []int) []int { return at })
	for i := range 6 {
		j := index(at, i, 4)
		setNumber(y, j, combine(number(y, j), number(updates, i)))
	}
	a := attrs("reduction", reduction)
	s.add(Case{Op: "ScatterElements", Version: version, Note: reduction, Attrs: a, In: in(x, at, updates), Want: want(y), Ulps: 4})
	s.add(Case{Op: "ScatterND", Version: version, Note: reduction, Attrs: a, In: in(x, seen(at, 6, 1), updates), Want: want(y), Ulps: 4})
}

func triluCases(s *suite, d tensor.DType, shape []int) {
	x := s.any(d, shape...)
	rank := len(shape)
	for _, k := range []int{0, 1, -1, 2, -100, huge} {
		for upper := range 2 {
			y := pick(x, shape, func(at []int) []int {
				over := at[rank-1] - at[rank-2]
				if upper == 1 && over < k || upper == 0 && over > k {
					return nil
				}
				return at
			})
			s.add(Case{Op: "Trilu", Version: 14, Attrs: attrs("upper", upper), In: in(x, scalar(tensor.I64, float64(k))), Want: want(y)})
			if k == 0 && upper == 1 {
				s.add(Case{Op: "Trilu", Version: 14, Note: "plain", In: in(x), Want: want(y)})
			}
		}
	}
}

func reverseCases(s *suite, d tensor.DType) {
	x := s.any(d, 4, 5, 2)
	for time := range 2 {
		batch := 1 - time
		lens := s.indices(tensor.I64, 0, x.Shape()[time]+1, x.Shape()[batch])
		y := pick(x, x.Shape(), func(at []int) []int {
			if n := int(number(lens, at[batch])); at[time] < n {
				at[time] = n - 1 - at[time]
			}
			return at
		})
		s.add(Case{Op: "ReverseSequence", Version: 10, Attrs: attrs("time_axis", time, "batch_axis", batch), In: in(x, lens), Want: want(y)})
	}
}

func compressCases(s *suite, d tensor.DType) {
	x := s.any(d, 3, 4)
	cond := vector(tensor.Bool, 0, 1, 1)
	rows := pick(x, tensor.Shape{2, 4}, func(at []int) []int { return []int{at[0] + 1, at[1]} })
	s.add(Case{Op: "Compress", Version: 9, Attrs: attrs("axis", 0), In: in(x, cond), Want: want(rows)})
	cols := pick(x, tensor.Shape{3, 2}, func(at []int) []int { return []int{at[0], at[1] + 1} })
	s.add(Case{Op: "Compress", Version: 11, Attrs: attrs("axis", -1), In: in(x, cond), Want: want(cols)})
	some := pick(x, tensor.Shape{2}, func(at []int) []int { return []int{0, at[0] + 1} })
	s.add(Case{Op: "Compress", Version: 9, Note: "flat", In: in(x, cond), Want: want(some)})
	s.add(Case{Op: "Compress", Version: 9, Note: "none", In: in(x, vector(tensor.Bool, 0, 0)), Want: want(tensor.New(d, 0))})
}

func oneHotCase(s *suite, indices, depths, d tensor.DType, version int) {
	at := s.between(indices, 0, 6, 2, 3)
	if version == 11 {
		at = s.between(indices, -5, 6, 2, 3)
	}
	values := s.any(d, 2)
	for _, axis := range []int{-1, 0, 1} {
		a := mod(axis, 3)
		shape := slices.Insert(slices.Clone(at.Shape()), a, 5)
		y := pick(values, shape, func(pos []int) []int {
			hot := pos[a]
			i := int(math.Trunc(number(at, flat(at.Shape(), slices.Delete(pos, a, a+1)...))))
			if i == hot || version == 11 && i == hot-5 {
				return []int{1}
			}
			return []int{0}
		})
		s.add(Case{Op: "OneHot", Version: version, Attrs: attrs("axis", axis), In: in(at, scalar(depths, 5), values), Want: want(y)})
	}
}

func nonZeroCases(s *suite, d tensor.DType) {
	x := tensor.New(d, 3, 4)
	some := s.any(d, 3)
	var rows, cols []int
	for i, at := range []int{2, 5, 6} {
		if l := d.Layout(); l != nil && d.IsFloat() {
			l.Set(some.Bytes(), i, int8(2*i+5)) // 6, -0.5 and -1
		}
		setElement(x, at, element(some, i))
		if element(some, i) != element(tensor.New(d, 1), 0) {
			rows, cols = append(rows, at/4), append(cols, at%4)
		}
	}
	y := seen(ints(slices.Concat(rows, cols)...), 2, len(rows))
	s.add(Case{Op: "NonZero", Version: 9, In: in(x), Want: want(y)})
	s.add(Case{Op: "NonZero", Version: 9, Note: "none", In: in(tensor.New(d, 2, 3)), Want: want(tensor.New(tensor.I64, 2, 0))})
}

func eyeLikeCases(s *suite) {
	for _, d := range append([]tensor.DType{tensor.Bool}, numeric...) {
		version := 9
		if d == tensor.BF16 {
			version = 22
		}
		for _, k := range []int{0, 2, -1, 9, math.MinInt} {
			x := s.any(d, 3, 5)
			y := tensor.New(d, 3, 5)
			each(y.Shape(), func(i int, at []int) { setNumber(y, i, truth(at[1]-at[0] == k)) })
			s.add(Case{Op: "EyeLike", Version: version, Attrs: attrs("k", k), In: in(x), Want: want(y)})
			s.add(Case{Op: "EyeLike", Version: version, Attrs: attrs("k", k, "dtype", codes[d]), In: in(s.any(tensor.I32, 3, 5)), Want: want(y)})
		}
	}
}
