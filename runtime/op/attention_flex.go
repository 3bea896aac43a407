package op

import (
	"math"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// FlexAttention is attention whose scores and weights go through graphs that
// the node holds, in float32 or, if asked for or by doubles, float64.
type FlexAttention struct {
	scale       *float32
	score, prob bool // which graphs there are
	double      bool
	product     [2]bindings.Kernel // of float32 and float64
	softmax     bindings.Kernel
}

func newFlexAttention(n *Node) (Op, error) {
	n.Ignore("score_mod", "prob_mod")
	o := &FlexAttention{scale: optionalFloat(n, "scale"), score: n.Has("score_mod"), prob: n.Has("prob_mod")}
	switch p := n.Int("softmax_precision", 1); p {
	case 1, 10, 16:
	case 11:
		o.double = true
	default:
		return nil, graph.Mark(graph.ErrUnsupported, "softmax_precision is %d; it takes 1 (float32), 10 (float16), 11 (float64), 16 (bfloat16)", p)
	}
	return o, nil
}

// precision is the element type of scores.
func (o *FlexAttention) precision(d tensor.DType) tensor.DType {
	if o.double || d == tensor.F64 {
		return tensor.F64
	}
	return tensor.F32
}

// Infer sets what follows from the operands.
func (o *FlexAttention) Infer(c *Infer) error {
	for i, v := range c.In {
		if v.DType != c.In[0].DType || v.Dims != nil && len(v.Dims) != 4 {
			return graph.Mark(graph.ErrShape, "input %d, %v, is not %v[batch,heads,sequence,size]", i, v.Type, c.In[0].DType)
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
	in := []*Value{{Type: graph.TensorOf(o.precision(c.In[0].DType), scores)}}
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

// BodyTypes says what the graphs take.
func (o *FlexAttention) BodyTypes(_ string, in []*Value) ([]graph.Type, bool) {
	return []graph.Type{graph.TensorOf(o.precision(in[0].DType), graph.UnknownDims(4))}, true
}

// Prepare chooses the kernels.
func (o *FlexAttention) Prepare(c *Prepare) (err error) {
	for i, name := range []string{"f32_gemm", "f64_gemm"} {
		if o.product[i], err = c.Kernel(name); err != nil {
			return err
		}
	}
	o.softmax, err = c.Kernel("f32_softmax")
	return err
}

// Describe names the kernels.
func (o *FlexAttention) Describe() string { return describe(o.product[0], o.softmax) }

// Run computes the output.
func (o *FlexAttention) Run(c *Run) error {
	t, err := o.operands(c)
	if err != nil {
		return err
	}
	q, k, v := t[0].Shape(), t[1].Shape(), t[2].Shape()
	out, err := c.output(0, c.In[0].DType(), tensor.Shape{q[0], q[1], q[2], v[3]})
	if err != nil || out.Len() == 0 {
		return err
	}
	group := q[1] / k[1]
	batch := []int{q[0], k[1], group}
	s := products{m: q[2], n: k[2], k: q[3], aRow: q[3], aCol: 1, bRow: 1, bCol: q[3]}
	s.batch = append(append(s.batch, batch...), headSteps(q, group)...)
	s.batch = append(append(s.batch, headSteps(k, 1)[:2]...), 0)
	scale := float32(1 / math.Sqrt(float64(max(q[3], 1))))
	if o.scale != nil {
		scale = *o.scale
	}
	scores, err := o.multiply(c, &s, t[0], t[1], tensor.Shape{q[0], q[1], q[2], k[2]}, scale)
	if err != nil {
		return err
	}
	weights, err := o.weigh(c, scores)
	if err != nil {
		return err
	}
	s = products{m: q[2], n: v[3], k: k[2], aRow: k[2], aCol: 1, bRow: v[3], bCol: 1}
	s.batch = append(append(s.batch, batch...), headSteps(weights.Shape(), group)...)
	s.batch = append(append(s.batch, headSteps(v, 1)[:2]...), 0)
	y, err := o.multiply(c, &s, weights, t[2], out.Shape(), 1)
	if err == nil {
		putDoubles(out, doubles(y))
	}
	return err
}

// headSteps is the elements from one batch, one group of heads, and one head to the next
// of [batch,heads,rows,size].
func headSteps(s tensor.Shape, group int) []int {
	head := s[2] * s[3]
	return []int{s[1] * head, group * head, head}
}

// operands are the inputs in the precision of the scores.
func (o *FlexAttention) operands(c *Run) (list [3]*tensor.Tensor, err error) {
	d := o.precision(c.In[0].DType())
	for i := range list {
		list[i] = c.In[i]
		if d == c.In[i].DType() {
			continue
		}
		if list[i], err = c.scratchTensor(d, c.In[i].Shape()); err != nil {
			return list, err
		}
		putDoubles(list[i], doubles(c.In[i]))
	}
	return list, nil
}

// scratchTensor is a tensor for use until Run returns.
func (c *Run) scratchTensor(d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	if err := shape.Check(); err != nil {
		return nil, err
	}
	b, err := c.Mem.Scratch(d.Bytes(shape.Len()))
	if err != nil {
		return nil, err
	}
	return tensor.FromBytes(d, shape, b)
}

func (o *FlexAttention) multiply(c *Run, s *products, x, y *tensor.Tensor, shape tensor.Shape, alpha float32) (*tensor.Tensor, error) {
	out, err := c.scratchTensor(x.DType(), shape)
	if err != nil {
		return nil, err
	}
	p := multiplier{dtype: x.DType(), kernel: o.product[btoi(x.DType() == tensor.F64)]}
	if err := p.run(c, s, x, y, out, addend{alpha: 1}); err != nil {
		return nil, err
	}
	if alpha != 1 {
		switch x.DType() {
		case tensor.F64:
			list := tensor.View[float64](out)
			for i := range list {
				list[i] *= float64(alpha)
			}
		default:
			list := tensor.View[float32](out)
			scaleFloats(list, list, alpha)
		}
	}
	return out, nil
}

// weigh takes scores through the graphs and the softmax between them.
func (o *FlexAttention) weigh(c *Run, scores *tensor.Tensor) (*tensor.Tensor, error) {
	scores, err := o.modify(c, "score_mod", o.score, scores)
	if err != nil {
		return nil, err
	}
	weights, err := c.scratchTensor(scores.DType(), scores.Shape())
	if err != nil {
		return nil, err
	}
	n := fromEnd(scores.Shape(), 1)
	if rows := scores.Shape()[:3].Len(); n > 0 && rows > 0 {
		if scores.DType() == tensor.F64 {
			softmaxDoubles(tensor.View[float64](scores), reduceStep{rows, n, 1}, false, tensor.View[float64](weights))
		} else {
			bindings.SoftmaxF32(o.softmax, c.Pool, tensor.View[float32](scores), rows, n, 1, false, tensor.View[float32](weights))
		}
	}
	return o.modify(c, "prob_mod", o.prob, weights)
}

// modify runs one of the graphs, if it is there.
func (o *FlexAttention) modify(c *Run, name string, there bool, t *tensor.Tensor) (*tensor.Tensor, error) {
	if !there {
		return t, nil
	}
	out, err := c.Body(name, []tensor.Value{t})
	if err != nil {
		return nil, err
	}
	if len(out) != 1 {
		return nil, graph.Mark(graph.ErrFormat, "%s gives %d values, not one", name, len(out))
	}
	y, ok := out[0].(*tensor.Tensor)
	if !ok || y.DType() != t.DType() || !y.Shape().Equal(t.Shape()) {
		return nil, graph.Mark(graph.ErrShape, "%s gives %v for %v", name, out[0], t)
	}
	return y.Aligned(), nil
}

var flexAttentionRows = []Row{
	{Domain: "ai.onnx.preview", Name: "FlexAttention", Since: []int{1}, In: [2]int{3, 3}, Out: [2]int{1, 1}, Types: floats, New: newFlexAttention},
}
