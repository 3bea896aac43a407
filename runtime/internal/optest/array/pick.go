package array

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func pickCases(s *cases.Suite) {
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
	for _, d := range cases.Numeric {
		oneHotCase(s, d, tensor.I64, tensor.F32, 9)
		oneHotCase(s, tensor.I32, d, tensor.F32, 9)
		for _, reduction := range []string{"add", "mul", "max", "min"} {
			scatterReductions(s, d, reduction)
		}
	}
	eyeLikeCases(s)
	x := s.Any(tensor.F32, 3, 4)
	for _, bad := range []int{4, -5} {
		index := cases.Seen(cases.Ints(0, bad), 1, 2)
		s.Add(cases.Case{Op: "GatherElements", Version: 11, Note: "outside", Attrs: cases.Attrs("axis", 1),
			In: cases.In(x, index), Fails: graph.ErrShape})
		s.Add(cases.Case{Op: "ScatterElements", Version: 11, Note: "outside", Attrs: cases.Attrs("axis", 1),
			In: cases.In(x, index, s.Any(tensor.F32, 1, 2)), Fails: graph.ErrShape})
		s.Add(cases.Case{Op: "GatherND", Version: 11, Note: "outside", In: cases.In(x, index), Fails: graph.ErrShape})
		s.Add(cases.Case{Op: "ScatterND", Version: 11, Note: "outside", In: cases.In(x, index, s.Any(tensor.F32, 1)),
			Fails: graph.ErrShape})
	}
	s.Add(cases.Case{Op: "Compress", Version: 9, Note: "outside", Attrs: cases.Attrs("axis", 0),
		In: cases.In(x, cases.Vector(tensor.Bool, 0, 0, 0, 1)), Fails: graph.ErrShape})
	s.Add(cases.Case{Op: "ReverseSequence", Version: 10, Note: "too long", In: cases.In(x, cases.Ints(1, 2, 4, 0)),
		Fails: graph.ErrShape})
}

// index returns element i of a tensor of indices into n elements.
func index(t *tensor.Tensor, i, n int) int { return cases.Mod(int(cases.Number(t, i)), n) }

func gatherElementsCases(s *cases.Suite, d tensor.DType) {
	x := s.Any(d, 3, 4, 5)
	for axis := range 3 {
		at := s.Indices(tensor.I64, -3, 3, 2, 3, 4)
		y := cases.Pick(x, at.Shape(), func(i []int) []int {
			return cases.With(i, axis, index(at, cases.Flat(at.Shape(), i...), x.Shape()[axis]))
		})
		s.Add(cases.Case{Op: "GatherElements", Version: 11, Attrs: cases.Attrs("axis", axis-3), In: cases.In(x, at),
			Want: cases.Want(y)})
	}
}

func gatherNDCases(s *cases.Suite, d tensor.DType) {
	x := s.Any(d, 2, 3, 4)
	pairs := s.Indices(tensor.I64, -2, 2, 5, 2)
	y := cases.Pick(x, tensor.Shape{5, 4}, func(at []int) []int {
		return []int{index(pairs, at[0]*2, 2), index(pairs, at[0]*2+1, 3), at[1]}
	})
	s.Add(cases.Case{Op: "GatherND", Version: 11, In: cases.In(x, pairs), Want: cases.Want(y)})
	batched := s.Indices(tensor.I64, -3, 3, 2, 5, 1)
	y = cases.Pick(x, tensor.Shape{2, 5, 4}, func(at []int) []int {
		return []int{at[0], index(batched, at[0]*5+at[1], 3), at[2]}
	})
	s.Add(cases.Case{Op: "GatherND", Version: 12, Attrs: cases.Attrs("batch_dims", 1), In: cases.In(x, batched),
		Want: cases.Want(y)})
}

