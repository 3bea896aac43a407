package openinfer

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// toBytes returns the bytes of a tensor as a vector.
type toBytes struct{}

func newToBytes(*op.Node) (op.Op, error) { return toBytes{}, nil }

// Infer sets a vector of as many bytes as the tensor has.
func (toBytes) Infer(c *op.Infer) error {
	in := c.In[0]
	dims := graph.UnknownDims(1)
	if shape, ok := in.Dims.Concrete(); ok && in.Dims != nil {
		dims[0] = graph.Known(in.DType.Bytes(shape.Len()))
	}
	c.Set(0, tensor.U8, dims)
	return nil
}

// Run copies the bytes.
func (toBytes) Run(c *op.Run) error {
	in := c.In[0].Bytes()
	out, err := c.Alloc(0, tensor.U8, tensor.Shape{len(in)})
	if err == nil {
		copy(out.Bytes(), in)
	}
	return err
}

// fromBytes returns a tensor from a vector of its bytes.
type fromBytes struct {
	dtype tensor.DType
	shape tensor.Shape
}

func newFromBytes(n *op.Node) (op.Op, error) {
	d, err := tensor.ParseDType(n.Str("type", ""))
	o := &fromBytes{d, n.Ints("shape")}
	if err == nil && d == tensor.String {
		err = graph.Errorf(graph.ErrUnsupported, "strings have no bytes of their own")
	}
	if err == nil {
		err = o.shape.Check()
	}
	return o, err
}

// Infer sets the attributes' type and shape.
func (o *fromBytes) Infer(c *op.Infer) error {
	c.Set(0, o.dtype, graph.DimsOf(o.shape))
	return nil
}

// Run copies the bytes.
func (o *fromBytes) Run(c *op.Run) error {
	in := c.In[0].Bytes()
	if n := o.dtype.Bytes(o.shape.Len()); c.In[0].DType() != tensor.U8 || len(in) != n {
		return graph.Errorf(graph.ErrShape, "%d bytes of %v are no tensor of %v%v, which takes %d", len(in),
			c.In[0].DType(), o.dtype, o.shape, n)
	}
	out, err := c.Alloc(0, o.dtype, o.shape)
	if err == nil {
		copy(out.Bytes(), in)
	}
	return err
}

// bytesRows lists the operators between tensors and their bytes.
var bytesRows = []op.Row{
	{Domain: Domain, Name: "to_bytes", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, DynamicOutputs: true, New: newToBytes},
	{Domain: Domain, Name: "from_bytes", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, DynamicOutputs: true, New: newFromBytes},
}
