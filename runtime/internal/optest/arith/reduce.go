package arith

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// reduction is an operator that reduces the elements along some axes to one number.
type reduction struct {
	op     string
	f      func(list []float64) float64
	more   []tensor.DType // besides numbers
	ulps   float64
	lo     float64 // of the elements to try
	inputs int     // the version from which the axes are an input
}

func fold(start float64, step func(acc, x float64) float64) func([]float64) float64 {
	return func(list []float64) float64 {
		acc := start
		for _, x := range list {
			acc = step(acc, x)
		}
		return acc
	}
}

func reduceCases(s *cases.Suite) {
	sum := fold(0, func(acc, x float64) float64 { return acc + x })
	squares := fold(0, func(acc, x float64) float64 { return acc + x*x })
	boolean := []tensor.DType{tensor.Bool}
	list := []reduction{
		{"ReduceSum", sum, nil, 16, -2, 13},
		{"ReduceMean", func(l []float64) float64 { return sum(l) / float64(len(l)) }, nil, 8, -2, 18},
		{"ReduceMax", slices.Max[[]float64], boolean, 0, -2, 18},
		{"ReduceMin", slices.Min[[]float64], boolean, 0, -2, 18},
		{"ReduceProd", fold(1, func(acc, x float64) float64 { return acc * x }), nil, 16, 0.5, 18},
		{"ReduceL1", fold(0, func(acc, x float64) float64 { return acc + math.Abs(x) }), nil, 16, -2, 18},
		{"ReduceL2", func(l []float64) float64 { return math.Sqrt(squares(l)) }, nil, 16, -2, 18},
		{"ReduceSumSquare", squares, nil, 16, -2, 18},
		{"ReduceLogSum", func(l []float64) float64 { return math.Log(sum(l)) }, nil, 16, 0.5, 18},
		{"ReduceLogSumExp", fold(math.Inf(-1), logAdd), nil, 16, -2, 18},
	}
	shapes := []struct{ shape, axes []int }{
		{[]int{3, 4, 5}, []int{1}}, {[]int{3, 4, 5}, []int{0, 2}}, {[]int{3, 4, 5}, []int{-1}}, {[]int{2, 3, 2, 3}, []int{2, 1}},
		{[]int{2, 37}, []int{1}}, {[]int{37, 3}, []int{0}}, {[]int{2, 3}, []int{0, 1}},
	}
	for _, r := range list {
		for _, d := range slices.Concat(cases.Numeric, r.more) {
			for _, sh := range shapes {
				hi := 2.0
				if r.op == "ReduceProd" {
					hi = 1.4
				}
				x := s.Between(d, cases.Choose(d.Kind() == tensor.Unsigned || d == tensor.Bool, max(r.lo, 0), r.lo), hi,
					sh.shape...)
				for keep := range 2 {
					y := Reduced(x, sh.axes, keep == 1, r.f)
					version := 1
					if d == tensor.Bool {
						version = 20
					}
					old := cases.Attrs("axes", sh.axes, "keepdims", keep)
					if version < r.inputs {
						s.Add(cases.Case{Op: r.op, Version: version, Until: r.inputs, Attrs: old, In: cases.In(x), Want: cases.Want(y),
							Ulps: r.ulps})
					}
					s.Add(cases.Case{Op: r.op, Version: max(version, r.inputs), Attrs: cases.Attrs("keepdims", keep),
						In: cases.In(x, cases.Ints(sh.axes...)), Want: cases.Want(y), Ulps: r.ulps})
				}
			}
		}
		x := s.Between(tensor.F32, max(r.lo, 0.5), 2, 3, 4)
		all := Reduced(x, []int{0, 1}, true, r.f)
		s.Add(cases.Case{Op: r.op, Version: 1, Note: "all axes", In: cases.In(x), Want: cases.Want(all), Ulps: r.ulps})
		s.Add(cases.Case{Op: r.op, Version: r.inputs, Note: "no axes, all", In: cases.In(x, cases.Ints()),
			Want: cases.Want(all), Ulps: r.ulps})
		s.Add(cases.Case{Op: r.op, Version: 1, Until: r.inputs, Note: "axis", Attrs: cases.Attrs("axes", []int{2}),
			In: cases.In(x), Fails: graph.ErrShape})
		s.Add(cases.Case{Op: r.op, Version: r.inputs, Note: "axis", In: cases.In(x, cases.Ints(-3)), Fails: graph.ErrShape})
		one := s.Between(tensor.F32, max(r.lo, 0.5), 2)
		for _, axis := range []int{0, -1} {
			alone := Reduced(one, nil, true, r.f)
			s.Add(cases.Case{Op: r.op, Version: 1, Until: r.inputs, Note: "scalar", Attrs: cases.Attrs("axes", []int{axis}),
				In: cases.In(one), Want: cases.Want(alone), Ulps: r.ulps})
			s.Add(cases.Case{Op: r.op, Version: r.inputs, Note: "scalar", In: cases.In(one, cases.Ints(axis)),
				Want: cases.Want(alone), Ulps: r.ulps})
		}
		s.Add(cases.Case{Op: r.op, Version: r.inputs, Note: "axis of a scalar", In: cases.In(one, cases.Ints(1)),
			Fails: graph.ErrShape})
		manyReduced(s, r)
	}
	argCases(s)
	cumSumCases(s)
}

