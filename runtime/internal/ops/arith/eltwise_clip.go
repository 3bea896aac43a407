package arith

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Clip clamps every element to an interval. Before operator set 11 its ends are the attributes P
// and Q; later they are inputs 1 and 2. A missing input means the limit of the type.
type Clip struct {
	Unary
	Inputs bool
}

func newClip(n *op.Node) (op.Op, error) {
	ignoreConsumed(n)
	o := &Clip{Unary: Unary{Func: "clip"}, Inputs: n.Since >= 11}
	if !o.Inputs {
		o.P = float64(n.Float("min", -math.MaxFloat32))
		o.Q = float64(n.Float("max", math.MaxFloat32))
	}
	return o, nil
}

func (o *Clip) Infer(c *op.Infer) error {
	if err := kit.SameTypes(c.In); err != nil {
		return err
	}
	for i := 1; i < 3; i++ {
		if c.Has(i) {
			if n, ok := c.In[i].Dims.Len().Value(); ok && c.In[i].Dims != nil && n != 1 {
				return graph.Errorf(graph.ErrShape, "input %d has shape %v; it must be one number", i, c.In[i].Dims)
			}
		}
	}
	return o.Unary.Infer(c)
}

var clipRows = []op.Row{
	{Name: "Clip", Since: []int{1, 6, 11, 12, 13}, In: [2]int{1, 1}, Later: []op.Arity{{Since: 11, In: [2]int{1, 3}}}, Out: [2]int{1, 1}, Types: op.Numeric, InPlace: []int{0}, Elementwise: true, New: newClip},
}
