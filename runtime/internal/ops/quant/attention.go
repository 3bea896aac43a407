package quant

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// QAttention is ProjectedAttention on quantised operands. The input has one scale and one zero
// point. The weights have one of each for the tensor or for each column.
type QAttention struct {
	attention.ProjectedAttention
}

// The inputs of QAttention.
const (
	QAttentionInput = iota
	QAttentionWeights
	QAttentionBias
	QAttentionScale
	QAttentionWeightScale
	QAttentionMask
	QAttentionZero
	QAttentionWeightZero
	QAttentionPast
)

func newQAttention(n *op.Node) (op.Op, error) {
	if n.Bool("past_present_share_buffer", false) {
		return nil, graph.Errorf(graph.ErrUnsupported,
			"past_present_share_buffer is set; the operator has no input for how much of the buffer is filled")
	}
	inner, err := attention.NewProjectedAttention(n)
	if err != nil {
		return nil, err
	}
	return &QAttention{ProjectedAttention: *inner.(*attention.ProjectedAttention)}, nil
}

// AsProjected reorders list, which has an element per input, to the input order of
// ProjectedAttention.
func AsProjected[T any](list []T) []T {
	out := make([]T, attention.ProjectedPast+1)
	for to, from := range map[int]int{attention.ProjectedInput: QAttentionInput,
		attention.ProjectedWeights: QAttentionWeights, attention.ProjectedBias: QAttentionBias,
		attention.ProjectedMask: QAttentionMask, attention.ProjectedPast: QAttentionPast} {
		if from < len(list) {
			out[to] = list[from]
		}
	}
	return out
}

// Infer applies the rule of ProjectedAttention. The outputs have the bias's element type.
func (o *QAttention) Infer(c *op.Infer) error {
	if err := checkBytes(c, QAttentionInput, QAttentionWeights); err != nil {
		return err
	}
	for _, i := range []int{QAttentionScale, QAttentionWeightScale} {
		if err := checkScale(c, i); err != nil {
			return err
		}
	}
	for i := range 2 {
		if err := checkZero(c, QAttentionZero+i, c.In[i].DType); err != nil {
			return err
		}
	}
	if err := checkOne(c, QAttentionScale, QAttentionZero); err != nil {
		return err
	}
	for _, i := range []int{QAttentionWeightScale, QAttentionWeightZero} {
		if err := checkColumns(c, QAttentionWeights, i); err != nil {
			return err
		}
	}
	d := c.In[QAttentionBias].DType
	if !kit.ComputedInF32.Has(d) {
		return graph.Errorf(graph.ErrUnsupported, "the bias is %v; float32, float16 and bfloat16 are computed",
			c.In[QAttentionBias].Type)
	}
	inner := *c
	inner.In = AsProjected(c.In)
	for _, i := range []int{attention.ProjectedInput, attention.ProjectedWeights} {
		v := *inner.In[i]
		v.DType = d
		inner.In[i] = &v
	}
	return o.ProjectedAttention.Infer(&inner)
}

var attentionRows = []op.Row{
	{Domain: kit.Microsoft, Name: "QAttention", Since: []int{1}, In: [2]int{5, 9}, Out: [2]int{1, 2}, Types: byteTypes, New: newQAttention},
}
