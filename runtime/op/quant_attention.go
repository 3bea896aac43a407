package op

import (
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// QAttention is ProjectedAttention whose input and weights are quantised: with a
// scale and a zero point for all of the input, and for all of the weights or each
// of their columns.
type QAttention struct {
	ProjectedAttention
	product byteMultiplier
}

// The inputs of QAttention.
const (
	qAttentionInput = iota
	qAttentionWeights
	qAttentionBias
	qAttentionScale
	qAttentionWeightScale
	qAttentionMask
	qAttentionZero
	qAttentionWeightZero
	qAttentionPast
)

func newQAttention(n *Node) (Op, error) {
	if n.Bool("past_present_share_buffer", false) {
		return nil, graph.Mark(graph.ErrUnsupported, "past_present_share_buffer is set; the operator has no input for how much of the buffer is filled")
	}
	inner, err := newProjectedAttention(n)
	if err != nil {
		return nil, err
	}
	return &QAttention{ProjectedAttention: *inner.(*ProjectedAttention)}, nil
}

// AsProjected returns a list with an element for each input in the order of
// ProjectedAttention.
func AsProjected[T any](list []T) []T {
	out := make([]T, ProjectedPast+1)
	for to, from := range map[int]int{ProjectedInput: qAttentionInput, ProjectedWeights: qAttentionWeights, ProjectedBias: qAttentionBias,
		ProjectedMask: qAttentionMask, ProjectedPast: qAttentionPast} {
		if from < len(list) {
			out[to] = list[from]
		}
	}
	return out
}

// Infer is that of ProjectedAttention, with elements of the bias's type.
func (o *QAttention) Infer(c *Infer) error {
	if err := c.checkBytes(qAttentionInput, qAttentionWeights); err != nil {
		return err
	}
	for _, i := range []int{qAttentionScale, qAttentionWeightScale} {
		if err := c.checkScale(i); err != nil {
			return err
		}
	}
	for i := range 2 {
		if err := c.checkZero(qAttentionZero+i, c.In[i].DType); err != nil {
			return err
		}
	}
	if err := c.checkOne(qAttentionScale, qAttentionZero); err != nil {
		return err
	}
	d := c.In[qAttentionBias].DType
	if !isNarrow(d) {
		return graph.Mark(graph.ErrUnsupported, "the bias is %v; float32, float16 and bfloat16 are computed", c.In[qAttentionBias].Type)
	}
	inner := *c
	inner.In = AsProjected(c.In)
	for _, i := range []int{ProjectedInput, ProjectedWeights} {
		v := *inner.In[i]
		v.DType = d
		inner.In[i] = &v
	}
	return o.ProjectedAttention.Infer(&inner)
}

// Prepare chooses the kernel and packs the weights.
func (o *QAttention) Prepare(c *Prepare) error {
	if err := o.product.prepare(c); err != nil {
		return err
	}
	return o.product.packRight(c, qAttentionWeights, false)
}

// Describe names the kernel of the projection.
func (o *QAttention) Describe() string { return o.product.describe() }

// Project makes queries, keys and values, side by side: [batch,tokens,columns].
func (o *QAttention) Project(c *Run, dst []float32) error {
	x, w := c.In[qAttentionInput], c.In[qAttentionWeights]
	bias, err := c.floats(c.In[qAttentionBias])
	if err != nil || len(dst) == 0 {
		return err
	}
	m, k, cols := x.Shape()[:2].Len(), x.Shape()[2], w.Shape()[1]
	return o.multiply(c, &products{m: m, n: cols, k: k, aRow: k, aCol: 1, bRow: cols, bCol: 1}, x, w, bias, dst)
}

// multiply is the product of the input and the weights, plus a vector.
func (o *QAttention) multiply(c *Run, s *products, a, b *tensor.Tensor, col, dst []float32) error {
	rows, cols, err := lanesOf(s, tensor.Shape{s.m, s.k}, b.Shape())
	if err != nil {
		return err
	}
	m := &byteMatrices{*s, rows, cols}
	az, bz := given(c, qAttentionZero), given(c, qAttentionWeightZero)
	as, bs := c.In[qAttentionScale], c.In[qAttentionWeightScale]
	if err := m.admit(as, bs, az, bz); err != nil {
		return err
	}
	j := byteJob{as: bindings.QuantF32}
	if err := j.zeros(c, rows, cols, az, bz); err != nil {
		return err
	}
	if err := j.scales(c, rows, cols, as, bs, 1, 1); err != nil {
		return err
	}
	j.vectors.Add = col
	return o.product.run(c, s, &j, a, b, unsafe.Pointer(unsafe.SliceData(dst)))
}

var quantAttentionRows = []Row{
	{Domain: microsoft, Name: "QAttention", Since: []int{1}, In: [2]int{5, 9}, Out: [2]int{1, 2}, Types: byteTypes, New: newQAttention},
}