func scatterCases(s *cases.Suite, d tensor.DType) {
	x, updates := s.Any(d, 3, 5), s.Any(d, 2, 3)
	at := cases.Seen(cases.Ints(0, 4, -2, 1, -1, 0), 2, 3)
	y := cases.Pick(x, x.Shape(), func(at []int) []int { return at })
	cases.Each(at.Shape(), func(i int, pos []int) {
		cases.SetElement(y, cases.Flat(y.Shape(), pos[0], index(at, i, 5)), cases.Element(updates, i))
	})
	s.Add(cases.Case{Op: "ScatterElements", Version: 11, Attrs: cases.Attrs("axis", 1), In: cases.In(x, at, updates),
		Want: cases.Want(y)})
	s.Add(cases.Case{Op: "Scatter", Version: 9, Attrs: cases.Attrs("axis", 1), In: cases.In(x, at, updates),
		Want: cases.Want(y)})

	rows := cases.Seen(cases.Ints(2, -3), 2, 1)
	updates = s.Any(d, 2, 5)
	y = cases.Pick(x, x.Shape(), func(at []int) []int { return at })
	for i := range 2 {
		for j := range 5 {
			cases.SetElement(y, index(rows, i, 3)*5+j, cases.Element(updates, i*5+j))
		}
	}
	s.Add(cases.Case{Op: "ScatterND", Version: 11, In: cases.In(x, rows, updates), Want: cases.Want(y)})
}

func scatterReductions(s *cases.Suite, d tensor.DType, reduction string) {
	combine := map[string]func(a, b float64) float64{
		"add": func(a, b float64) float64 { return a + b },
		"mul": func(a, b float64) float64 { return a * b },
		"max": math.Max,
		"min": math.Min,
	}[reduction]
	x, updates := s.Any(d, 4), s.Any(d, 6)
	at := cases.Ints(0, 3, 3, -1, 2, 0)
	y := cases.Pick(x, x.Shape(), func(at []int) []int { return at })
	for i := range 6 {
		j := index(at, i, 4)
		cases.SetNumber(y, j, combine(cases.Number(y, j), cases.Number(updates, i)))
	}
	a := cases.Attrs("reduction", reduction)
	s.Add(cases.Case{Op: "ScatterElements", Version: 16, Note: reduction, Attrs: a, In: cases.In(x, at, updates),
		Want: cases.Want(y), Ulps: 4})
	s.Add(cases.Case{Op: "ScatterND", Version: 16, Note: reduction, Attrs: a,
		In: cases.In(x, cases.Seen(at, 6, 1), updates), Want: cases.Want(y), Ulps: 4})
}

func triluCases(s *cases.Suite, d tensor.DType, shape []int) {
	x := s.Any(d, shape...)
	rank := len(shape)
	for _, k := range []int{0, 1, -1, 2, -100, cases.Huge} {
		for upper := range 2 {
			y := cases.Pick(x, shape, func(at []int) []int {
				over := at[rank-1] - at[rank-2]
				if upper == 1 && over < k || upper == 0 && over > k {
					return nil
				}
				return at
			})
			s.Add(cases.Case{Op: "Trilu", Version: 14, Attrs: cases.Attrs("upper", upper),
				In: cases.In(x, cases.Scalar(tensor.I64, float64(k))), Want: cases.Want(y)})
			if k == 0 && upper == 1 {
				s.Add(cases.Case{Op: "Trilu", Version: 14, Note: "plain", In: cases.In(x), Want: cases.Want(y)})
			}
		}
	}
}

func reverseCases(s *cases.Suite, d tensor.DType) {
	x := s.Any(d, 4, 5, 2)
	for time := range 2 {
		batch := 1 - time
		lens := s.Indices(tensor.I64, 0, x.Shape()[time]+1, x.Shape()[batch])
		y := cases.Pick(x, x.Shape(), func(at []int) []int {
			if n := int(cases.Number(lens, at[batch])); at[time] < n {
				at[time] = n - 1 - at[time]
			}
			return at
		})
		s.Add(cases.Case{Op: "ReverseSequence", Version: 10, Attrs: cases.Attrs("time_axis", time, "batch_axis", batch),
			In: cases.In(x, lens), Want: cases.Want(y)})
	}
}

