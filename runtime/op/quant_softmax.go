package op

import "github.com/nacre-ml/nacre/runtime/graph"

// QLinearSoftmax is softmax of a quantised value, quantised. Which axes are normalised
// follows the version of Softmax that an attribute names.
type QLinearSoftmax struct{ axes Softmax }

func newQLinearSoftmax(n *Node) (Op, error) {
	if !n.Has("opset") {
		return nil, graph.Errorf(graph.ErrFormat, "attribute opset is missing; it says how axis is meant")
	}
	return &QLinearSoftmax{axes: Softmax{Axis: n.Int("axis", -1), Flat: n.Int("opset", 0) < 13}}, nil
}

// Infer keeps type and shape.
func (o *QLinearSoftmax) Infer(c *Infer) error {
	if err := c.checkCodes(0); err != nil {
		return err
	}
	if err := c.checkPerTensor(c.In[0].DType, 3, 4); err != nil {
		return err
	}
	return o.axes.Infer(c)
}

// Split returns a value of those extents as [outer, n, inner] with n to be normalised.
func (o *QLinearSoftmax) Split(dims graph.Dims) (outer, n, inner graph.Dim, err error) {
	return o.axes.Split(dims)
}

var quantSoftmaxRows = []Row{
	{Domain: microsoft, Name: "QLinearSoftmax", Since: []int{1}, In: [2]int{4, 5}, Optional: these(2), Out: [2]int{1, 1}, Types: byteTypes, InPlace: []int{0}, New: newQLinearSoftmax},
}
