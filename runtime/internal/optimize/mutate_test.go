package optimize_test

import (
	gocontext "context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// mutants is the number of mutants of each pattern that a test runs.
const mutants = 5

// mutate changes a network in one place.
func (b *net) mutate(r *rand.Rand) {
	n := *b.g.Nodes[r.IntN(len(b.g.Nodes))]
	at := slices.IndexFunc(b.g.Nodes, func(m *graph.Node) bool { return m.Name == n.Name })
	n.Inputs, n.Attrs = slices.Clone(n.Inputs), slices.Clone(n.Attrs)
	switch r.IntN(9) {
	case 0:
		if len(n.Inputs) > 1 {
			n.Inputs[0], n.Inputs[1] = n.Inputs[1], n.Inputs[0]
		}
	case 1:
		if len(n.Inputs) > 0 {
			n.Inputs[r.IntN(len(n.Inputs))] = b.values(at)[r.IntN(len(b.values(at)))]
		}
	case 2:
		if len(n.Inputs) > 0 {
			n.Inputs = n.Inputs[:len(n.Inputs)-1]
		}
	case 3:
		if len(n.Attrs) > 0 {
			n.Attrs = slices.Delete(n.Attrs, 0, 1)
		}
	case 4:
		if len(n.Attrs) > 0 {
			a := *n.Attrs[r.IntN(len(n.Attrs))]
			a.Int += int64(r.IntN(3)) - 1
			a.Float *= 2
			if a.Ints = slices.Clone(a.Ints); len(a.Ints) > 0 {
				a.Ints[r.IntN(len(a.Ints))]--
			}
			n.Attrs[slices.IndexFunc(n.Attrs, func(o *graph.Attr) bool { return o.Name == a.Name })] = &a
		}
	case 5:
		b.out(n.Outputs[0])
	case 6:
		n.Op = []string{"Add", "Sub", "Mul", "Div", "Max", "Tanh", "Sigmoid", "Erf", "Softmax", "MatMul", "Identity",
			"Neg"}[r.IntN(12)]
	case 7:
		n.Version = []int{1, 6, 7, 9, 11, 13, 18, 22}[r.IntN(8)]
	default:
		if len(b.g.Initializers) == 0 {
			return
		}
		init := *b.g.Initializers[r.IntN(len(b.g.Initializers))]
		list, _ := kit.Numbers(init.Tensor)
		list = slices.Clone(list)
		if len(list) > 0 {
			list[r.IntN(len(list))] += []float64{1, -1, 0.25, -2}[r.IntN(4)]
		}
		init.Tensor = tensor.New(init.Tensor.DType(), init.Tensor.Shape()...)
		kit.SetNumbers(init.Tensor, list)
		b.g.Initializers[slices.IndexFunc(b.g.Initializers, func(o *graph.Initializer) bool { return o.Name == init.Name })] = &init
	}
	b.g.Nodes[at] = &n
}

// values returns the names that are defined before a node.
func (b *net) values(node int) []string {
	var list []string
	for _, v := range b.g.Inputs {
		list = append(list, v.Name)
	}
	for _, v := range b.g.Initializers {
		list = append(list, v.Name)
	}
	for _, n := range b.g.Nodes[:node] {
		list = append(list, n.Outputs...)
	}
	return list
}

// mutated runs networks that differ from a pattern in one place. If one runs without passes, it
// must give the same results with them.
func mutated(t *testing.T, p pattern, d tensor.DType, count int) {
	t.Helper()
	for seed := range count {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		b := newNet(d, seed%2 == 0)
		p.build(b)
		b.mutate(r)
		if graph.Validate(b.model()) != nil {
			continue
		}
		want, err := b.results(false)
		if err != nil {
			continue
		}
		got, err := b.results(true)
		if err != nil {
			t.Errorf("mutant %d: %v", seed, err)
			continue
		}
		var matrices []string
		for i := range want {
			if err := cases.Near(want[i], got[i], 20*tolerances[d], true); err != nil {
				t.Errorf("mutant %d, output %d: %v", seed, i, err)
			}
			if s := want[i].Shape(); len(s) >= 2 && s[len(s)-2] > 0 && want[i].DType().Bits()%8 == 0 {
				matrices = append(matrices, b.g.Outputs[i].Name)
			}
		}
		if len(matrices) > 0 {
			b.checkLastRows(t, true, matrices, want)
		}
	}
}

// results computes the outputs with or without passes.
func (b *net) results(passes bool) ([]*tensor.Tensor, error) {
	s, err := byname.New(b.model(), runtime.Options{NoOptimize: !passes, Threads: 1})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	out, err := s.Run(gocontext.Background(), b.feeds)
	var list []*tensor.Tensor
	for _, v := range b.g.Outputs {
		list = append(list, out[v.Name])
	}
	return list, err
}
