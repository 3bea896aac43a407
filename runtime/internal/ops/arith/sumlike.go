package arith

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// SumLike undoes a broadcast from the shape of input 1 to the shape of input 0: it sums input 0
// over the stretched axes.
type SumLike struct{}

func newSumLike(*op.Node) (op.Op, error) { return SumLike{}, nil }

// Infer takes the shape from input 1.
func (SumLike) Infer(c *op.Infer) error {
	c.Set(0, c.In[0].DType, c.In[1].Dims)
	return nil
}

// Reduced reports for each axis of x whether it was stretched from shape like.
func (SumLike) Reduced(x, like tensor.Shape) ([]bool, error) {
	lead := len(x) - len(like)
	if lead < 0 {
		return nil, graph.Errorf(graph.ErrShape, "%v was not stretched to %v", like, x)
	}
	reduced := make([]bool, len(x))
	for i, n := range x {
		reduced[i] = i < lead || like[i-lead] == 1 && n != 1
		if !reduced[i] && n != like[i-lead] {
			return nil, graph.Errorf(graph.ErrShape, "%v was not stretched to %v", like, x)
		}
	}
	return reduced, nil
}

// Run computes the output.
func (o SumLike) Run(c *op.Run) error {
	reduced, err := o.Reduced(c.In[0].Shape(), c.In[1].Shape())
	if err != nil {
		return err
	}
	if !slices.Contains(reduced, true) {
		kit.CopyInto(c.Out[0], c.In[0])
		return nil
	}
	return reduceAny(c.Pace(), &reducers[0], c.In[0], reduced, c.Out[0])
}

var sumLikeRows = []op.Row{
	{Domain: kit.Internal, Name: "SumLike", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: op.Numeric, Derivative: sumLikeDerivative, New: newSumLike},
}
