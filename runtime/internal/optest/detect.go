package optest

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func detectCases(s *suite) {
	for _, d := range numeric {
		topKCases(s, d)
		uniqueCases(s, d)
		gridSampleCases(s, d)
		col2imCases(s, d)
	}
	for _, d := range []tensor.DType{tensor.Bool, tensor.String} {
		uniqueCases(s, d)
	}
	x := s.any(tensor.Bool, 1, 1, 3, 4)
	s.add(Case{Op: "GridSample", Version: 16, Attrs: attrs("mode", "nearest", "padding_mode", "border"),
		In: in(x, vector(tensor.F32, -1, -1)), Fails: graph.ErrShape})
	gridCase(s, tensor.Bool, 16, "nearest", "border", 0, []int{3, 4}, []int{2, 5})
	for _, d := range floats {
		roiAlignCases(s, d)
		maxRoiPoolCases(s, d)
		affineGridCases(s, d)
		deformConvCases(s, d)
		maxUnpoolCases(s, d)
	}
	suppressionCases(s)
	for _, d := range tensor.DTypes() {
		cropPadCases(s, d)
	}
}

func topKCases(s *suite, d tensor.DType) {
	x := rounded(s.between(d, 0, 5, 3, 17, 2))
	for _, k := range []int{0, 1, 4, 17} {
		for largest := range 2 {
			values := tensor.New(d, 3, k, 2)
			places := tensor.New(tensor.I64, 3, k, 2)
			each(x.Shape(), func(i int, at []int) {
				better := 0 // elements of the lane that come before this one
				for j := range 17 {
					v := number(x, flat(x.Shape(), at[0], j, at[2]))
					if w := number(x, i); v == w && j < at[1] || largest == 1 && v > w || largest == 0 && v < w {
						better++
					}
				}
				if better < k {
					to := flat(values.Shape(), at[0], better, at[2])
					setNumber(values, to, number(x, i))
					setNumber(places, to, float64(at[1]))
				}
			})
			s.add(Case{Op: "TopK", Version: 11, Attrs: attrs("axis", 1, "largest", largest), In: in(x, ints(k)), Want: want(values, places)})
			s.add(Case{Op: "TopK", Version: 11, Note: "places", Attrs: attrs("axis", -2, "largest", largest), In: in(x, ints(k)), Want: want(nil, places)})
			if largest == 1 {
				s.add(Case{Op: "TopK", Version: 1, Until: 10, Attrs: attrs("axis", 1, "k", k), In: in(x), Want: want(values, places)})
				s.add(Case{Op: "TopK", Version: 10, Attrs: attrs("axis", 1), In: in(x, ints(k)), Want: want(values, places)})
			}
		}
	}
	if d == tensor.F32 {
		nan := vector(d, 1, math.NaN(), math.Inf(1), -2)
		s.add(Case{Op: "TopK", Version: 11, Note: "nan", In: in(nan, ints(3)), Want: want(vector(d, math.NaN(), math.Inf(1), 1), ints(1, 2, 0))})
		s.add(Case{Op: "TopK", Version: 11, Note: "too many", In: in(nan, ints(5)), Fails: graph.ErrShape})
		s.add(Case{Op: "TopK", Version: 11, Note: "negative", In: in(nan, ints(-1)), Fails: graph.ErrShape})
	}
}

func uniqueCases(s *suite, d tensor.DType) {
	x := tensor.New(d, 2, 6, 2)
	few := s.between(d, 0, 3, 3)
	for i := range x.Len() {
		setElement(x, i, element(few, s.IntN(3)))
	}
	uniqueCase(s, seen(x, 24), 0, attrs(), attrs("sorted", 0), x)
	for axis := range 3 {
		uniqueCase(s, x, axis, attrs("axis", axis), attrs("axis", axis-3, "sorted", 0), x)
	}
}

// before compares elements of any type that has an order.
func before(t *tensor.Tensor, i, j int) int {
	if t.DType() == tensor.String {
		a, b := t.Strings()[i], t.Strings()[j]
		return int(truth(a > b) - truth(a < b))
	}
	return order(number(t, i), number(t, j))
}

