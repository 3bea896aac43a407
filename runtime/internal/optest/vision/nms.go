package vision

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func suppressionCases(s *cases.Suite) {
	const boxes = 12
	for _, center := range []int{0, 1} {
		corners := s.Between(tensor.F32, 0, 1, 2, boxes, 4)
		scores := s.Between(tensor.F32, 0, 1, 2, 3, boxes)
		tensor.View[float32](scores)[3] = tensor.View[float32](scores)[5]
		for _, most := range []int{0, 2, 100} {
			var list []float64
			for b := range 2 {
				for class := range 3 {
					for _, i := range suppressed(corners, scores, b, class, center == 1, most) {
						list = append(list, float64(b), float64(class), float64(i))
					}
				}
			}
			s.Add(cases.Case{Op: "NonMaxSuppression", Version: 10, Attrs: cases.Attrs("center_point_box", center),
				In:   cases.In(corners, scores, cases.Ints(most), cases.Vector(tensor.F32, 0.25), cases.Vector(tensor.F32, 0.3)),
				Want: cases.Want(cases.FromNumbers(tensor.I64, list, len(list)/3, 3))})
		}
		s.Add(cases.Case{Op: "NonMaxSuppression", Version: 10, Note: "none", In: cases.In(corners, scores),
			Want: cases.Want(tensor.New(tensor.I64, 0, 3))})
	}
	s.Add(cases.Case{Op: "NonMaxSuppression", Version: 10, Note: "boxes",
		In: cases.In(s.Any(tensor.F32, 1, 3, 4), s.Any(tensor.F32, 1, 1, 2), cases.Ints(1)), Fails: graph.ErrShape})
}

// suppressed repeatedly picks the best box and removes the boxes that overlap it.
func suppressed(corners, scores *tensor.Tensor, b, class int, center bool, most int) []int {
	n := corners.Shape()[1]
	span := func(i, axis int) (lo, hi float64) {
		p, q := cases.Number(corners, (b*n+i)*4+axis), cases.Number(corners, (b*n+i)*4+axis+2)
		if center {
			p, q = p-q/2, p+q/2
		}
		return math.Min(p, q), math.Max(p, q)
	}
	overlap := func(i, j int) float64 {
		inter, first, second := 1.0, 1.0, 1.0
		for axis := range 2 {
			a, c := span(i, axis)
			e, f := span(j, axis)
			inter *= math.Max(0, math.Min(c, f)-math.Max(a, e))
			first, second = first*(c-a), second*(f-e)
		}
		return inter / (first + second - inter)
	}
	score := func(i int) float64 { return cases.Number(scores, (b*scores.Shape()[1]+class)*n+i) }
	var picked []int
	struck := make([]bool, n)
	for len(picked) < most {
		best := -1
		for i := range n {
			if !struck[i] && score(i) > 0.3 && (best < 0 || score(i) > score(best)) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		picked = append(picked, best)
		for i := range n {
			struck[i] = struck[i] || i == best || overlap(best, i) > 0.25
		}
	}
	return picked
}
