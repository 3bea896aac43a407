package arith

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Snake is ChannelSnake: it adds ratio · sin(alpha · x)² to x. alpha and ratio have a number for
// each channel, the second axis of x.
type Snake struct{}

func newSnake(*op.Node) (op.Op, error) { return Snake{}, nil }

// Infer keeps type and shape.
func (Snake) Infer(c *op.Infer) error {
	if err := kit.SameTypes(c.In); err != nil {
		return err
	}
	x := c.In[0]
	if x.Dims != nil && len(x.Dims) < 2 {
		return graph.Errorf(graph.ErrShape, "%v has no axis of channels", x.Type)
	}
	for _, v := range c.In[1:] {
		if x.Dims == nil || v.Dims == nil {
			continue
		}
		if n := v.Dims.Len(); n.IsKnown() && x.Dims[1].IsKnown() && !n.Same(x.Dims[1]) {
			return graph.Errorf(graph.ErrShape, "%v does not have one element for each channel of %v", v.Type, x.Type)
		}
	}
	c.Set(0, x.DType, x.Dims)
	return nil
}

var snakeRows = []op.Row{
	{Domain: kit.Internal, Name: "ChannelSnake", Since: []int{1}, In: [2]int{3, 3}, Out: [2]int{1, 1}, Types: op.Types{tensor.F32}, InPlace: []int{0},
		Items: kit.ItemsFirst(0), New: newSnake},
}
