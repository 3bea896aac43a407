package nn

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func lossCases(s *cases.Suite) {
	for _, d := range cases.Floats {
		for _, space := range [][]int{{}, {4}, {2, 3}} {
			for _, reduction := range []string{"none", "sum", "mean"} {
				for _, weighted := range []bool{false, true} {
					for _, ignores := range []bool{false, true} {
						lossCase(s, d, space, reduction, weighted, ignores)
					}
				}
			}
		}
	}
	x := s.Any(tensor.F32, 2, 3)
	s.Add(cases.Case{Op: "NegativeLogLikelihoodLoss", Version: 12, Note: "class", In: cases.In(x, cases.Ints(1, 3)),
		Fails: graph.ErrShape})
	s.Add(cases.Case{Op: "SoftmaxCrossEntropyLoss", Version: 12, Note: "class", In: cases.In(x, cases.Ints(-1, 0)),
		Fails: graph.ErrShape})
	s.Add(cases.Case{Op: "SoftmaxCrossEntropyLoss", Version: 12, Note: "samples", In: cases.In(x, cases.Ints(0, 1, 2)),
		Fails: graph.ErrShape})
	for _, d := range []tensor.DType{tensor.F32, tensor.F64} {
		trainingCases(s, d)
	}
}

func lossCase(s *cases.Suite, d tensor.DType, space []int, reduction string, weighted, ignores bool) {
	x := s.Any(d, slices.Concat([]int{3, 5}, space)...)
	classes := s.Indices(tensor.I64, 0, 5, slices.Concat([]int{3}, space)...)
	weights := s.Between(d, 0.5, 1.5, 5)
	list := cases.Attrs("reduction", reduction)
	if ignores {
		cases.SetNumber(classes, 1, -7)
		list = append(list, cases.Attrs("ignore_index", -7)...)
	}
	logs := grouped(x, along(x.Shape(), 1), logSoftmax)
	inputs := cases.In(x, classes)
	if weighted {
		inputs = append(inputs, weights)
	}
	// Sums are of logarithms that are not rounded to the element type.
	exact := grouped(cases.Wide(x), along(x.Shape(), 1), logSoftmax)
	losses := func(logs *tensor.Tensor) *tensor.Tensor {
		y := make([]float64, classes.Len())
		sum, count := 0.0, 0.0
		cases.Each(classes.Shape(), func(i int, at []int) {
			class := int(cases.Number(classes, i))
			if class < 0 {
				return
			}
			weight := 1.0
			if weighted {
				weight = cases.Number(weights, class)
			}
			y[i] = -weight * cases.Number(logs, cases.Flat(logs.Shape(), slices.Insert(slices.Clone(at), 1, class)...))
			sum, count = sum+y[i], count+weight
		})
		switch reduction {
		case "none":
			return cases.FromNumbers(d, y, classes.Shape()...)
		case "mean":
			sum /= count
		}
		return cases.Scalar(d, sum)
	}
	s.Add(cases.Case{Op: "NegativeLogLikelihoodLoss", Version: 12, Attrs: list, In: inputs, Want: cases.Want(losses(x)),
		Ulps: 8})
	s.Add(cases.Case{Op: "SoftmaxCrossEntropyLoss", Version: 12, Attrs: list, In: inputs,
		Want: cases.Want(losses(exact), logs), Ulps: 8})
	small := slices.Clone(inputs)
	small[1] = cases.Narrow(tensor.I32, classes)
	s.Add(cases.Case{Op: "SoftmaxCrossEntropyLoss", Version: 12, Note: "one output", Attrs: list, In: small,
		Want: cases.Want(losses(exact)), Ulps: 8})
}

// trainingCases optimizes two values of different shapes.
func trainingCases(s *cases.Suite, d tensor.DType) {
	shapes := [][]int{{2, 3}, {4}}
	tensors := func(lo float64, kinds int) (list []*tensor.Tensor) {
		for range kinds {
			for _, sh := range shapes {
				list = append(list, s.Between(d, lo, 2, sh...))
			}
		}
		return list
	}
	const rate, norm, epsilon = 0.1, 0.25, 0x1p-10
	add := func(op string, steps int, list cases.AttrList, kinds int, f func(x, g float64, state []float64) float64) {
		inputs := slices.Concat(tensors(-2, 2), tensors(0.1, kinds))
		out := make([]*tensor.Tensor, 2*(1+kinds))
		for v, sh := range shapes {
			for k := range 1 + kinds {
				out[2*k+v] = tensor.New(d, sh...)
			}
			for i := range inputs[v].Len() {
				state := make([]float64, kinds)
				for k := range state {
					state[k] = cases.Number(inputs[4+2*k+v], i)
				}
				cases.SetNumber(out[v], i, f(cases.Number(inputs[v], i),
					cases.Number(inputs[2+v], i)+norm*cases.Number(inputs[v], i), state))
				for k := range state {
					cases.SetNumber(out[2+2*k+v], i, state[k])
				}
			}
		}
		list = append(list, cases.Attrs("norm_coefficient", norm)...)
		inputs = append(cases.In(cases.Scalar(d, rate), cases.Scalar(tensor.I64, float64(steps))), inputs...)
		s.Add(cases.Case{Domain: "ai.onnx.preview.training", Op: op, Version: 1, Attrs: list, In: inputs, Want: out,
			Ulps: 64})
		s.Add(cases.Case{Domain: "ai.onnx.preview.training", Op: op, Version: 1, Note: "inputs", Attrs: list,
			In: inputs[:len(inputs)-1], Fails: graph.ErrFormat})
	}
	for _, steps := range []int{0, 3} {
		t := float64(steps)
		add("Adagrad", steps, cases.Attrs("decay_factor", 0.5, "epsilon", epsilon), 1,
			func(x, g float64, state []float64) float64 {
				state[0] += g * g
				return x - rate/(1+t*0.5)*g/(math.Sqrt(state[0])+epsilon)
			})
		add("Adam", steps, cases.Attrs("alpha", 0.75, "beta", 0.875, "epsilon", epsilon, "norm_coefficient_post", 0.125), 2,
			func(x, g float64, state []float64) float64 {
				r := rate
				if steps > 0 {
					r *= math.Sqrt(1-math.Pow(0.875, t)) / (1 - math.Pow(0.75, t))
				}
				state[0] = 0.75*state[0] + 0.25*g
				state[1] = 0.875*state[1] + 0.125*g*g
				return 0.875 * (x - r*state[0]/(math.Sqrt(state[1])+epsilon))
			})
		beta := cases.Choose(steps > 0, 0.5, 1)
		add("Momentum", steps, cases.Attrs("alpha", 0.75, "beta", 0.5, "mode", "standard"), 1,
			func(x, g float64, state []float64) float64 {
				state[0] = 0.75*state[0] + beta*g
				return x - rate*state[0]
			})
		add("Momentum", steps, cases.Attrs("alpha", 0.75, "beta", 0.5, "mode", "nesterov"), 1,
			func(x, g float64, state []float64) float64 {
				state[0] = 0.75*state[0] + beta*g
				return x - rate*(g+0.75*state[0])
			})
	}
}
