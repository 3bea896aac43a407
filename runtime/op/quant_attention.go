package op

import "github.com/nacre-ml/nacre/runtime/graph"

// QAttention is ProjectedAttention whose input and weights are quantised: with a
// scale and a zero point for all of the input, and for all of the weights or each
// of their columns.
type QAttention struct {
	ProjectedAttention
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

func newQAttention(n *Node) (Op, error) {
	if n.Bool("past_present_share_buffer", false) {
		return nil, graph.Errorf(graph.ErrUnsupported, "past_present_share_buffer is set; the operator has no input for how much of the buffer is filled")
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
	for to, from := range map[int]int{ProjectedInput: QAttentionInput, ProjectedWeights: QAttentionWeights, ProjectedBias: QAttentionBias,
		ProjectedMask: QAttentionMask, ProjectedPast: QAttentionPast} {
		if from < len(list) {
			out[to] = list[from]
		}
	}
	return out
}

// Infer is that of ProjectedAttention, with elements of the bias's type.
func (o *QAttention) Infer(c *Infer) error {
	if err := c.checkBytes(QAttentionInput, QAttentionWeights); err != nil {
		return err
	}
	for _, i := range []int{QAttentionScale, QAttentionWeightScale} {
		if err := c.checkScale(i); err != nil {
			return err
		}
	}
	for i := range 2 {
		if err := c.checkZero(QAttentionZero+i, c.In[i].DType); err != nil {
			return err
		}
	}
	if err := c.checkOne(QAttentionScale, QAttentionZero); err != nil {
		return err
	}
	for _, i := range []int{QAttentionWeightScale, QAttentionWeightZero} {
		if err := c.checkColumns(QAttentionWeights, i); err != nil {
			return err
		}
	}
	d := c.In[QAttentionBias].DType
	if !computesInF32(d) {
		return graph.Errorf(graph.ErrUnsupported, "the bias is %v; float32, float16 and bfloat16 are computed", c.In[QAttentionBias].Type)
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

var quantAttentionRows = []Row{
	{Domain: microsoft, Name: "QAttention", Since: []int{1}, In: [2]int{5, 9}, Out: [2]int{1, 2}, Types: byteTypes, New: newQAttention},
}
