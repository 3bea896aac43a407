package quant

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// QLinearUnary applies a function to each element of a quantised value and quantises the result.
// Input and result have one scale and one zero point each.
type QLinearUnary struct {
	Func  string  // sigmoid or leaky_relu
	Alpha float32 // of leaky_relu
}

func newQLinearSigmoid(*op.Node) (op.Op, error) { return &QLinearUnary{Func: "sigmoid"}, nil }

func newQLinearLeakyRelu(n *op.Node) (op.Op, error) {
	return &QLinearUnary{Func: "leaky_relu", Alpha: n.Float("alpha", 0.01)}, nil
}

// Infer keeps type and shape.
func (o *QLinearUnary) Infer(c *op.Infer) error {
	if err := checkCodes(c, 0); err != nil {
		return err
	}
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return checkPerTensor(c, c.In[0].DType, 3, 4)
}

// QLinearConcat joins quantised values along an axis. Inputs 0 and 1 are the result's scale and
// zero point. Three inputs per value follow: the value, its scale, its zero point.
type QLinearConcat struct {
	concat array.Concat
	Values []int // the inputs that are values
}

func newQLinearConcat(n *op.Node) (op.Op, error) {
	if (len(n.Inputs)-2)%3 != 0 {
		return nil, graph.Errorf(graph.ErrFormat, "%d inputs; the operator takes two, and three for every value",
			len(n.Inputs))
	}
	if !n.Has("axis") {
		return nil, graph.Errorf(graph.ErrFormat, "attribute axis is missing")
	}
	o := &QLinearConcat{concat: array.Concat{Axis: n.Int("axis", 0)}}
	for i := 2; i < len(n.Inputs); i += 3 {
		o.Values = append(o.Values, i)
	}
	return o, nil
}

// Infer applies the rule of Concat.
func (o *QLinearConcat) Infer(c *op.Infer) error {
	if err := checkCodes(c, o.Values...); err != nil {
		return err
	}
	d := c.In[o.Values[0]].DType
	if err := checkPerTensor(c, d, 0, 1); err != nil {
		return err
	}
	list := make([]*op.Value, len(o.Values))
	for k, i := range o.Values {
		list[k] = c.In[i]
	}
	dims, err := o.concat.Dims(list)
	if err == nil {
		c.Set(0, d, dims)
	}
	return err
}

// Axis returns the axis along which values with rank axes are joined.
func (o *QLinearConcat) Axis(rank int) (int, error) { return op.NormAxis(o.concat.Axis, rank) }

// QLinearWhere selects elements from two quantised values by a condition and quantises the result.
type QLinearWhere struct{}

// The inputs of QLinearWhere.
const (
	QLinearWhereX      = 1
	QLinearWhereY      = 4
	QLinearWhereZScale = 7
)

func newQLinearWhere(*op.Node) (op.Op, error) { return &QLinearWhere{}, nil }

// Infer broadcasts the inputs.
func (o *QLinearWhere) Infer(c *op.Infer) error {
	if err := checkCodes(c, QLinearWhereX, QLinearWhereY); err != nil {
		return err
	}
	cond, x, y := c.In[0], c.In[QLinearWhereX], c.In[QLinearWhereY]
	if cond.DType != tensor.Bool || x.DType != y.DType {
		return graph.Errorf(graph.ErrShape,
			"the condition is %v and the values are %v and %v; they must be bool and codes of one type", cond.Type, x.Type,
			y.Type)
	}
	if err := checkPerTensor(c, x.DType, QLinearWhereZScale, QLinearWhereZScale+1); err != nil {
		return err
	}
	dims, err := op.Broadcast(cond.Dims, x.Dims, y.Dims)
	if err == nil {
		c.Set(0, x.DType, dims)
	}
	return err
}

// CodeTable maps codes through a table. Element b of input 1, a table of 256 codes, replaces the
// code of input 0 with byte b.
type CodeTable struct{}

func newCodeTable(*op.Node) (op.Op, error) { return &CodeTable{}, nil }

// Infer keeps the extents.
func (o *CodeTable) Infer(c *op.Infer) error {
	if err := checkBytes(c, 0, 1); err != nil {
		return err
	}
	if n := c.In[1].Dims; n != nil && (len(n) != 1 || n[0].IsKnown() && !n[0].Is(256)) {
		return graph.Errorf(graph.ErrShape, "the table is %v; 256 codes are needed", c.In[1].Type)
	}
	c.Set(0, c.In[1].DType, c.In[0].Dims)
	return nil
}

var tableRows = []op.Row{
	{Domain: kit.Internal, Name: "CodeTable", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: byteTypes, InPlace: []int{0}, Items: kit.ItemsKept, New: newCodeTable},
	{Domain: kit.Microsoft, Name: "QLinearSigmoid", Since: []int{1}, In: [2]int{4, 5}, Optional: kit.Inputs(2), Out: [2]int{1, 1}, Types: byteTypes, InPlace: []int{0}, Items: kit.ItemsKept, New: newQLinearSigmoid},
	{Domain: kit.Microsoft, Name: "QLinearLeakyRelu", Since: []int{1}, In: [2]int{4, 5}, Optional: kit.Inputs(2), Out: [2]int{1, 1}, Types: byteTypes, InPlace: []int{0}, Items: kit.ItemsKept, New: newQLinearLeakyRelu},
	{Domain: kit.Microsoft, Name: "QLinearConcat", Since: []int{1}, In: [2]int{5, op.Any}, Optional: func(i int) bool { return i > 1 && i%3 == 1 }, Out: [2]int{1, 1}, Types: byteTypes, Typed: 2, New: newQLinearConcat},
	{Domain: kit.Microsoft, Name: "QLinearWhere", Since: []int{1}, In: [2]int{9, 9}, Out: [2]int{1, 1}, Types: byteTypes, Typed: QLinearWhereX, New: newQLinearWhere},
}
