package arith

import (
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func einsumCases(s *cases.Suite) {
	for _, d := range cases.Numeric {
		for _, c := range []struct {
			equation string // for the reference: no ellipsis, explicit result
			given    string // for the node, if different
			shapes   [][]int
		}{
			{"ij->ji", "", [][]int{{3, 4}}},
			{"ij->", "", [][]int{{3, 4}}},
			{"iij->ji", "", [][]int{{3, 3, 2}}},
			{"ii->", "ii", [][]int{{4, 4}}},
			{"ba->ab", "ba", [][]int{{3, 4}}},
			{"ij,jk->ik", "", [][]int{{3, 4}, {4, 5}}},
			{"ij,jk->ik", "ij,jk", [][]int{{3, 4}, {4, 5}}},
			{"i,i->", "", [][]int{{7}, {7}}},
			{"i,j->ij", "", [][]int{{3}, {4}}},
			{"bij,bjk->bik", "", [][]int{{2, 3, 4}, {2, 4, 5}}},
			{"bhid,bhjd->bhij", "", [][]int{{2, 3, 4, 5}, {2, 3, 6, 5}}},
			{"bihd,bjhd->bhij", "", [][]int{{2, 4, 3, 5}, {2, 6, 3, 5}}},
			{"bhij,bjhd->bihd", "", [][]int{{2, 3, 4, 6}, {2, 6, 3, 5}}},
			{"bchw,bkhw->bckh", "", [][]int{{2, 3, 4, 5}, {2, 2, 4, 5}}},
			{"aibjc,cjbd->dia", "", [][]int{{2, 3, 2, 3, 2}, {2, 3, 2, 4}}},
			{"ij,jk,kl->il", "", [][]int{{2, 3}, {3, 4}, {4, 5}}},
			{"ijk,l->lk", "", [][]int{{2, 3, 4}, {2}}},
			{"yzij,yzjk->yzik", "...ij,...jk->...ik", [][]int{{2, 3, 2, 4}, {2, 3, 4, 3}}},
			{"yzij,zjk->yzik", "...ij,...jk", [][]int{{2, 3, 2, 4}, {3, 4, 3}}},
			{"yij,yj->iy", "...ij,...j->i...", [][]int{{2, 3, 4}, {1, 4}}},
			{"ij,ij->ij", "", [][]int{{3, 1}, {1, 4}}},
			{"ij,ij->", "", [][]int{{3, 1}, {1, 4}}},
			{"ij,jk->ik", "", [][]int{{3, 0}, {0, 2}}},
			{"Ab,bA->A", "", [][]int{{3, 4}, {4, 3}}},
			{",i->i", "", [][]int{{}, {5}}},
			{"->", "", [][]int{{}}},
		} {
			var inputs []*tensor.Tensor
			for _, sh := range c.shapes {
				inputs = append(inputs, s.Any(d, sh...))
			}
			if c.given == "" {
				c.given = c.equation
			}
			s.Add(cases.Case{Op: "Einsum", Version: 12, Note: c.given, Attrs: cases.Attrs("equation", c.given), In: inputs,
				Want: cases.Want(summation(d, c.equation, inputs)), Ulps: 64})
		}
	}
	x := s.Any(tensor.F32, 2, 3)
	for _, bad := range []string{"", "i", "ijk"} {
		s.Add(cases.Case{Op: "Einsum", Version: 12, Note: "refused " + bad, Attrs: cases.Attrs("equation", bad),
			In: cases.In(x), Fails: graph.ErrShape})
	}
	for _, bad := range []string{"ij->ik", "ij->ii", "ij,jk", "i1", "i..j", "ij->i->j"} {
		s.Add(cases.Case{Op: "Einsum", Version: 12, Note: "refused " + bad, Attrs: cases.Attrs("equation", bad),
			In: cases.In(x), Fails: graph.ErrFormat})
	}
	s.Add(cases.Case{Op: "Einsum", Version: 12, Note: "extents", Attrs: cases.Attrs("equation", "ij,ij"),
		In: cases.In(x, s.Any(tensor.F32, 3, 2)), Fails: graph.ErrShape})
}

// summation adds up the products of the inputs' elements over all indices of all axes.
func summation(d tensor.DType, equation string, inputs []*tensor.Tensor) *tensor.Tensor {
	left, right, _ := strings.Cut(equation, "->")
	terms := strings.Split(left, ",")
	var names []rune
	var extents []int
	for i, t := range terms {
		for a, name := range []rune(t) {
			at := slices.Index(names, name)
			if at < 0 {
				at = len(names)
				names, extents = append(names, name), append(extents, 1)
			}
			if n := inputs[i].Shape()[a]; n != 1 {
				extents[at] = n
			}
		}
	}
	pickAxes := func(t string, list []int) []int {
		out := []int{}
		for _, name := range t {
			out = append(out, list[slices.Index(names, name)])
		}
		return out
	}
	y := tensor.New(d, pickAxes(right, extents)...)
	sums := make([]float64, y.Len())
	cases.Each(extents, func(_ int, at []int) {
		v := 1.0
		for i, t := range terms {
			sh := inputs[i].Shape()
			v *= cases.Number(inputs[i], cases.Flat(sh, cases.BroadcastIndex(sh, pickAxes(t, at))...))
		}
		sums[cases.Flat(y.Shape(), pickAxes(right, at)...)] += v
	})
	for i, v := range sums {
		cases.SetNumber(y, i, v)
	}
	return y
}

// sumLikeCases adds cases that undo a broadcast.
func sumLikeCases(s *cases.Suite) {
	for _, d := range cases.Numeric {
		for _, c := range [][2][]int{{{2, 3, 4}, {3, 1}}, {{3, 4}, {3, 4}}, {{3, 4}, {}}, {{3, 1}, {1, 1}},
			{{2, 0}, {1, 0}}} {
			x, like := s.Any(d, c[0]...), s.Any(tensor.F32, c[1]...)
			sums := make([]float64, like.Len())
			cases.Each(x.Shape(), func(i int, at []int) {
				sums[cases.Flat(like.Shape(), cases.BroadcastIndex(like.Shape(), at)...)] += cases.Number(x, i)
			})
			s.Add(cases.Case{Domain: "nacre", Op: "SumLike", Version: 1, In: cases.In(x, like),
				Want: cases.Want(cases.FromNumbers(d, sums, c[1]...)), Ulps: 16})
		}
	}
	s.Add(cases.Case{Domain: "nacre", Op: "SumLike", Version: 1, Note: "shape",
		In: cases.In(s.Any(tensor.F32, 3, 4), s.Any(tensor.F32, 3, 2)), Fails: graph.ErrShape})
}
