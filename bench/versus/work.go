package main

import (
	"context"

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
	plan, err := s.Plan(context.Background(), inputs)
	if err != nil {
		return 0, 0, err
	}
	for _, step := range plan.Steps() {
		operations += step.Work
	}
	for _, t := range inputs {
		bytes += float64(len(t.Bytes()))
	}
	return operations, bytes + weightBytes(m.Graph) + float64(plan.OutputBytes()), nil
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
