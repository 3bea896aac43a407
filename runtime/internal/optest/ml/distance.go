package ml

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// distanceCases adds distances between rows.
func distanceCases(s *cases.Suite) {
	for _, d := range []tensor.DType{tensor.F32, tensor.F64} {
		a, b := s.Any(d, 3, 17), s.Any(d, 5, 17)
		for metric, f := range map[string]func(x float64) float64{"euclidean": math.Sqrt,
			"sqeuclidean": func(x float64) float64 { return x }} {
			y := cases.Filled(d, func(at []int) float64 {
				sum := 0.0
				for p := range 17 {
					sum += math.Pow(cases.Number(a, at[0]*17+p)-cases.Number(b, at[1]*17+p), 2)
				}
				return f(sum)
			}, 3, 5)
			s.Add(cases.Case{Domain: cases.Microsoft, Op: "CDist", Version: 1, Note: metric,
				Attrs: cases.Attrs("metric", metric), In: cases.In(a, b), Want: cases.Want(y), Ulps: 32})
		}
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "CDist", Version: 1, Note: "rows", In: cases.In(a, s.Any(d, 5, 16)),
			Fails: graph.ErrShape})
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "CDist", Version: 1, Note: "metric",
			Attrs: cases.Attrs("metric", "cosine"), In: cases.In(a, b), Fails: graph.ErrUnsupported})
	}
}
