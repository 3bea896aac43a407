package array

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func moveCases(s *cases.Suite) {
	for _, d := range tensor.DTypes() {
		transposeCases(s, d, []int{3, 5}, []int{1, 0})
		transposeCases(s, d, []int{2, 3, 4, 5}, []int{0, 2, 1, 3})
		concatCases(s, d, 1, []int{2, 3, 2}, []int{2, 1, 2}, []int{2, 0, 2})
		splitCases(s, d)
		sliceCase(s, d, []int{5, 7}, []int{1, -1}, []int{4, math.MinInt}, []int{0, 1}, []int{2, -3})
		gatherCase(s, d, 1, []int{3, 4, 2}, []int{3, -4, 0})
		expandCase(s, d, []int{3, 1}, []int{2, 1, 4})
		tileCase(s, d, []int{2, 3}, []int{2, 3})
		padCases(s, d, []int{3, 4}, []int{1, 2}, []int{-1, 2})
		depthCases(s, d)
	}
	gatherBlocks(s)
	gatherPacked(s)
	for _, d := range []tensor.DType{tensor.U8, tensor.F16, tensor.F32, tensor.F64} {
		transposeCases(s, d, []int{67, 33}, []int{1, 0})
		transposeCases(s, d, []int{300, 211}, []int{1, 0})
		transposeCases(s, d, []int{2, 17, 9, 16}, []int{0, 3, 1, 2})
		transposeCases(s, d, []int{2, 16, 9, 17}, []int{0, 2, 3, 1})
		concatCases(s, d, 0, []int{70, 300}, []int{1, 300})
		expandCase(s, d, []int{1, 70, 1}, []int{3, 70, 90})
	}
	f := tensor.F32
	transposeCases(s, f, []int{}, []int{})
	transposeCases(s, f, []int{2, 0, 3}, []int{2, 0, 1})
	transposeCases(s, f, []int{2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, []int{9, 8, 7, 6, 5, 4, 3, 2, 1, 0})
	concatCases(s, f, -1, []int{2, 3}, []int{2, 5})
	concatCases(s, f, 0, []int{3})
	sliceCase(s, f, []int{6}, []int{-3}, []int{math.MaxInt}, []int{0}, []int{1})
	sliceCase(s, f, []int{6}, []int{4}, []int{2}, []int{0}, []int{1})
	sliceCase(s, f, []int{6}, []int{100}, []int{-100}, []int{0}, []int{-2})
	sliceCase(s, f, []int{6}, []int{0}, []int{6}, []int{-1}, []int{math.MaxInt})
	sliceCase(s, f, []int{6}, []int{-1}, []int{math.MinInt}, []int{0}, []int{math.MinInt})
	sliceCase(s, f, []int{3, 0}, []int{0}, []int{5}, []int{1}, []int{-1})
	gatherCase(s, f, 0, []int{5}, []int{})
	gatherCase(s, f, -1, []int{2, 5}, []int{4, 4})
	gatherFails(s)
	expandCase(s, f, []int{}, []int{2, 3})
	expandCase(s, f, []int{2, 3}, []int{})
	expandCase(s, f, []int{1, 0}, []int{4, 1})
	tileCase(s, f, []int{2, 3}, []int{0, 2})
	tileOneAxis(s)
	padModes(s)
	sliceAttrs(s)
}

func transposeCases(s *cases.Suite, d tensor.DType, shape, perm []int) {
	x := s.Any(d, shape...)
	out := make(tensor.Shape, len(perm))
	for i, p := range perm {
		out[i] = shape[p]
	}
	y := cases.Pick(x, out, func(at []int) []int {
		src := make([]int, len(at))
		for i, p := range perm {
			src[p] = at[i]
		}
		return src
	})
	s.Add(cases.Case{Op: "Transpose", Version: 1, Attrs: cases.Attrs("perm", perm), In: cases.In(x), Want: cases.Want(y)})
	back := slices.Clone(shape)
	slices.Reverse(back)
	y = cases.Pick(x, back, func(at []int) []int { slices.Reverse(at); return at })
	s.Add(cases.Case{Op: "Transpose", Version: 1, Note: "reversed", In: cases.In(x), Want: cases.Want(y)})
}

func concatCases(s *cases.Suite, d tensor.DType, axis int, shapes ...[]int) {
	list := make([]*tensor.Tensor, len(shapes))
	a := cases.Mod(axis, len(shapes[0]))
	out := cases.With(shapes[0], a, 0)
	for i, shape := range shapes {
		list[i] = s.Any(d, shape...)
		out[a] += shape[a]
	}
	y := tensor.New(d, out...)
	start := 0
	for _, t := range list {
		cases.Each(t.Shape(), func(i int, at []int) {
			cases.SetElement(y, cases.Flat(out, cases.With(at, a, at[a]+start)...), cases.Element(t, i))
		})
		start += t.Shape()[a]
	}
	s.Add(cases.Case{Op: "Concat", Version: 4, Attrs: cases.Attrs("axis", axis), In: list, Want: cases.Want(y)})
	if axis == 1 {
		s.Add(cases.Case{Op: "Concat", Version: 1, Until: 4, In: list, Want: cases.Want(y)})
	}
}

// parts cuts t along an axis.
func parts(t *tensor.Tensor, axis int, sizes ...int) []*tensor.Tensor {
	var list []*tensor.Tensor
	start := 0
	for _, n := range sizes {
		list = append(list, cases.Pick(t, cases.With(t.Shape(), axis, n),
			func(at []int) []int { return cases.With(at, axis, at[axis]+start) }))
		start += n
	}
	return list
}

func splitCases(s *cases.Suite, d tensor.DType) {
	x := s.Any(d, 2, 6, 3)
	uneven := parts(x, 1, 1, 0, 5)
	s.Add(cases.Case{Op: "Split", Version: 1, Until: 13, Note: "sizes",
		Attrs: cases.Attrs("axis", 1, "split", []int{1, 0, 5}), In: cases.In(x), Want: uneven})
	s.Add(cases.Case{Op: "Split", Version: 13, Note: "sizes", Attrs: cases.Attrs("axis", -2),
		In: cases.In(x, cases.Ints(1, 0, 5)), Want: uneven})
	s.Add(cases.Case{Op: "Split", Version: 1, Until: 18, Note: "even", Attrs: cases.Attrs("axis", 1), In: cases.In(x),
		Want: parts(x, 1, 2, 2, 2)})
	s.Add(cases.Case{Op: "Split", Version: 18, Note: "even", Attrs: cases.Attrs("axis", 1, "num_outputs", 4),
		In: cases.In(x), Want: parts(x, 1, 2, 2, 2, 0)})
	some := parts(x, 0, 1, 1)
	some[0] = nil
	s.Add(cases.Case{Op: "Split", Version: 1, Until: 18, Note: "some", In: cases.In(x), Want: some})
	s.Add(cases.Case{Op: "Split", Version: 13, Note: "wrong sum", Attrs: cases.Attrs("axis", 1),
		In: cases.In(x, cases.Ints(5)), Fails: graph.ErrShape})
}

// sliceCase adds a case that slices every listed axis by the rule of Python's ranges.
func sliceCase(s *cases.Suite, d tensor.DType, shape, starts, ends, axes, steps []int) {
	x := s.Any(d, shape...)
	picks := make([][]int, len(shape))
	for a, n := range shape {
		for i := range n {
			picks[a] = append(picks[a], i)
		}
	}
	for i, a := range axes {
		a = cases.Mod(a, len(shape))
		picks[a] = cutOf(shape[a], starts[i], ends[i], steps[i])
	}
	out := make(tensor.Shape, len(shape))
	for a, list := range picks {
		out[a] = len(list)
	}
	y := cases.Pick(x, out, func(at []int) []int {
		for a := range at {
			at[a] = picks[a][at[a]]
		}
		return at
	})
	s.Add(cases.Case{Op: "Slice", Version: 10, In: cases.In(x, cases.Ints(starts...), cases.Ints(ends...),
		cases.Ints(axes...), cases.Ints(steps...)), Want: cases.Want(y)})
}

// cutOf lists the indices of a slice of n elements.
func cutOf(n, start, end, step int) []int {
	if start < 0 {
		start = max(start+n, 0)
	}
	if end < 0 {
		end = max(end+n, -1)
		if step > 0 {
			end = max(end, 0)
		}
	}
	var list []int
	if step > 0 {
		for i := start; i < min(end, n); i++ {
			if (i-start)%step == 0 {
				list = append(list, i)
			}
		}
		return list
	}
	start = min(start, n-1)
	for i := start; i > end; i-- {
		if (i-start)%step == 0 {
			list = append(list, i)
		}
	}
	return list
}

func sliceAttrs(s *cases.Suite) {
	x := s.Any(tensor.F32, 4, 5)
	y := cases.Pick(x, tensor.Shape{2, 4}, func(at []int) []int { return []int{at[0] + 1, at[1]} })
	s.Add(cases.Case{Op: "Slice", Version: 1, Until: 10, Note: "axes", Attrs: cases.Attrs("starts", []int{0, 1}, "ends",
		[]int{-1, 3}, "axes", []int{1, 0}), In: cases.In(x), Want: cases.Want(y)})
	s.Add(cases.Case{Op: "Slice", Version: 1, Until: 10, Note: "no axes",
		Attrs: cases.Attrs("starts", []int{1, 0}, "ends", []int{3, 4}), In: cases.In(x), Want: cases.Want(y)})
	s.Add(cases.Case{Op: "Slice", Version: 10, Note: "no axes",
		In: cases.In(x, cases.Vector(tensor.I32, 1, 0), cases.Vector(tensor.I32, 3, 4)), Want: cases.Want(y)})
	s.Add(cases.Case{Op: "Slice", Version: 10, Note: "no step",
		In: cases.In(x, cases.Ints(0), cases.Ints(1), cases.Ints(0), cases.Ints(0)), Fails: graph.ErrShape})
}

func gatherCase(s *cases.Suite, d tensor.DType, axis int, shape, index []int) {
	x := s.Any(d, shape...)
	a := cases.Mod(axis, len(shape))
	out := slices.Concat(shape[:a], []int{len(index)}, shape[a+1:])
	y := cases.Pick(x, out, func(at []int) []int { return cases.With(at, a, cases.Mod(index[at[a]], shape[a])) })
	s.Add(cases.Case{Op: "Gather", Version: 1, Attrs: cases.Attrs("axis", axis), In: cases.In(x, cases.Ints(index...)),
		Want: cases.Want(y)})
	if len(index) == 0 {
		return
	}
	out = slices.Concat(shape[:a], shape[a+1:])
	y = cases.Pick(x, out, func(at []int) []int { return slices.Insert(at, a, cases.Mod(index[0], shape[a])) })
	s.Add(cases.Case{Op: "Gather", Version: 1, Note: "one", Attrs: cases.Attrs("axis", axis),
		In: cases.In(x, cases.Scalar(tensor.I32, float64(index[0]))), Want: cases.Want(y)})
}

func gatherFails(s *cases.Suite) {
	for _, i := range []int{3, -4, math.MaxInt, math.MinInt} {
		s.Add(cases.Case{Op: "Gather", Version: 1, In: cases.In(s.Any(tensor.F32, 3, 2), cases.Ints(0, i)),
			Fails: graph.ErrShape})
	}
}

func expandCase(s *cases.Suite, d tensor.DType, shape, to []int) {
	x := s.Any(d, shape...)
	out := cases.BroadcastShape(shape, to)
	y := cases.Pick(x, out, func(at []int) []int { return cases.BroadcastIndex(x.Shape(), at) })
	s.Add(cases.Case{Op: "Expand", Version: 8, In: cases.In(x, cases.Ints(to...)), Want: cases.Want(y)})
}

func tileCase(s *cases.Suite, d tensor.DType, shape, repeats []int) {
	x := s.Any(d, shape...)
	out := slices.Clone(shape)
	for i, r := range repeats {
		out[i] *= r
	}
	y := cases.Pick(x, out, func(at []int) []int {
		for a, n := range shape {
			at[a] %= n
		}
		return at
	})
	s.Add(cases.Case{Op: "Tile", Version: 6, In: cases.In(x, cases.Ints(repeats...)), Want: cases.Want(y)})
}

func tileOneAxis(s *cases.Suite) {
	x := s.Any(tensor.F32, 2, 3)
	y := cases.Pick(x, tensor.Shape{2, 9}, func(at []int) []int { return []int{at[0], at[1] % 3} })
	s.Add(cases.Case{Op: "Tile", Version: 1, Until: 6,
		In: cases.In(x, cases.Scalar(tensor.I64, 3), cases.Scalar(tensor.I64, 1)), Want: cases.Want(y)})
}

func depthCases(s *cases.Suite, d tensor.DType) {
	const n, c, h, w, b = 2, 3, 2, 3, 2
	x := s.Any(d, n, c*b*b, h, w)
	out := tensor.Shape{n, c, h * b, w * b}
	dcr := cases.Pick(x, out, func(at []int) []int {
		return []int{at[0], (at[2]%b*b+at[3]%b)*c + at[1], at[2] / b, at[3] / b}
	})
	crd := cases.Pick(x, out, func(at []int) []int {
		return []int{at[0], at[1]*b*b + at[2]%b*b + at[3]%b, at[2] / b, at[3] / b}
	})
	s.Add(cases.Case{Op: "DepthToSpace", Version: 1, Attrs: cases.Attrs("blocksize", b), In: cases.In(x),
		Want: cases.Want(dcr)})
	s.Add(cases.Case{Op: "DepthToSpace", Version: 11, Attrs: cases.Attrs("blocksize", b, "mode", "CRD"), In: cases.In(x),
		Want: cases.Want(crd)})
	s.Add(cases.Case{Op: "SpaceToDepth", Version: 1, Attrs: cases.Attrs("blocksize", b), In: cases.In(dcr),
		Want: cases.Want(x)})
}

// gatherBlocks takes rows of blocks of ggml's types.
func gatherBlocks(s *cases.Suite) {
	for _, b := range packed.BlockTypes {
		d := tensor.OfBlocks(b)
		x, row := s.Any(d, 5, 2*b.Elements), 2*b.Bytes
		y := tensor.New(d, 3, 2*b.Elements)
		for i, from := range []int{4, 0, 4} {
			copy(y.Bytes()[i*row:][:row], x.Bytes()[from*row:])
		}
		s.Add(cases.Case{Op: "Gather", Version: 13, In: cases.In(x, cases.Ints(-1, 0, 4)), Want: cases.Want(y)})
	}
	x := s.Any(tensor.Q4_0, 2, 3, 32)
	y := tensor.New(tensor.Q4_0, 2, 2, 32)
	for i, from := range []int{1, 1, 4, 4} {
		copy(y.Bytes()[i*18:][:18], x.Bytes()[from*18:])
	}
	s.Add(cases.Case{Op: "Gather", Version: 13, Attrs: cases.Attrs("axis", 1), In: cases.In(x, cases.Ints(1, 1)), Want: cases.Want(y)})
	s.Add(cases.Case{Op: "Gather", Version: 13, Note: "blocks divided", Attrs: cases.Attrs("axis", 2), In: cases.In(x, cases.Ints(1, 1)), Fails: graph.ErrUnsupported})
	s.Add(cases.Case{Op: "Gather", Version: 13, Note: "no such row", In: cases.In(x, cases.Ints(2)), Fails: graph.ErrShape})
	s.Add(cases.Case{Op: "Transpose", Version: 13, Note: "blocks", In: cases.In(x), Fails: graph.ErrUnsupported})
}

// gatherPacked takes rows of elements narrower than a byte, that fill bytes or do not.
func gatherPacked(s *cases.Suite) {
	for _, layout := range packed.Layouts {
		d, err := tensor.ParseDType(layout.Name)
		if err != nil {
			panic(err) // each layout has a type
		}
		for _, n := range []int{16, 5} {
			x, y := s.Any(d, 2, 3, n), tensor.New(d, 2, 2, n)
			for i := range y.Len() {
				from := i / (2 * n) * 3 * n
				if i/n%2 == 0 {
					from += 2 * n // the first index is the last row, the second is the first
				}
				layout.Set(y.Bytes(), i, layout.At(x.Bytes(), from+i%n))
			}
			s.Add(cases.Case{Op: "Gather", Version: 13, Attrs: cases.Attrs("axis", 1), In: cases.In(x, cases.Ints(-1, 0)), Want: cases.Want(y)})
		}
	}
}
