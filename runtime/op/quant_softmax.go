package op

import (
	"math"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// quantSoftmax is softmax of a quantised value, quantised. Which axes are normalised
// follows the version of Softmax that an attribute names.
type quantSoftmax struct {
	Softmax
	kernel bindings.Kernel
	fixed  *bindings.QuantSoftmax // of constant scales and zero points; else nil
}

func newQLinearSoftmax(n *Node) (Op, error) {
	if !n.Has("opset") {
		return nil, graph.Mark(graph.ErrFormat, "attribute opset is missing; it says how axis is meant")
	}
	return &quantSoftmax{Softmax: Softmax{Axis: n.Int("axis", -1), Flat: n.Int("opset", 0) < 13}}, nil
}

// Infer keeps type and shape.
func (o *quantSoftmax) Infer(c *Infer) error {
	if err := c.checkCodes(0); err != nil {
		return err
	}
	if err := c.checkPerTensor(c.In[0].DType, 3, 4); err != nil {
		return err
	}
	return o.Softmax.Infer(c)
}

// Prepare chooses the kernel, and makes the weights for constant scales.
func (o *quantSoftmax) Prepare(c *Prepare) (err error) {
	x, okX := c.perTensor(1, 2)
	y, okY := c.perTensor(3, 4)
	if okX && okY {
		o.fixed = softmaxWeights(x, y)
	}
	o.kernel, err = c.Kernel("i8_lookup")
	return err
}

// softmaxWeights is for codes of any type. ONNX Runtime rounds down how many steps
// of the result there are to 1, and so it is here.
func softmaxWeights(x, y perTensor) *bindings.QuantSoftmax {
	s := &bindings.QuantSoftmax{Ratio: float32(math.Floor(float64(1 / y.scale))), Zero: y.zero}
	for d := range s.Weights {
		s.Weights[d] = float32(math.Exp(-float64(d) * float64(x.scale)))
	}
	return s
}

// Describe names the kernel.
func (o *quantSoftmax) Describe() string { return describe(o.kernel) }

// Run computes the codes, which may lie over the input.
func (o *quantSoftmax) Run(c *Run) error {
	x := c.In[0]
	s, err := stepOf(o.Split(graph.DimsOf(x.Shape())))
	if err != nil || x.Len() == 0 {
		return err
	}
	weights := o.fixed
	if weights == nil {
		from, err := c.perTensor(1, 2)
		if err != nil {
			return err
		}
		to, err := c.perTensor(3, 4)
		if err != nil {
			return err
		}
		weights = softmaxWeights(from, to)
	}
	low, _ := codeRange(x.DType())
	weights.Run(o.kernel, c.Pool, low < 0, s.outer, s.n, s.inner, x.Pointer(), c.Out[0].Pointer())
	return nil
}

var quantSoftmaxRows = []Row{
	{Domain: microsoft, Name: "QLinearSoftmax", Since: []int{1}, In: [2]int{2, 5}, Out: [2]int{1, 1}, Types: byteTypes, InPlace: []int{0}, New: newQLinearSoftmax},
}
