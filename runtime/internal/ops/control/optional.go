package control

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// optional is Optional: it wraps its input or, without an input, returns an empty optional of the
// attribute's type (https://onnx.ai/onnx/operators/onnx__Optional.html).
type optional struct{ elem *graph.Type }

func newOptional(n *op.Node) (op.Op, error) {
	o := optional{elem: n.Type("type")}
	if !n.HasIn(0) && o.elem == nil {
		return nil, graph.Errorf(graph.ErrFormat, "has neither an input nor attribute type")
	}
	return o, nil
}

func (o optional) Infer(c *op.Infer) error {
	elem := o.elem
	if c.Has(0) {
		elem = &c.In[0].Type
	}
	c.SetType(0, graph.Type{Kind: graph.OptionalType, Elem: elem})
	return nil
}

func (optional) Run(c *op.Run) error {
	o := &tensor.Optional{}
	if len(c.Values) > 0 {
		o.Item = c.Values[0]
	}
	c.Set(0, o)
	return c.Mem.Reserve(tensor.ItemBytes)
}

// present returns the content of an optional, or v itself if v is no optional.
func present(v tensor.Value) tensor.Value {
	if o, ok := v.(*tensor.Optional); ok {
		return o.Item
	}
	return v
}

func inferGetElement(c *op.Infer) error {
	if c.In[0].Kind != graph.OptionalType {
		c.SetType(0, c.In[0].Type)
		return nil
	}
	elem, err := elemOf(c.In[0])
	c.SetType(0, elem)
	return err
}

func runGetElement(c *op.Run) error {
	v := present(c.Values[0])
	if v == nil {
		return graph.Errorf(graph.ErrShape, "the optional is empty")
	}
	c.Set(0, v)
	return nil
}

func inferHasElement(c *op.Infer) error {
	c.Set(0, tensor.Bool, graph.Dims{})
	return nil
}

func runHasElement(c *op.Run) error {
	c.Set(0, kit.Scalar(len(c.Values) > 0 && present(c.Values[0]) != nil))
	return nil
}

var optionalRows = []op.Row{
	{Name: "Optional", Since: []int{15}, In: [2]int{0, 1}, Out: [2]int{1, 1}, Kinds: true, DynamicOutputs: true, New: newOptional},
	{Name: "OptionalGetElement", Since: []int{15, 18}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Kinds: true, DynamicOutputs: true, New: newSequenceOp(inferGetElement, runGetElement)},
	{Name: "OptionalHasElement", Since: []int{15, 18}, In: [2]int{0, 1}, Out: [2]int{1, 1}, Kinds: true, DynamicOutputs: true, New: newSequenceOp(inferHasElement, runHasElement)},
}
