package attention

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// FlexAttention is attention that applies graphs in the node to its scores and weights. It computes
// in float32, or in float64 if the node asks for it or the operands are float64.
type FlexAttention struct {
	scale       *float32
	score, prob bool // whether the node has the graph
	double      bool
}

func newFlexAttention(n *op.Node) (op.Op, error) {
	n.Ignore("score_mod", "prob_mod")
	o := &FlexAttention{scale: optionalFloat(n, "scale"), score: n.Has("score_mod"), prob: n.Has("prob_mod")}
	switch p := n.Int("softmax_precision", 1); p {
	case 1, 10, 16:
	case 11:
		o.double = true
	default:
		return nil, graph.Errorf(graph.ErrUnsupported,
			"softmax_precision is %d; it takes 1 (float32), 10 (float16), 11 (float64), 16 (bfloat16)", p)
	}
	return o, nil
}

// precision returns the element type of scores.
func (o *FlexAttention) precision(d tensor.DType) tensor.DType {
	if o.double || d == tensor.F64 {
		return tensor.F64
	}
	return tensor.F32
}

// InFloat64 reports whether the scores of operands of type d are computed in float64.
func (o *FlexAttention) InFloat64(d tensor.DType) bool { return o.precision(d) == tensor.F64 }

// Infer sets the types and extents of the output, and infers the graphs.
func (o *FlexAttention) Infer(c *op.Infer) error {
	for i, v := range c.In {
		if v.DType != c.In[0].DType || v.Dims != nil && len(v.Dims) != 4 {
			return graph.Errorf(graph.ErrShape, "input %d, %v, is not %v[batch,heads,sequence,size]", i, v.Type, c.In[0].DType)
		}
	}
	q, k, v := c.In[0].Dims, c.In[1].Dims, c.In[2].Dims
	if q != nil && k != nil && v != nil {
		if err := checkAttention(WholeHeads(q), WholeHeads(k), WholeHeads(v)); err != nil {
			return err
		}
	}
	out, scores := graph.UnknownDims(4), graph.UnknownDims(4)
	if q != nil {
		copy(out, q[:3])
		copy(scores, q[:3])
	}
	if v != nil {
		out[3] = v[3]
	}
	if k != nil {
		scores[3] = k[2]
	}
	in := []*op.Value{{Type: graph.TensorOf(o.precision(c.In[0].DType), scores)}}
	for name, there := range map[string]bool{"score_mod": o.score, "prob_mod": o.prob} {
		if !there || c.Body == nil {
			continue
		}
		if _, err := c.Body(name, in); err != nil {
			return err
		}
	}
	c.Set(0, c.In[0].DType, out)
	return nil
}

// BodyTypes returns the types that the graphs take.
func (o *FlexAttention) BodyTypes(_ string, in []*op.Value) ([]graph.Type, bool) {
	return []graph.Type{graph.TensorOf(o.precision(in[0].DType), graph.UnknownDims(4))}, true
}

// FlexKernels are the kernels of a device for FlexAttention, on tensors of float32 or float64 of
// shape [batch,heads,rows,columns].
type FlexKernels interface {
	// Scores sets y to scale·a·b', and Product to a·b. If a has more heads than b, adjacent heads
	// of a share a head of b.
	Scores(a, b *tensor.Tensor, scale float32, y *tensor.Tensor) error
	Product(a, b, y *tensor.Tensor) error
	// Softmax sets y to the softmax of each row of x, of float32. Rows are not empty.
	Softmax(x, y *tensor.Tensor) error
}

// Compute computes the output.
func (o *FlexAttention) Compute(c *op.Run, kernels FlexKernels) error {
	t, err := o.operands(c)
	if err != nil {
		return err
	}
	q, k, v := t[0].Shape(), t[1].Shape(), t[2].Shape()
	out, err := c.Output(0, c.In[0].DType(), tensor.Shape{q[0], q[1], q[2], v[3]})
	if err != nil || out.Len() == 0 {
		return err
	}
	scores, err := c.ScratchTensor(t[0].DType(), tensor.Shape{q[0], q[1], q[2], k[2]})
	if err != nil {
		return err
	}
	if err := kernels.Scores(t[0], t[1], o.ScaleFor(q[3]), scores); err != nil {
		return err
	}
	weights, err := o.weigh(c, kernels, scores)
	if err != nil {
		return err
	}
	y, err := c.ScratchTensor(t[0].DType(), out.Shape())
	if err != nil {
		return err
	}
	if err := kernels.Product(weights, t[2], y); err != nil {
		return err
	}
	kit.PutDoubles(out, kit.Doubles(y))
	return nil
}

// ScaleFor returns the scale of the scores for heads of the given size.
func (o *FlexAttention) ScaleFor(size int) float32 {
	if o.scale != nil {
		return *o.scale
	}
	return float32(1 / math.Sqrt(float64(max(size, 1))))
}

// operands returns the inputs in the precision of the scores.
func (o *FlexAttention) operands(c *op.Run) (list [3]*tensor.Tensor, err error) {
	d := o.precision(c.In[0].DType())
	for i := range list {
		list[i] = c.In[i]
		if d == c.In[i].DType() {
			continue
		}
		if list[i], err = c.ScratchTensor(d, c.In[i].Shape()); err != nil {
			return list, err
		}
		kit.PutDoubles(list[i], kit.Doubles(c.In[i]))
	}
	return list, nil
}

// weigh applies the graph of scores, the softmax and the graph of weights.
func (o *FlexAttention) weigh(c *op.Run, kernels FlexKernels, scores *tensor.Tensor) (*tensor.Tensor, error) {
	scores, err := o.modify(c, "score_mod", o.score, scores)
	if err != nil {
		return nil, err
	}
	weights, err := c.ScratchTensor(scores.DType(), scores.Shape())
	if err != nil {
		return nil, err
	}
	switch n := kit.FromEnd(scores.Shape(), 1); {
	case n == 0 || scores.Len() == 0:
	case scores.DType() == tensor.F64:
		rows := kit.AxisView{Outer: scores.Len() / n, N: n, Inner: 1}
		nn.SoftmaxDoubles(c.Pace(), tensor.View[float64](scores), rows, false, tensor.View[float64](weights))
	default:
		if err := kernels.Softmax(scores, weights); err != nil {
			return nil, err
		}
	}
	return o.modify(c, "prob_mod", o.prob, weights)
}

// modify applies one of the graphs to t, if the node has it.
func (o *FlexAttention) modify(c *op.Run, name string, there bool, t *tensor.Tensor) (*tensor.Tensor, error) {
	if !there {
		return t, nil
	}
	out, err := c.Body(name, []tensor.Value{t})
	if err != nil {
		return nil, err
	}
	if len(out) != 1 {
		return nil, graph.Errorf(graph.ErrFormat, "%s gives %d values, not one", name, len(out))
	}
	y, ok := out[0].(*tensor.Tensor)
	if !ok || y.DType() != t.DType() || !y.Shape().Equal(t.Shape()) {
		return nil, graph.Errorf(graph.ErrShape, "%s gives %v for %v", name, out[0], t)
	}
	return y.Aligned(), nil
}

var flexAttentionRows = []op.Row{
	{Domain: "ai.onnx.preview", Name: "FlexAttention", Since: []int{1}, In: [2]int{3, 3}, Out: [2]int{1, 1}, Types: op.Floats, New: newFlexAttention},
}
