package quant

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// QLinearPair adds or, if Product is set, multiplies two quantised values with broadcasting. The
// result is quantised. Operands and result have one scale and one zero point each.
type QLinearPair struct {
	Product bool
}

// The inputs of QLinearPair.
const (
	QLinearPairA      = 0
	QLinearPairB      = 3
	QLinearPairYScale = 6
	QLinearPairYZero  = 7
)

func newPair(product bool) func(*op.Node) (op.Op, error) {
	return func(*op.Node) (op.Op, error) { return &QLinearPair{Product: product}, nil }
}

// Infer broadcasts the operands.
func (o *QLinearPair) Infer(c *op.Infer) error {
	if err := checkCodes(c, QLinearPairA, QLinearPairB); err != nil {
		return err
	}
	a, b := c.In[QLinearPairA], c.In[QLinearPairB]
	if a.DType != b.DType {
		return graph.Errorf(graph.ErrShape, "the operands are %v and %v; their codes must be of one type", a.Type, b.Type)
	}
	if err := checkPerTensor(c, a.DType, QLinearPairYScale, QLinearPairYZero); err != nil {
		return err
	}
	dims, err := op.Broadcast(a.Dims, b.Dims)
	if err == nil {
		c.Set(0, a.DType, dims)
	}
	return err
}

var pairRows = []op.Row{
	{Domain: kit.Microsoft, Name: "QLinearAdd", Since: []int{1}, In: [2]int{7, 8}, Optional: kit.Inputs(2, 5), Out: [2]int{1, 1}, Types: byteTypes, InPlace: []int{QLinearPairA, QLinearPairB},
		Items: itemsOfPair, New: newPair(false)},
	{Domain: kit.Microsoft, Name: "QLinearMul", Since: []int{1}, In: [2]int{7, 8}, Optional: kit.Inputs(2, 5), Out: [2]int{1, 1}, Types: byteTypes, InPlace: []int{QLinearPairA, QLinearPairB},
		Items: itemsOfPair, New: newPair(true)},
}
