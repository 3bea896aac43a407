package main

import (
	"strings"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// work returns the operations of a run, in convolutions, products and recurrent layers, and the
// bytes of weights, inputs and outputs. Tables that rows are taken from do not count as weights.
func work(m *graph.Model, path string, sizes map[string]int) (operations, bytes float64, err error) {
	file, err := nacre.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer file.Close()
	s, err := file.NewSession(nacre.Options{NoOptimize: true, Threads: 1})
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	inputs, err := s.ZeroInputs(sizes)
	if err != nil {
		return 0, 0, err
	}
	plan, err := s.Plan(inputs)
	if err != nil {
		return 0, 0, err
	}
	for _, step := range plan.Steps() {
		operations += stepOperations(step)
	}
	for _, t := range inputs {
		bytes += float64(len(t.Bytes()))
	}
	return operations, bytes + weightBytes(m.Graph) + float64(plan.OutputBytes()), nil
}

// stepOperations returns the operations of a step, a multiply-add counted as two. For operators of
// other families it returns 0.
func stepOperations(s nacre.Step) float64 {
	op, _, _ := strings.Cut(s.Op, "-")
	switch op {
	case "Conv": // each weight meets every place of the output
		return 2 * count(s.Inputs[1].Shape) * places(s.Outputs[0].Shape)
	case "ConvTranspose": // and of the input
		return 2 * count(s.Inputs[1].Shape) * places(s.Inputs[0].Shape)
	case "MatMul", "Gemm": // one sum per result, over the elements of a row of the left operand
		out := s.Outputs[0].Shape
		rows := count(out) / float64(out[len(out)-1].Size)
		return 2 * count(out) * count(s.Inputs[0].Shape) / rows
	case "LSTM", "GRU", "RNN": // each weight meets every step of every sequence
		x := s.Inputs[0].Shape
		return 2 * (count(s.Inputs[1].Shape) + count(s.Inputs[2].Shape)) * float64(x[0].Size*x[1].Size)
	}
	return 0
}

// count returns the elements of a shape.
func count(shape []nacre.Dim) float64 {
	n := 1.0
	for _, d := range shape {
		n *= float64(d.Size)
	}
	return n
}

// places returns the elements of one channel, for the whole batch.
func places(shape []nacre.Dim) float64 {
	return float64(shape[0].Size) * count(shape[2:])
}

// weightBytes returns the bytes of constants that are not the first input of Gather alone.
func weightBytes(g *graph.Graph) float64 {
	used := map[string]bool{}
	for _, n := range g.Nodes {
		for i, in := range n.Inputs {
			if i > 0 || n.Op != "Gather" {
				used[in] = true
			}
		}
	}
	bytes := 0
	for _, w := range g.Initializers {
		if used[w.Name] {
			bytes += len(w.Tensor.Bytes())
		}
	}
	return float64(bytes)
}
