package arith

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// snakeCases adds periodic functions of channels.
func snakeCases(s *cases.Suite) {
	for _, c := range [][2][]int{{{2, 3, 7}, {1, 3, 1}}, {{1, 5, 1100}, {5, 1}}, {{3, 4}, {4}}, {{2, 3, 4, 5}, {3, 1, 1}}, {{1, 3, 0}, {3, 1}}} {
		x, alpha, ratio := s.Any(tensor.F32, c[0]...), s.Any(tensor.F32, c[1]...), s.Any(tensor.F32, c[1]...)
		y := cases.Filled(tensor.F32, func(at []int) float64 {
			v := cases.Number(x, cases.Flat(x.Shape(), at...))
			sine := math.Sin(float64(float32(v) * float32(cases.Number(alpha, at[1]))))
			return v + cases.Number(ratio, at[1])*sine*sine
		}, c[0]...)
		s.Add(cases.Case{Domain: "nacre", Op: "ChannelSnake", Version: 1, In: cases.In(x, alpha, ratio), Want: cases.Want(y), Ulps: 16})
	}
	x := s.Any(tensor.F32, 2, 3, 4)
	for _, in := range [][]*tensor.Tensor{
		{x, s.Any(tensor.F32, 4), s.Any(tensor.F32, 3)}, {x, s.Any(tensor.F32, 3), s.Any(tensor.F32, 1)},
		{s.Any(tensor.F32, 3), s.Any(tensor.F32, 3), s.Any(tensor.F32, 3)},
	} {
		s.Add(cases.Case{Domain: "nacre", Op: "ChannelSnake", Version: 1, Note: "shape", In: in, Fails: graph.ErrShape})
	}
}
