package moe

import (
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// widenedExpertCases adds mixtures of float32 with weights of 16 bits and in blocks.
func widenedExpertCases(s *cases.Suite) {
	types := []tensor.DType{tensor.F16, tensor.BF16}
	for _, b := range packed.BlockTypes {
		types = append(types, tensor.OfBlocks(b))
	}
	for i, d := range types {
		elements := 8
		if b := d.Blocks(); b != nil {
			elements = b.Elements
		}
		widenedExpertCase(s, d, []int{3, 1, 60}[i%3], (1+i%2)*elements, elements, i%2 == 0)
	}
	blocks, router := s.Any(tensor.Q8_0, 2, 32, 32), s.Any(tensor.F32, 3, 2)
	fails := func(kind error, note string, list ...*tensor.Tensor) {
		s.Add(cases.Case{Domain: "nacre", Op: "WidenedMoE", Version: 1, Note: note, In: list, Fails: kind})
	}
	x := s.Any(tensor.F32, 3, 32)
	fails(graph.ErrUnsupported, "a bias in blocks", x, router, blocks, s.Any(tensor.Q8_0, 2, 32), blocks)
	fails(graph.ErrUnsupported, "a router in blocks", x, s.Any(tensor.Q8_0, 1, 32), blocks, nil, blocks)
	fails(graph.ErrShape, "weights of 64 bits", x, router, s.Any(tensor.F64, 2, 32, 32), nil, blocks)
	fails(graph.ErrShape, "longer rows", s.Any(tensor.F32, 3, 64), router, blocks, nil, blocks)
}

// widenedExpertCase adds a mixture of three experts, of which each row takes two, with weights of
// type d. The second layer is float32 if mixed.
func widenedExpertCase(s *cases.Suite, d tensor.DType, rows, size, deep int, mixed bool) {
	const experts = 3
	x, router := s.Between(tensor.F32, -1, 1, rows, size), expertRouter(s, tensor.F32, rows, experts)
	m := &expertNet{rows: rows, size: size, deep: deep, experts: experts, k: 2, all: true, act: silus}
	list := cases.In(x, router)
	for i, e := range [][2]int{{deep, size}, {size, deep}, {deep, size}} {
		t := d
		if mixed && i == 1 {
			t = tensor.F32
		}
		w, b := s.Between(t, -0.5, 0.5, experts, e[0], e[1]), s.Between(tensor.F32, -1, 1, experts, e[0])
		numbers := cases.Numbers(w)
		m.weights[i] = func(k, j, p int) float64 { return numbers[(k*e[0]+j)*e[1]+p] }
		m.bias[i] = func(k, j int) float64 { return cases.Number(b, k*e[0]+j) }
		list = append(list, w, b)
	}
	s.Add(cases.Case{Domain: "nacre", Op: "WidenedMoE", Version: 1, Attrs: cases.Attrs("activation_type", "silu", "k", 2), In: list,
		Want: cases.Want(m.run(tensor.F32, x, router, 1)), Ulps: 2 * expertUlps})
}
