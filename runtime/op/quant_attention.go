package op

import (
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// qAttention is mergedAttention whose input and weights are quantised: with a
// scale and a zero point for all of the input, and for all of the weights or each
// of their columns.
type qAttention struct {
	mergedAttention
	product byteMultiplier
}

// The inputs of qAttention.
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
	inner, err := newMergedAttention(n)
	if err != nil {
		return nil, err
	}
	return &qAttention{mergedAttention: *inner.(*mergedAttention)}, nil
}

// asMerged returns a list with an element for each input in the order of
// mergedAttention.
func asMerged[T any](list []T) []T {
	out := make([]T, mergedPast+1)
	for to, from := range map[int]int{mergedInput: qAttentionInput, mergedWeights: qAttentionWeights, mergedBias: qAttentionBias,
		mergedMask: qAttentionMask, mergedPast: qAttentionPast} {
		if from < len(list) {
			out[to] = list[from]
		}
	}
	return out
}

// Infer is that of mergedAttention, with elements of the bias's type.
func (o *qAttention) Infer(c *Infer) error {
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
	inner.In = asMerged(c.In)
	for _, i := range []int{mergedInput, mergedWeights} {
		v := *inner.In[i]
		v.DType = d
		inner.In[i] = &v
	}
	return o.mergedAttention.Infer(&inner)
}

// Prepare chooses the kernels and packs the weights.
func (o *qAttention) Prepare(c *Prepare) (err error) {
	if err = o.kernels.prepare(c); err != nil {
		return err
	}
	if o.rotate, err = c.Kernel("f32_rotate"); err != nil {
		return err
	}
	if err = o.product.prepare(c); err != nil {
		return err
	}
	return o.product.packRight(c, qAttentionWeights, false)
}

// Describe names the kernels.
func (o *qAttention) Describe() string {
	return o.product.describe() + ", " + o.kernels.describe()
}

// Run computes the outputs.
func (o *qAttention) Run(c *Run) error {
	inner := *c
	inner.In = asMerged(c.In)
	qk, v, err := o.project(&inner, func(_ *Run, s *products, a, b *tensor.Tensor, col, dst []float32) error {
		return o.multiply(c, s, a, b, col, dst)
	})
	if err != nil {
		return err
	}
	return o.attend(&inner, qk, v, c.In[qAttentionBias].DType())
}

// multiply is the product of the input and the weights, plus a vector.
func (o *qAttention) multiply(c *Run, s *products, a, b *tensor.Tensor, col, dst []float32) error {
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
