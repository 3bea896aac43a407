package arith

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Pow raises the elements of input 0 to the powers in input 1. The result has the type of input 0.
type Pow struct{ align alignment }

// Right returns the extents of the powers aligned with the bases.
func (o *Pow) Right(left, right graph.Dims) (graph.Dims, error) { return o.align.dims(left, right) }

func newPow(n *op.Node) (op.Op, error) { return &Pow{align: readAlignment(n)}, nil }

// PowType returns the type in which a power is computed.
func PowType(base, power tensor.DType) tensor.DType {
	switch {
	case base == tensor.F64:
		return tensor.F64
	case base.IsInteger() && power.IsInteger():
		return tensor.I64
	case base.IsInteger():
		return tensor.F64
	case base == tensor.F32 && power.Bits() > 16 && power != tensor.F32:
		return tensor.F64
	}
	return tensor.F32
}

// Infer broadcasts the extents.
func (o *Pow) Infer(c *op.Infer) error {
	a, b := c.In[0], c.In[1]
	if !op.Numeric.Has(b.DType) {
		return graph.Errorf(graph.ErrUnsupported, "input 1 has element type %v; it must be a number", b.DType)
	}
	right, err := o.align.dims(a.Dims, b.Dims)
	if err != nil {
		return err
	}
	dims, err := op.Broadcast(a.Dims, right)
	if err != nil {
		return err
	}
	c.Set(0, a.DType, dims)
	return nil
}

var powRows = []op.Row{
	{Name: "Pow", Since: []int{1, 7, 12, 13, 15}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: op.Types{tensor.F32, tensor.F64, tensor.F16, tensor.BF16, tensor.I32, tensor.I64},
		InPlace: []int{0}, Elementwise: true, Derivative: powDerivative, New: newPow},
}
