package arith

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// sumLike undoes a broadcast: it adds up input 0 over the axes along which a
// tensor of input 1's shape was stretched to have that of input 0.
type sumLike struct{}

func newSumLike(*op.Node) (op.Op, error) { return sumLike{}, nil }

// Infer takes the shape from input 1.
func (sumLike) Infer(c *op.Infer) error {
	c.Set(0, c.In[0].DType, c.In[1].Dims)
	return nil
}

// Run computes the output.
func (sumLike) Run(c *op.Run) error {
	x, like, out := c.In[0].Shape(), c.In[1].Shape(), c.Out[0]
	lead := len(x) - len(like)
	if lead < 0 {
		return graph.Errorf(graph.ErrShape, "%v was not stretched to %v", like, x)
	}
	reduced := make([]bool, len(x))
	for i, n := range x {
		reduced[i] = i < lead || like[i-lead] == 1 && n != 1
		if !reduced[i] && n != like[i-lead] {
			return graph.Errorf(graph.ErrShape, "%v was not stretched to %v", like, x)
		}
	}
	if !slices.Contains(reduced, true) {
		op.CopyInto(out, c.In[0])
		return nil
	}
	return reduceAny(&reducers[0], c.In[0], reduced, out)
}

var sumLikeRows = []op.Row{
	{Domain: op.Internal, Name: "SumLike", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: op.Numeric, New: newSumLike},
}
