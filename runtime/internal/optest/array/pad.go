package array

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// padded is the definition of Pad. It crops elements by negative counts, then fills each added
// element from a remaining one or from value.
func padded(x *tensor.Tensor, mode string, before, after []int, value *tensor.Tensor) *tensor.Tensor {
	shape := slices.Clone(x.Shape())
	for a := range shape {
		shape[a] += before[a] + after[a]
	}
	out := cases.Pick(x, shape, func(at []int) []int {
		for a, n := range x.Shape() {
			crop := max(-before[a], 0)
			n += min(before[a], 0) + min(after[a], 0)
			i := at[a] - max(before[a], 0)
			switch {
			case i >= 0 && i < n:
			case mode == "constant":
				return nil
			case mode == "edge":
				i = min(max(i, 0), n-1)
			case mode == "wrap":
				i = cases.Mod(i, n)
			default:
				i = mirror(i, n)
			}
			at[a] = i + crop
		}
		return at
	})
	if mode != "constant" || value == nil {
		return out
	}
	cases.Each(shape, func(i int, at []int) {
		for a, n := range x.Shape() {
			if j := at[a] - before[a]; j < 0 || j >= n {
				cases.SetElement(out, i, cases.Element(value, 0))
			}
		}
	})
	return out
}

// mirror reflects an index at the first and the last of n elements.
func mirror(i, n int) int {
	for n > 1 && (i < 0 || i >= n) {
		if i < 0 {
			i = -i
		} else {
			i = 2*(n-1) - i
		}
	}
	if n == 1 {
		return 0
	}
	return i
}

func padCases(s *cases.Suite, d tensor.DType, shape, before, after []int) {
	x, value := s.Any(d, shape...), s.Any(d)
	pads := cases.Ints(slices.Concat(before, after)...)
	s.Add(cases.Case{Op: "Pad", Version: 11, Note: "value", In: cases.In(x, pads, value),
		Want: cases.Want(padded(x, "constant", before, after, value))})
	s.Add(cases.Case{Op: "Pad", Version: 11, Note: "zero", In: cases.In(x, pads),
		Want: cases.Want(padded(x, "constant", before, after, nil))})
	for _, mode := range []string{"reflect", "edge", "wrap"} {
		s.Add(cases.Case{Op: "Pad", Version: 11, Note: mode, Attrs: cases.Attrs("mode", mode), In: cases.In(x, pads),
			Want: cases.Want(padded(x, mode, before, after, nil))})
	}
}

func padModes(s *cases.Suite) {
	f := tensor.F32
	padCases(s, f, []int{4}, []int{0}, []int{0})
	padCases(s, f, []int{2, 3, 4, 5}, []int{0, 1, 2, 3}, []int{1, 0, 3, 2})
	padCases(s, f, []int{3, 2}, []int{7, 5}, []int{8, 0})
	padCases(s, f, []int{1, 6}, []int{2, -2}, []int{2, -3})
	padCases(s, f, []int{2, 2, 2}, []int{20, 9, 9}, []int{2, 9, 9})
	padCases(s, tensor.U4, []int{2, 2, 2}, []int{2, 9, 8}, []int{2, 9, 9})

	x := s.Any(f, 2, 3)
	y := padded(x, "constant", []int{0, 1}, []int{0, 2}, cases.Scalar(f, 1.5))
	s.Add(cases.Case{Op: "Pad", Version: 1, Until: 2, Attrs: cases.Attrs("paddings", []int{0, 1, 0, 2}, "value", 1.5),
		In: cases.In(x), Want: cases.Want(y)})
	s.Add(cases.Case{Op: "Pad", Version: 2, Until: 11, Attrs: cases.Attrs("pads", []int{0, 1, 0, 2}, "value", 1.5),
		In: cases.In(x), Want: cases.Want(y)})
	s.Add(cases.Case{Op: "Pad", Version: 18, Note: "axes",
		In: cases.In(x, cases.Ints(1, 2), cases.Scalar(f, 1.5), cases.Ints(-1)), Want: cases.Want(y)})
	y = padded(x, "edge", []int{1, 0}, []int{0, 2}, nil)
	s.Add(cases.Case{Op: "Pad", Version: 18, Note: "axes", Attrs: cases.Attrs("mode", "edge"),
		In: cases.In(x, cases.Ints(0, 1, 2, 0), nil, cases.Vector(tensor.I32, 1, 0)), Want: cases.Want(y)})
	s.Add(cases.Case{Op: "Pad", Version: 11, Note: "too few left", In: cases.In(x, cases.Ints(0, -2, 0, -2)),
		Fails: graph.ErrShape})
}