func manyReduced(s *cases.Suite, r reduction) {
	for _, sh := range []struct{ shape, axes []int }{{[]int{70, 1003}, []int{1}}, {[]int{1003, 70}, []int{0}},
		{[]int{8, 90, 91}, []int{1, 2}}} {
		x := s.Between(tensor.F32, -1, 1, sh.shape...)
		if r.lo > 0 {
			x = s.Between(tensor.F32, 0.99, 1.01, sh.shape...)
		}
		y := Reduced(x, sh.axes, true, r.f)
		s.Add(cases.Case{Op: r.op, Version: 1, Until: r.inputs, Note: "many", Attrs: cases.Attrs("axes", sh.axes),
			In: cases.In(x), Want: cases.Want(y), Ulps: 40 * r.ulps})
	}
}

func logAdd(a, b float64) float64 {
	m := math.Max(a, b)
	return m + math.Log(math.Exp(a-m)+math.Exp(b-m))
}

// Reduced applies f to the elements along the axes, collected for each result.
func Reduced(x *tensor.Tensor, axes []int, keep bool, f func([]float64) float64) *tensor.Tensor {
	kept := slices.Clone(x.Shape())
	for _, a := range axes {
		kept[cases.Mod(a, len(kept))] = 1
	}
	groups := make([][]float64, kept.Len())
	cases.Each(x.Shape(), func(i int, at []int) {
		g := cases.Flat(kept, cases.BroadcastIndex(kept, at)...)
		groups[g] = append(groups[g], cases.Number(x, i))
	})
	y := tensor.New(x.DType(), kept...)
	for i, g := range groups {
		v := f(g)
		if x.DType().IsInteger() {
			v = math.Trunc(v)
		}
		cases.SetNumber(y, i, v)
	}
	if keep {
		return y
	}
	var shape []int
	for a, n := range kept {
		if !slices.Contains(axes, a) && !slices.Contains(axes, a-len(kept)) {
			shape = append(shape, n)
		}
	}
	return cases.Seen(y, shape...)
}

func argCases(s *cases.Suite) {
	for _, d := range cases.Numeric {
		for axis := range 3 {
			x := cases.Rounded(s.Between(d, 0, 5, 3, 19, 4))
			for _, better := range []struct {
				op string
				ok func(a, b float64) bool
			}{
				{"ArgMax", func(a, b float64) bool { return a > b }},
				{"ArgMin", func(a, b float64) bool { return a < b }},
			} {
				first, last := argBest(x, axis, false, better.ok), argBest(x, axis, true, better.ok)
				s.Add(cases.Case{Op: better.op, Version: 1, Attrs: cases.Attrs("axis", axis), In: cases.In(x),
					Want: cases.Want(first)})
				s.Add(cases.Case{Op: better.op, Version: 12, Attrs: cases.Attrs("axis", axis-3, "select_last_index", 1),
					In: cases.In(x), Want: cases.Want(last)})
				flatShape := slices.Delete(slices.Clone(x.Shape()), axis, axis+1)
				s.Add(cases.Case{Op: better.op, Version: 1, Attrs: cases.Attrs("axis", axis, "keepdims", 0), In: cases.In(x),
					Want: cases.Want(cases.Seen(first, flatShape...))})
			}
		}
	}
}

// argBest returns the index along the axis of the best element: the first of equals, or the last if
// last is set.
func argBest(x *tensor.Tensor, axis int, last bool, better func(a, b float64) bool) *tensor.Tensor {
	y := tensor.New(tensor.I64, cases.With(x.Shape(), axis, 1)...)
	cases.Each(y.Shape(), func(i int, at []int) {
		best := 0
		for j := range x.Shape()[axis] {
			a, b := cases.Number(x, cases.Flat(x.Shape(), cases.With(at, axis, j)...)),
				cases.Number(x, cases.Flat(x.Shape(), cases.With(at, axis, best)...))
			if better(a, b) || last && a == b {
				best = j
			}
		}
		cases.SetNumber(y, i, float64(best))
	})
	return y
}

func cumSumCases(s *cases.Suite) {
	for _, d := range cases.Numeric {
		x := s.Any(d, 3, 7, 2)
		for axis := range 3 {
			for mode := range 4 {
				exclusive, reverse := mode&1, mode>>1
				y := tensor.New(d, x.Shape()...)
				cases.Each(x.Shape(), func(i int, at []int) {
					sum := 0.0
					for j := range x.Shape()[axis] {
						before := j < at[axis]
						if reverse == 1 {
							before = j > at[axis]
						}
						if before || j == at[axis] && exclusive == 0 {
							sum += cases.Number(x, cases.Flat(x.Shape(), cases.With(at, axis, j)...))
						}
					}
					cases.SetNumber(y, i, sum)
				})
				version := 11
				if d == tensor.F16 || d == tensor.BF16 {
					version = 14
				}
				s.Add(cases.Case{Op: "CumSum", Version: version, Attrs: cases.Attrs("exclusive", exclusive, "reverse", reverse),
					In: cases.In(x, cases.Scalar(tensor.I64, float64(axis-3))), Want: cases.Want(y), Ulps: 16})
			}
		}
	}
}