func uniqueCase(s *suite, x *tensor.Tensor, axis int, sorted, unsorted attrList, given *tensor.Tensor) {
	shape := x.Shape()
	n := shape[axis]
	compare := func(a, b int) int {
		result := 0
		each(with(shape, axis, 1), func(_ int, at []int) {
			if result == 0 {
				result = before(x, flat(shape, with(at, axis, a)...), flat(shape, with(at, axis, b)...))
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
	add := func(list attrList, firsts []int) {
		counts, of := make([]int, len(firsts)), make([]int, n)
		for i := range n {
			of[i] = slices.IndexFunc(firsts, func(j int) bool { return compare(i, j) == 0 })
			counts[of[i]]++
		}
		y := pick(x, with(shape, axis, len(firsts)), func(at []int) []int { return with(at, axis, firsts[at[axis]]) })
		c := Case{Op: "Unique", Version: 11, Attrs: list, In: in(given), Want: want(y, ints(firsts...), ints(of...), ints(counts...))}
		s.add(c)
		c.Note, c.Want = "counts", want(nil, nil, nil, ints(counts...))
		s.add(c)
	}
	add(unsorted, firsts)
	inOrder := slices.Clone(firsts)
	slices.SortFunc(inOrder, compare)
	add(sorted, inOrder)
}

func suppressionCases(s *suite) {
	const boxes = 12
	for _, center := range []int{0, 1} {
		corners := s.between(tensor.F32, 0, 1, 2, boxes, 4)
		scores := s.between(tensor.F32, 0, 1, 2, 3, boxes)
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
			s.add(Case{Op: "NonMaxSuppression", Version: 10, Attrs: attrs("center_point_box", center),
				In:   in(corners, scores, ints(most), vector(tensor.F32, 0.25), vector(tensor.F32, 0.3)),
				Want: want(fromNumbers(tensor.I64, list, len(list)/3, 3))})
		}
		s.add(Case{Op: "NonMaxSuppression", Version: 10, Note: "none", In: in(corners, scores), Want: want(tensor.New(tensor.I64, 0, 3))})
	}
	s.add(Case{Op: "NonMaxSuppression", Version: 10, Note: "boxes", In: in(s.any(tensor.F32, 1, 3, 4), s.any(tensor.F32, 1, 1, 2), ints(1)), Fails: graph.ErrShape})
}

// suppressed picks the best box again and again and strikes out what overlaps it.
func suppressed(corners, scores *tensor.Tensor, b, class int, center bool, most int) []int {
	n := corners.Shape()[1]
	span := func(i, axis int) (lo, hi float64) {
		p, q := number(corners, (b*n+i)*4+axis), number(corners, (b*n+i)*4+axis+2)
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
	score := func(i int) float64 { return number(scores, (b*scores.Shape()[1]+class)*n+i) }
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

func cropPadCases(s *suite, d tensor.DType) {
	x := s.any(d, 4, 5, 3)
	add := func(note string, to []int, list attrList, in []*tensor.Tensor) {
		y := pick(x, to, func(at []int) []int {
			from := make([]int, len(at))
			for a, n := range x.Shape() {
				from[a] = at[a] + int(math.Floor(math.Max(0, float64(n-to[a]))/2)) - int(math.Floor(math.Max(0, float64(to[a]-n))/2))
			}
			if !inside(x.Shape(), from) {
				return nil
			}
			return from
		})
		s.add(Case{Op: "CenterCropPad", Version: 18, Note: note, Attrs: list, In: in, Want: want(y)})
	}
	add("crop", []int{3, 2, 3}, nil, in(x, ints(3, 2, 3)))
	add("pad", []int{7, 6, 3}, nil, in(x, ints(7, 6, 3)))
	add("both", []int{3, 8, 3}, attrs("axes", []int{1, -3}), in(x, ints(8, 3)))
	if d == tensor.F32 {
		s.add(Case{Op: "CenterCropPad", Version: 18, Note: "count", In: in(x, ints(3)), Fails: graph.ErrShape})
	}
}

func col2imCases(s *suite, d tensor.DType) {
	for _, c := range windows() {
		if c.w.auto != "" || len(c.in) < 2 {
			continue
		}
		w, out := c.w.over(c.in)
		block, blocks := tensor.Shape(w.kernel).Len(), tensor.Shape(out).Len()
		x := s.between(d, 0, 2, 2, 3*block, blocks)
		y := tensor.New(d, slices.Concat([]int{2, 3}, c.in)...)
		sums := make([]float64, y.Len())
		each(out, func(b int, at []int) {
			w.visit(at, func(k, pixel []int) {
				if !inside(c.in, pixel) {
					return
				}
				for plane := range 6 {
					from := (plane*block+flat(w.kernel, k...))*blocks + b
					sums[plane*tensor.Shape(c.in).Len()+flat(c.in, pixel...)] += number(x, from)
				}
			})
		})
		for i, v := range sums {
			setNumber(y, i, v)
		}
		s.add(Case{Op: "Col2Im", Version: 18, Attrs: attrs("strides", w.stride, "dilations", w.dilation, "pads", slices.Concat(w.before, w.after)),
			In: in(x, ints(c.in...), ints(w.kernel...)), Want: want(y), Ulps: 16})
	}
	if d == tensor.F32 {
		s.add(Case{Op: "Col2Im", Version: 18, Note: "columns", In: in(s.any(d, 1, 4, 5), ints(3, 3), ints(2, 2)), Fails: graph.ErrShape})
	}
}

func maxUnpoolCases(s *suite, d tensor.DType) {
	x := s.any(d, 1, 2, 2, 3)
	places := seen(ints(0, 3, 4, 13, 9, 15, 16, 18, 22, 25, 31, 28), 1, 2, 2, 3)
	small := tensor.New(d, 1, 2, 4, 4)
	for i := range x.Len() {
		at := int(number(places, i))
		setNumber(small, at, number(x, i))
	}
	s.add(Case{Op: "MaxUnpool", Version: 9, Attrs: attrs("kernel_shape", []int{3, 2}, "strides", []int{1, 1}), In: in(x, places), Want: want(small)})
	large := pick(small, tensor.Shape{1, 2, 5, 6}, func(at []int) []int {
		if at[2] >= 4 || at[3] >= 4 {
			return nil
		}
		return at
	})
	s.add(Case{Op: "MaxUnpool", Version: 9, Note: "larger", Attrs: attrs("kernel_shape", []int{3, 2}, "strides", []int{1, 1}),
		In: in(x, places, ints(1, 2, 5, 6)), Want: want(large)})
	s.add(Case{Op: "MaxUnpool", Version: 9, Note: "outside", Attrs: attrs("kernel_shape", []int{2, 2}, "strides", []int{1, 1}), In: in(x, places), Fails: graph.ErrShape})
}