func compressCases(s *cases.Suite, d tensor.DType) {
	x := s.Any(d, 3, 4)
	cond := cases.Vector(tensor.Bool, 0, 1, 1)
	rows := cases.Pick(x, tensor.Shape{2, 4}, func(at []int) []int { return []int{at[0] + 1, at[1]} })
	s.Add(cases.Case{Op: "Compress", Version: 9, Attrs: cases.Attrs("axis", 0), In: cases.In(x, cond),
		Want: cases.Want(rows)})
	cols := cases.Pick(x, tensor.Shape{3, 2}, func(at []int) []int { return []int{at[0], at[1] + 1} })
	s.Add(cases.Case{Op: "Compress", Version: 11, Attrs: cases.Attrs("axis", -1), In: cases.In(x, cond),
		Want: cases.Want(cols)})
	some := cases.Pick(x, tensor.Shape{2}, func(at []int) []int { return []int{0, at[0] + 1} })
	s.Add(cases.Case{Op: "Compress", Version: 9, Note: "flat", In: cases.In(x, cond), Want: cases.Want(some)})
	tall := cases.Seen(cond, 3, 1)
	s.Add(cases.Case{Op: "Compress", Version: 9, Note: "axes of the condition", Attrs: cases.Attrs("axis", 0),
		In: cases.In(x, tall), Want: cases.Want(rows)})
	first := cases.Pick(x, tensor.Shape{1, 4}, func(at []int) []int { return at })
	s.Add(cases.Case{Op: "Compress", Version: 9, Note: "scalar condition", Attrs: cases.Attrs("axis", 0),
		In: cases.In(x, cases.Scalar(tensor.Bool, 1)), Want: cases.Want(first)})
	s.Add(cases.Case{Op: "Compress", Version: 9, Note: "none", In: cases.In(x, cases.Vector(tensor.Bool, 0, 0)),
		Want: cases.Want(tensor.New(d, 0))})
}

func oneHotCase(s *cases.Suite, indices, depths, d tensor.DType, version int) {
	at := s.Between(indices, 0, 6, 2, 3)
	if version == 11 {
		at = s.Between(indices, -5, 6, 2, 3)
	}
	values := s.Any(d, 2)
	for _, axis := range []int{-1, 0, 1} {
		a := cases.Mod(axis, 3)
		shape := slices.Insert(slices.Clone(at.Shape()), a, 5)
		y := cases.Pick(values, shape, func(pos []int) []int {
			hot := pos[a]
			i := int(math.Trunc(cases.Number(at, cases.Flat(at.Shape(), slices.Delete(pos, a, a+1)...))))
			if i == hot || version == 11 && i == hot-5 {
				return []int{1}
			}
			return []int{0}
		})
		s.Add(cases.Case{Op: "OneHot", Version: version, Attrs: cases.Attrs("axis", axis),
			In: cases.In(at, cases.Scalar(depths, 5), values), Want: cases.Want(y)})
	}
}

func nonZeroCases(s *cases.Suite, d tensor.DType) {
	x := tensor.New(d, 3, 4)
	some := s.Any(d, 3)
	var rows, cols []int
	for i, at := range []int{2, 5, 6} {
		if l := d.Layout(); l != nil && d.IsFloat() {
			l.Set(some.Bytes(), i, int8(2*i+5)) // 6, -0.5 and -1
		}
		cases.SetElement(x, at, cases.Element(some, i))
		if cases.Element(some, i) != cases.Element(tensor.New(d, 1), 0) {
			rows, cols = append(rows, at/4), append(cols, at%4)
		}
	}
	y := cases.Seen(cases.Ints(slices.Concat(rows, cols)...), 2, len(rows))
	s.Add(cases.Case{Op: "NonZero", Version: 9, In: cases.In(x), Want: cases.Want(y)})
	s.Add(cases.Case{Op: "NonZero", Version: 9, Note: "none", In: cases.In(tensor.New(d, 2, 3)),
		Want: cases.Want(tensor.New(tensor.I64, 2, 0))})
}

func eyeLikeCases(s *cases.Suite) {
	for _, d := range append([]tensor.DType{tensor.Bool}, cases.Numeric...) {
		version := 9
		if d == tensor.BF16 {
			version = 22
		}
		for _, k := range []int{0, 2, -1, 9, math.MinInt} {
			x := s.Any(d, 3, 5)
			y := tensor.New(d, 3, 5)
			cases.Each(y.Shape(), func(i int, at []int) { cases.SetNumber(y, i, cases.Truth(at[1]-at[0] == k)) })
			s.Add(cases.Case{Op: "EyeLike", Version: version, Attrs: cases.Attrs("k", k), In: cases.In(x), Want: cases.Want(y)})
			s.Add(cases.Case{Op: "EyeLike", Version: version, Attrs: cases.Attrs("k", k, "dtype", d.Code()),
				In: cases.In(s.Any(tensor.I32, 3, 5)), Want: cases.Want(y)})
		}
	}
}
