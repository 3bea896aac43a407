package optest

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func lossCases(s *suite) {
	for _, d := range floats {
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
	x := s.any(tensor.F32, 2, 3)
	s.add(Case{Op: "NegativeLogLikelihoodLoss", Version: 12, Note: "class", In: in(x, ints(1, 3)), Fails: graph.ErrShape})
	s.add(Case{Op: "SoftmaxCrossEntropyLoss", Version: 12, Note: "class", In: in(x, ints(-1, 0)), Fails: graph.ErrShape})
	s.add(Case{Op: "SoftmaxCrossEntropyLoss", Version: 12, Note: "samples", In: in(x, ints(0, 1, 2)), Fails: graph.ErrShape})
	for _, d := range []tensor.DType{tensor.F32, tensor.F64} {
		trainingCases(s, d)
	}
}

func lossCase(s *suite, d tensor.DType, space []int, reduction string, weighted, ignores bool) {
	x := s.any(d, slices.Concat([]int{3, 5}, space)...)
	classes := s.indices(tensor.I64, 0, 5, slices.Concat([]int{3}, space)...)
	weights := s.between(d, 0.5, 1.5, 5)
	list := attrs("reduction", reduction)
	if ignores {
		setNumber(classes, 1, -7)
		list = append(list, attrs("ignore_index", -7)...)
	}
	logs := grouped(x, along(x.Shape(), 1), logSoftmax)
	inputs := in(x, classes)
	if weighted {
		inputs = append(inputs, weights)
	}
	// Sums are of logarithms that are not yet rounded to the element type.
	exact := grouped(wide(x), along(x.Shape(), 1), logSoftmax)
	losses := func(logs *tensor.Tensor) *tensor.Tensor {
		y := make([]float64, classes.Len())
		sum, count := 0.0, 0.0
		each(classes.Shape(), func(i int, at []int) {
			class := int(number(classes, i))
			if class < 0 {
				return
			}
			weight := 1.0
			if weighted {
				weight = number(weights, class)
			}
			y[i] = -weight * number(logs, flat(logs.Shape(), slices.Insert(slices.Clone(at), 1, class)...))
			sum, count = sum+y[i], count+weight
		})
		switch reduction {
		case "none":
			return fromNumbers(d, y, classes.Shape()...)
		case "mean":
			sum /= count
		}
		return scalar(d, sum)
	}
	s.add(Case{Op: "NegativeLogLikelihoodLoss", Version: 12, Attrs: list, In: inputs, Want: want(losses(x)), Ulps: 8})
	s.add(Case{Op: "SoftmaxCrossEntropyLoss", Version: 12, Attrs: list, In: inputs, Want: want(losses(exact), logs), Ulps: 8})
	small := slices.Clone(inputs)
	small[1] = narrow(tensor.I32, classes)
	s.add(Case{Op: "SoftmaxCrossEntropyLoss", Version: 12, Note: "one output", Attrs: list, In: small, Want: want(losses(exact)), Ulps: 8})
}

// trainingCases optimize two values of different shapes.
func trainingCases(s *suite, d tensor.DType) {
	shapes := [][]int{{2, 3}, {4}}
	tensors := func(lo float64, kinds int) (list []*tensor.Tensor) {
		for range kinds {
			for _, sh := range shapes {
				list = append(list, s.between(d, lo, 2, sh...))
			}
		}
		return list
	}
	const rate, norm, epsilon = 0.1, 0.25, 0x1p-10
	add := func(op string, steps int, list attrList, kinds int, f func(x, g float64, state []float64) float64) {
		inputs := slices.Concat(tensors(-2, 2), tensors(0.1, kinds))
		out := make([]*tensor.Tensor, 2*(1+kinds))
		for v, sh := range shapes {
			for k := range 1 + kinds {
				out[2*k+v] = tensor.New(d, sh...)
			}
			for i := range inputs[v].Len() {
				state := make([]float64, kinds)
				for k := range state {
					state[k] = number(inputs[4+2*k+v], i)
				}
				setNumber(out[v], i, f(number(inputs[v], i), number(inputs[2+v], i)+norm*number(inputs[v], i), state))
				for k := range state {
					setNumber(out[2+2*k+v], i, state[k])
				}
			}
		}
		list = append(list, attrs("norm_coefficient", norm)...)
		inputs = append(in(scalar(d, rate), scalar(tensor.I64, float64(steps))), inputs...)
		s.add(Case{Domain: "ai.onnx.preview.training", Op: op, Version: 1, Attrs: list, In: inputs, Want: out, Ulps: 64})
		s.add(Case{Domain: "ai.onnx.preview.training", Op: op, Version: 1, Note: "inputs", Attrs: list, In: inputs[:len(inputs)-1], Fails: graph.ErrFormat})
	}
	for _, steps := range []int{0, 3} {
		t := float64(steps)
		add("Adagrad", steps, attrs("decay_factor", 0.5, "epsilon", epsilon), 1, func(x, g float64, state []float64) float64 {
			state[0] += g * g
			return x - rate/(1+t*0.5)*g/(math.Sqrt(state[0])+epsilon)
		})
		add("Adam", steps, attrs("alpha", 0.75, "beta", 0.875, "epsilon", epsilon, "norm_coefficient_post", 0.125), 2, func(x, g float64, state []float64) float64 {
			r := rate
			if steps > 0 {
				r *= math.Sqrt(1-math.Pow(0.875, t)) / (1 - math.Pow(0.75, t))
			}
			state[0] = 0.75*state[0] + 0.25*g
			state[1] = 0.875*state[1] + 0.125*g*g
			return 0.875 * (x - r*state[0]/(math.Sqrt(state[1])+epsilon))
		})
		beta := choose(steps > 0, 0.5, 1)
		add("Momentum", steps, attrs("alpha", 0.75, "beta", 0.5, "mode", "standard"), 1, func(x, g float64, state []float64) float64 {
			state[0] = 0.75*state[0] + beta*g
			return x - rate*state[0]
		})
		add("Momentum", steps, attrs("alpha", 0.75, "beta", 0.5, "mode", "nesterov"), 1, func(x, g float64, state []float64) float64 {
			state[0] = 0.75*state[0] + beta*g
			return x - rate*(g+0.75*state[0])
		})
	}
}
