package runtime

import (
	"context"

	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// mostFolded is how many times the bytes of a file's constants passes may compute anew beside the
// memory limit, for example to transpose and to convert them.
const mostFolded = 3

// making returns the budget of the constants that passes compute.
func (o Options) making(ctx context.Context, m *graph.Model) *budget.Budget {
	limit := o.memoryLimit()
	if o.Memory != nil && (limit == 0 || o.Memory.Limit() < limit) {
		limit = o.Memory.Limit()
	}
	if limit == 0 {
		return nil
	}
	limit = max(limit-o.Made, 1)
	return budget.New(ctx, budget.Limits{Bytes: int64(limit) + mostFolded*int64(max(0, sizeOf(m.Graph, nil)-o.Made))})
}

// packing returns the budget of the constants that kernels rearrange: several times the bytes of
// the file's constants, and a part of the memory limit for others.
func (o Options) packing(m *graph.Model) *budget.Budget {
	const mostPacked, part = 16, 4
	limit := o.memoryLimit()
	if limit == 0 {
		return nil
	}
	file := max(0, sizeOf(m.Graph, nil)-o.Made)
	return budget.New(context.Background(), budget.Limits{Bytes: int64(limit/part) + mostPacked*int64(file)})
}

// madeOf returns the bytes of the constants of the rewritten graph that are not in the source.
func madeOf(source, rewritten *graph.Graph) int {
	given := map[*tensor.Tensor]bool{}
	file := sizeOf(source, given)
	return max(0, sizeOf(rewritten, given)-file)
}

// sizeOf returns the bytes of the tensors of a graph and its subgraphs that are not in met, and
// adds them to met. A nil set is empty.
func sizeOf(g *graph.Graph, met map[*tensor.Tensor]bool) int {
	if met == nil {
		met = map[*tensor.Tensor]bool{}
	}
	total := 0
	add := func(t *tensor.Tensor) {
		if t != nil && !met[t] {
			met[t] = true
			total += t.Size()
		}
	}
	for _, init := range g.Initializers {
		add(init.Tensor)
	}
	for _, n := range g.Nodes {
		for _, a := range n.Attrs {
			add(a.Tensor)
			for _, sub := range a.Subgraphs() {
				total += sizeOf(sub, met)
			}
		}
	}
	return total
}
