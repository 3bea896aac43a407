package quant

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/op"
)

// QLinearSoftmax is Softmax of a quantised value with a quantised result. The attribute opset names
// the version of Softmax that decides which axes are normalised.
type QLinearSoftmax struct{ axes nn.Softmax }

func newQLinearSoftmax(n *op.Node) (op.Op, error) {
	if !n.Has("opset") {
		return nil, graph.Errorf(graph.ErrFormat, "attribute opset is missing; it says how axis is meant")
	}
	return &QLinearSoftmax{axes: nn.Softmax{Axis: n.Int("axis", -1), Flat: n.Int("opset", 0) < 13}}, nil
}

// Infer keeps type and shape.
func (o *QLinearSoftmax) Infer(c *op.Infer) error {
	if err := checkCodes(c, 0); err != nil {
		return err
	}
	if err := checkPerTensor(c, c.In[0].DType, 3, 4); err != nil {
		return err
	}
	return o.axes.Infer(c)
}

// Split returns a value's extents as [outer, n, inner]. The axis of n elements is normalised.
func (o *QLinearSoftmax) Split(dims graph.Dims) (outer, n, inner graph.Dim, err error) {
	return o.axes.Split(dims)
}

var softmaxRows = []op.Row{
	{Domain: kit.Microsoft, Name: "QLinearSoftmax", Since: []int{1}, In: [2]int{4, 5}, Optional: kit.Inputs(2), Out: [2]int{1, 1}, Types: byteTypes, InPlace: []int{0}, New: newQLinearSoftmax},
}
