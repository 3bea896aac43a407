package ml

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Distances computes the distance of every row of A [M,N] to every row of B [K,N], as a matrix
// [M,K]. Nearest neighbours and Gaussian processes use it.
type Distances struct{ Squared bool }

func newDistances(n *op.Node) (op.Op, error) {
	switch metric := n.Str("metric", "sqeuclidean"); metric {
	case "sqeuclidean":
		return &Distances{Squared: true}, nil
	case "euclidean":
		return &Distances{}, nil
	default:
		return nil, graph.Errorf(graph.ErrUnsupported, "metric %q; euclidean and sqeuclidean are computed", metric)
	}
}

// Infer sets the extents [M,K].
func (o *Distances) Infer(c *op.Infer) error {
	a, b := c.In[0], c.In[1]
	out := graph.UnknownDims(2)
	c.Set(0, a.DType, out)
	if a.DType != b.DType {
		return graph.Errorf(graph.ErrShape, "operands %v and %v have different element types", a.Type, b.Type)
	}
	for i, v := range []*op.Value{a, b} {
		if rank, ok := v.Rank(); ok && rank != 2 {
			return graph.Errorf(graph.ErrShape, "input %d is %v, not a matrix", i, v.Type)
		} else if ok {
			out[i] = v.Dims[0]
		}
	}
	if a.Dims != nil && b.Dims != nil {
		if _, ok := kit.JoinDim(a.Dims[1], b.Dims[1]); !ok {
			return graph.Errorf(graph.ErrShape, "rows of %v and %v are not equally long", a.Type, b.Type)
		}
	}
	c.Set(0, a.DType, out)
	return nil
}

// Run computes the distances.
func (o *Distances) Run(c *op.Run) error {
	if c.Out[0].DType() == tensor.F64 {
		return measure[float64](c, o.Squared)
	}
	return measure[float32](c, o.Squared)
}

// measureGrain is the number of differences that justify a goroutine.
const measureGrain = 1 << 14

func measure[T float32 | float64](c *op.Run, squared bool) error {
	n := c.In[0].Shape()[1]
	a, b, out := tensor.View[T](c.In[0]), tensor.View[T](c.In[1]), tensor.View[T](c.Out[0])
	rows := c.In[1].Shape()[0]
	return c.Parallel(len(out), 1+measureGrain/max(n, 1), func(from, to int) error {
		pace := c.Pace()
		for i := from; i < to; i++ {
			x, y := a[i/rows*n:][:n], b[i%rows*n:][:n]
			pace.Work(n)
			var sum T
			for p, v := range x {
				d := v - y[p]
				sum += d * d
			}
			if !squared {
				sum = T(math.Sqrt(float64(sum)))
			}
			out[i] = sum
		}
		return nil
	})
}

var distanceRows = []op.Row{
	{Domain: kit.Microsoft, Name: "CDist", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: op.Types{tensor.F32, tensor.F64}, New: newDistances},
}
