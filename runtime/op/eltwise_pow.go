package op

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// pow raises elements to powers, which may be of another type. It computes in
// float64 where the types leave doubt, in int64 where both are integers.
type pow struct {
	align alignment

	compute tensor.DType
	fn      bindings.Kernel
	path    path
	power   conversion // of the exponents to the type that the kernel computes in
}

func newPow(n *Node) (Op, error) { return &pow{align: readAlignment(n)}, nil }

// powType is the type in which a power is computed.
func powType(base, power tensor.DType) tensor.DType {
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

func (o *pow) Prepare(c *Prepare) error {
	base, power := c.DType(0), c.DType(1)
	o.compute = powType(base, power)
	var err error
	if o.path, err = pathTo(c, base, o.compute); err != nil {
		return err
	}
	if o.power, err = conversionOf(c, power, o.compute); err != nil {
		return err
	}
	o.fn, err = kernelFor(c, o.compute, "pow")
	return err
}

func (o *pow) Infer(c *Infer) error {
	a, b := c.In[0], c.In[1]
	if !numeric.Has(b.DType) {
		return graph.Mark(graph.ErrUnsupported, "input 1 has element type %v; it must be a number", b.DType)
	}
	right, err := o.align.dims(a.Dims, b.Dims)
	if err != nil {
		return err
	}
	dims, err := broadcast(a.Dims, right)
	if err != nil {
		return err
	}
	c.Set(0, a.DType, dims)
	return nil
}

func (o *pow) Run(c *Run) error {
	a, b, y := c.In[0].Aligned(), c.In[1].Aligned(), c.Out[0]
	right, err := o.align.shape(a.Shape(), b.Shape())
	if err != nil {
		return err
	}
	dims, err := extentsUnder(y.Shape(), a.Shape(), right)
	if err != nil || y.Len() == 0 {
		return err
	}
	if b.DType() != o.compute {
		if b, err = o.power.run(c, b); err != nil {
			return err
		}
	}
	lane := bindings.Lane{Data: b.Pointer(), Bytes: o.compute.Bits() / 8}
	bindings.EltwiseBinary(c.Pool, o.fn, o.path.source(a), lane, o.path.sink(y), dims)
	return nil
}

func (o *pow) Describe() string { return o.fn.Op() + " " + o.fn.Variant() }

var powRows = []Row{
	{Name: "Pow", Since: []int{1, 7, 12, 13, 15}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: Types{tensor.F32, tensor.F64, tensor.F16, tensor.BF16, tensor.I32, tensor.I64},
		InPlace: []int{0}, New: newPow},
}
