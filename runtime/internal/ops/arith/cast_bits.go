package arith

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// BitCast reinterprets the bits of elements as another type of the same width. A byte that becomes
// a bool is true unless it is 0.
type BitCast struct{ to tensor.DType }

func newBitCast(n *op.Node) (op.Op, error) {
	to, err := castTarget(n)
	if err != nil {
		return nil, err
	}
	if to == tensor.String {
		return nil, graph.Errorf(graph.ErrFormat, "attribute to is string, which has no bits")
	}
	return &BitCast{to}, nil
}

// Infer keeps the shape.
func (o *BitCast) Infer(c *op.Infer) error {
	if from := c.In[0].DType; from.Bits() != o.to.Bits() {
		return graph.Errorf(graph.ErrShape, "elements of type %v are not as wide as elements of type %v", from, o.to)
	}
	c.Set(0, o.to, c.In[0].Dims)
	return nil
}

// Run computes the output, which may share the memory of the input.
func (o *BitCast) Run(c *op.Run) error {
	to := c.Out[0].Bytes()
	copy(to, c.In[0].Bytes())
	if o.to == tensor.Bool {
		for i, v := range to {
			to[i] = byte(kit.Btoi(v != 0))
		}
	}
	return nil
}

// bitTypes are all element types except strings.
var bitTypes = slices.DeleteFunc(tensor.DTypes(), func(d tensor.DType) bool { return d == tensor.String })

var bitRows = []op.Row{
	{Name: "BitCast", Since: []int{26}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: bitTypes, InPlace: []int{0}, Elementwise: true, New: newBitCast},
}
