package moe

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// WidenedMoE is MoE of float32 with weights of 16 bits or of types of blocks, widened in the
// products. Passes insert it; it is not in files.
type WidenedMoE struct{ MoE }

func newWidenedMoE(n *op.Node) (op.Op, error) {
	o, err := newMoE(n)
	if err != nil {
		return nil, err
	}
	return &WidenedMoE{*o.(*MoE)}, nil
}

// Infer applies the rule of MoE to weights as float32.
func (o *WidenedMoE) Infer(c *op.Infer) error {
	in := append([]*op.Value(nil), c.In...)
	for i := range 3 {
		weights, _ := o.LayerInputs(i)
		if !c.Has(weights) {
			continue
		}
		w := c.In[weights]
		if w.DType != tensor.F32 && w.DType != tensor.F16 && w.DType != tensor.BF16 && w.DType.Blocks() == nil {
			return graph.Errorf(graph.ErrShape, "input %d is %v, not float32, float16, bfloat16 or blocks", weights, w.Type)
		}
		wide := *w
		wide.DType, wide.Const = tensor.F32, nil
		in[weights] = &wide
	}
	for i, v := range in {
		if v != nil && v.DType.Blocks() != nil {
			return graph.Errorf(graph.ErrUnsupported, "input %d has blocks of %v; weights alone may be in blocks", i, v.DType)
		}
	}
	return o.MoE.Infer(&op.Infer{In: in, Out: c.Out})
}
