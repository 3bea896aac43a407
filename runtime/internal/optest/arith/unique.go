package arith

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// uniqueMicrosoftCases adds cases of Unique in ONNX Runtime's domain.
func uniqueMicrosoftCases(s *cases.Suite) {
	for _, d := range append(slices.Clone(cases.Numeric), tensor.Bool) {
		given := s.Between(d, 0, 1, 9)
		cases.SetNumber(given, 0, 1)
		cases.SetNumber(given, 1, 0)
		list := cases.Numbers(given)
		of, counts := make([]int, 9), make([]int, 2)
		for i, v := range list {
			of[i] = 1 - int(math.Round(v))
			cases.SetNumber(given, i, float64(1-of[i]))
			counts[of[i]]++
		}
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "Unique", Version: 1, In: cases.In(given),
			Want: cases.Want(cases.Vector(d, 1, 0), cases.Ints(of...), cases.Ints(counts...))})
	}
	text, _ := tensor.FromStrings([]string{"b", "a", "b"}, 3)
	short, _ := tensor.FromStrings([]string{"b", "a"}, 2)
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "Unique", Version: 1, In: cases.In(text),
		Want: cases.Want(short, cases.Ints(0, 1, 0), cases.Ints(2, 1))})
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "Unique", Version: 1, Note: "two axes",
		In: cases.In(s.Any(tensor.F32, 2, 3)), Fails: graph.ErrFormat})
}

func topKCases(s *cases.Suite, d tensor.DType) {
	x := cases.Rounded(s.Between(d, 0, 5, 3, 17, 2))
	for _, k := range []int{0, 1, 4, 17} {
		for largest := range 2 {
			values := tensor.New(d, 3, k, 2)
			places := tensor.New(tensor.I64, 3, k, 2)
			cases.Each(x.Shape(), func(i int, at []int) {
				better := 0 // elements of the lane that precede this one
				for j := range 17 {
					v := cases.Number(x, cases.Flat(x.Shape(), at[0], j, at[2]))
					if w := cases.Number(x, i); v == w && j < at[1] || largest == 1 && v > w || largest == 0 && v < w {
						better++
					}
				}
				if better < k {
					to := cases.Flat(values.Shape(), at[0], better, at[2])
					cases.SetNumber(values, to, cases.Number(x, i))
					cases.SetNumber(places, to, float64(at[1]))
				}
			})
			s.Add(cases.Case{Op: "TopK", Version: 11, Attrs: cases.Attrs("axis", 1, "largest", largest),
				In: cases.In(x, cases.Ints(k)), Want: cases.Want(values, places)})
			s.Add(cases.Case{Op: "TopK", Version: 11, Note: "places", Attrs: cases.Attrs("axis", -2, "largest", largest),
				In: cases.In(x, cases.Ints(k)), Want: cases.Want(nil, places)})
			if largest == 1 {
				s.Add(cases.Case{Op: "TopK", Version: 1, Until: 10, Attrs: cases.Attrs("axis", 1, "k", k), In: cases.In(x),
					Want: cases.Want(values, places)})
				s.Add(cases.Case{Op: "TopK", Version: 10, Attrs: cases.Attrs("axis", 1), In: cases.In(x, cases.Ints(k)),
					Want: cases.Want(values, places)})
			}
		}
	}
	if d == tensor.F32 {
		nan := cases.Vector(d, 1, math.NaN(), math.Inf(1), -2)
		s.Add(cases.Case{Op: "TopK", Version: 11, Note: "nan", In: cases.In(nan, cases.Ints(3)),
			Want: cases.Want(cases.Vector(d, math.NaN(), math.Inf(1), 1), cases.Ints(1, 2, 0))})
		s.Add(cases.Case{Op: "TopK", Version: 11, Note: "too many", In: cases.In(nan, cases.Ints(5)), Fails: graph.ErrShape})
		s.Add(cases.Case{Op: "TopK", Version: 11, Note: "negative", In: cases.In(nan, cases.Ints(-1)), Fails: graph.ErrShape})
	}
}

func uniqueCases(s *cases.Suite, d tensor.DType) {
	x := tensor.New(d, 2, 6, 2)
	few := s.Between(d, 0, 3, 3)
	for i := range x.Len() {
		cases.SetElement(x, i, cases.Element(few, s.IntN(3)))
	}
	uniqueCase(s, cases.Seen(x, 24), 0, cases.Attrs(), cases.Attrs("sorted", 0), x)
	for axis := range 3 {
		uniqueCase(s, x, axis, cases.Attrs("axis", axis), cases.Attrs("axis", axis-3, "sorted", 0), x)
	}
}

// before compares elements of any ordered type.
func before(t *tensor.Tensor, i, j int) int {
	if t.DType() == tensor.String {
		a, b := t.Strings()[i], t.Strings()[j]
		return int(cases.Truth(a > b) - cases.Truth(a < b))
	}
	return order(cases.Number(t, i), cases.Number(t, j))
}

func uniqueCase(s *cases.Suite, x *tensor.Tensor, axis int, sorted, unsorted cases.AttrList, given *tensor.Tensor) {
	shape := x.Shape()
	n := shape[axis]
	compare := func(a, b int) int {
		result := 0
		cases.Each(cases.With(shape, axis, 1), func(_ int, at []int) {
			if result == 0 {
				result = before(x, cases.Flat(shape, cases.With(at, axis, a)...), cases.Flat(shape, cases.With(at, axis, b)...))
			}
		})
		return result
	}
	var firsts []int
	for i := range n {
		if !slices.ContainsFunc(firsts, func(j int) bool { return compare(i, j) == 0 }) {
			firsts = append(firsts, i)
		}
	}
	add := func(list cases.AttrList, firsts []int) {
		counts, of := make([]int, len(firsts)), make([]int, n)
		for i := range n {
			of[i] = slices.IndexFunc(firsts, func(j int) bool { return compare(i, j) == 0 })
			counts[of[i]]++
		}
		y := cases.Pick(x, cases.With(shape, axis, len(firsts)),
			func(at []int) []int { return cases.With(at, axis, firsts[at[axis]]) })
		c := cases.Case{Op: "Unique", Version: 11, Attrs: list, In: cases.In(given),
			Want: cases.Want(y, cases.Ints(firsts...), cases.Ints(of...), cases.Ints(counts...))}
		s.Add(c)
		c.Note, c.Want = "counts", cases.Want(nil, nil, nil, cases.Ints(counts...))
		s.Add(c)
	}
	add(unsorted, firsts)
	inOrder := slices.Clone(firsts)
	slices.SortFunc(inOrder, compare)
	add(sorted, inOrder)
}

// sortCases adds cases of the largest elements and of distinct elements.
func sortCases(s *cases.Suite) {
	for _, d := range cases.Numeric {
		topKCases(s, d)
		uniqueCases(s, d)
	}
	for _, d := range []tensor.DType{tensor.Bool, tensor.String} {
		uniqueCases(s, d)
	}
}
