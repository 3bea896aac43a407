package nn

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/arith"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// rootMeanSquare divides numbers by their root mean square.
func rootMeanSquare(list []float64, epsilon float64) []float64 {
	sum := 0.0
	for _, v := range list {
		sum += v * v
	}
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = v / math.Sqrt(sum/float64(len(list))+epsilon)
	}
	return out
}

func simplifiedNorms(s *cases.Suite, d tensor.DType) {
	x, scale := s.Any(d, 3, 37), s.Any(d, 37)
	y := grouped(cases.Wide(x), behind(x.Shape(), 1), func(l []float64) []float64 { return rootMeanSquare(l, 0.5) })
	inv := arith.Reduced(cases.Wide(x), []int{1}, true,
		func(l []float64) float64 { return rootMeanSquare(l, 0.5)[0] / l[0] })
	last := func(at []int) int { return at[1] }
	for _, domain := range []string{"", cases.Microsoft} {
		s.Add(cases.Case{Domain: domain, Op: "SimplifiedLayerNormalization", Version: 1, Attrs: cases.Attrs("epsilon", 0.5), In: cases.In(x, scale),
			Want: cases.Want(cases.Narrow(d, scaled(y, scale, nil, last)), cases.Narrow(tensor.F32, inv)), Ulps: 16})
	}
}

// skipNorms adds cases that add before they normalise. Several batches may share the added value.
func skipNorms(s *cases.Suite, d tensor.DType) {
	for _, shape := range [][]int{{2, 3, 37}, {1, 3, 37}, {3, 37}} {
		x, skip := s.Any(d, 2, 3, 37), s.Any(d, shape...)
		scale, beta, bias := s.Any(d, 37), s.Any(d, 37), s.Any(d, 37)
		sum := cases.Filled(tensor.F64, func(at []int) float64 {
			i := cases.Flat(x.Shape(), at...)
			return cases.Number(x, i) + cases.Number(skip, i%skip.Len()) + cases.Number(bias, at[2])
		}, 2, 3, 37)
		last := func(at []int) int { return at[2] }
		y := grouped(sum, behind(x.Shape(), 2), func(l []float64) []float64 { return standardized(l, 0.5) })
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "SkipLayerNormalization", Version: 1, Attrs: cases.Attrs("epsilon", 0.5), In: cases.In(x, skip, scale, beta, bias),
			Want: cases.Want(cases.Narrow(d, scaled(y, scale, beta, last)), nil, nil, cases.Narrow(d, sum)), Ulps: 16})
		y = grouped(sum, behind(x.Shape(), 2), func(l []float64) []float64 { return rootMeanSquare(l, 0.5) })
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "SkipSimplifiedLayerNormalization", Version: 1, Attrs: cases.Attrs("epsilon", 0.5), In: cases.In(x, skip, scale, bias),
			Want: cases.Want(cases.Narrow(d, scaled(y, scale, nil, last))), Ulps: 16})
	}
}

func embedNormCases(s *cases.Suite, d tensor.DType) {
	words, segments := s.Indices(tensor.I32, 0, 9, 2, 3), s.Indices(tensor.I32, 0, 2, 2, 3)
	table, places, parts := s.Any(d, 9, 20), s.Any(d, 5, 20), s.Any(d, 2, 20)
	scale, bias := s.Any(d, 20), s.Any(d, 20)
	sum := cases.Filled(tensor.F64, func(at []int) float64 {
		i := at[0]*3 + at[1]
		row := func(t *tensor.Tensor, k int) float64 { return cases.Number(t, k*20+at[2]) }
		return row(table, int(cases.Number(words, i))) + row(places, at[1]) + row(parts, int(cases.Number(segments, i)))
	}, 2, 3, 20)
	y := grouped(sum, behind(sum.Shape(), 2), func(l []float64) []float64 { return standardized(l, 0.5) })
	mask := cases.Vector(tensor.I32, 1, 1, 0, 1, 1, 1)
	mask, _ = mask.Reshape(tensor.Shape{2, 3})
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "EmbedLayerNormalization", Version: 1, Attrs: cases.Attrs("epsilon", 0.5),
		In:   cases.In(words, segments, table, places, parts, scale, bias, mask),
		Want: cases.Want(cases.Narrow(d, scaled(y, scale, bias, func(at []int) int { return at[2] })), cases.Vector(tensor.I32, 2, 3), cases.Narrow(d, sum)), Ulps: 16})
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "EmbedLayerNormalization", Version: 1, Note: "a word beyond the table", Fails: graph.ErrShape,
		In: cases.In(s.Indices(tensor.I32, 9, 10, 2, 3), segments, table, places, parts, scale, bias)})
}

// skipNormCases adds norms of ONNX Runtime's domain.
func skipNormCases(s *cases.Suite) {
	for _, d := range cases.Floats {
		simplifiedNorms(s, d)
	}
	for _, d := range cases.NarrowFloats {
		skipNorms(s, d)
	}
	for _, d := range []tensor.DType{tensor.F32, tensor.F16} {
		embedNormCases(s, d)
	}
}
