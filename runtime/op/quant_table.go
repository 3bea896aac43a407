package op

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// QLinearUnary is a function of every element of a quantised value, quantised, with one
// scale and one zero point on either side.
type QLinearUnary struct {
	Func  string  // sigmoid or leaky_relu
	Alpha float32 // of leaky_relu
}

func newQLinearSigmoid(*Node) (Op, error) { return &QLinearUnary{Func: "sigmoid"}, nil }

func newQLinearLeakyRelu(n *Node) (Op, error) {
	return &QLinearUnary{Func: "leaky_relu", Alpha: n.Float("alpha", 0.01)}, nil
}

// Infer keeps type and shape.
func (o *QLinearUnary) Infer(c *Infer) error {
	if err := c.checkCodes(0); err != nil {
		return err
	}
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return c.checkPerTensor(c.In[0].DType, 3, 4)
}

// QLinearConcat joins quantised values along an axis: inputs 0 and 1 are scale and zero point of the
// result, then come a value, its scale and its zero point in turn.
type QLinearConcat struct {
	concat Concat
	Values []int // the inputs that are values
}

func newQLinearConcat(n *Node) (Op, error) {
	if (len(n.Inputs)-2)%3 != 0 {
		return nil, graph.Errorf(graph.ErrFormat, "%d inputs; the operator takes two, and three for every value", len(n.Inputs))
	}
	if !n.Has("axis") {
		return nil, graph.Errorf(graph.ErrFormat, "attribute axis is missing")
	}
	o := &QLinearConcat{concat: Concat{axis: n.Int("axis", 0)}}
	for i := 2; i < len(n.Inputs); i += 3 {
		o.Values = append(o.Values, i)
	}
	return o, nil
}

// Infer is that of concat.
func (o *QLinearConcat) Infer(c *Infer) error {
	if err := c.checkCodes(o.Values...); err != nil {
		return err
	}
	d := c.In[o.Values[0]].DType
	if err := c.checkPerTensor(d, 0, 1); err != nil {
		return err
	}
	list := make([]*Value, len(o.Values))
	for k, i := range o.Values {
		list[k] = c.In[i]
	}
	dims, err := o.concat.dims(list)
	if err == nil {
		c.Set(0, d, dims)
	}
	return err
}

// Axis is the axis along which values of that many axes are joined.
func (o *QLinearConcat) Axis(rank int) (int, error) { return normAxis(o.concat.axis, rank) }

// QLinearWhere takes codes from one of two quantised values.
type QLinearWhere struct{}

// The inputs of QLinearWhere.
const (
	QLinearWhereX      = 1
	QLinearWhereY      = 4
	QLinearWhereZScale = 7
)

func newQLinearWhere(*Node) (Op, error) { return &QLinearWhere{}, nil }

// Infer broadcasts.
func (o *QLinearWhere) Infer(c *Infer) error {
	if err := c.checkCodes(QLinearWhereX, QLinearWhereY); err != nil {
		return err
	}
	cond, x, y := c.In[0], c.In[QLinearWhereX], c.In[QLinearWhereY]
	if cond.DType != tensor.Bool || x.DType != y.DType {
		return graph.Errorf(graph.ErrShape, "the condition is %v and the values are %v and %v; they must be bool and codes of one type", cond.Type, x.Type, y.Type)
	}
	if err := c.checkPerTensor(x.DType, QLinearWhereZScale, QLinearWhereZScale+1); err != nil {
		return err
	}
	dims, err := broadcastAll(cond.Dims, x.Dims, y.Dims)
	if err == nil {
		c.Set(0, x.DType, dims)
	}
	return err
}

var quantTableRows = []Row{
	{Domain: microsoft, Name: "QLinearSigmoid", Since: []int{1}, In: [2]int{4, 5}, Optional: these(2), Out: [2]int{1, 1}, Types: byteTypes, InPlace: []int{0}, New: newQLinearSigmoid},
	{Domain: microsoft, Name: "QLinearLeakyRelu", Since: []int{1}, In: [2]int{4, 5}, Optional: these(2), Out: [2]int{1, 1}, Types: byteTypes, InPlace: []int{0}, New: newQLinearLeakyRelu},
	{Domain: microsoft, Name: "QLinearConcat", Since: []int{1}, In: [2]int{5, Any}, Optional: func(i int) bool { return i > 1 && i%3 == 1 }, Out: [2]int{1, 1}, Types: byteTypes, Typed: 2, New: newQLinearConcat},
	{Domain: microsoft, Name: "QLinearWhere", Since: []int{1}, In: [2]int{9, 9}, Out: [2]int{1, 1}, Types: byteTypes, Typed: QLinearWhereX, New: newQLinearWhere},
}
