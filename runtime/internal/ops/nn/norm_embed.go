package nn

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// EmbedNorm sums the embeddings of words, of places and of segments, and normalises the sum. Its
// outputs are the result, the number of unmasked words of each batch, and the sum.
type EmbedNorm struct{ Epsilon float32 }

// The inputs of EmbedNorm.
const (
	EmbedWords = iota
	EmbedSegments
	EmbedWordTable
	EmbedPlaceTable
	EmbedSegmentTable
	EmbedScale
	EmbedBias
	EmbedMask
	EmbedPlaces
)

func newEmbedNorm(n *op.Node) (op.Op, error) {
	n.Ignore("mask_index_type")
	if n.HasIn(EmbedSegments) != n.HasIn(EmbedSegmentTable) {
		return nil, graph.Errorf(graph.ErrFormat, "segments and their embeddings come together or not at all")
	}
	return &EmbedNorm{Epsilon: n.Float("epsilon", 1e-12)}, nil
}

// Infer sets [batch,tokens,hidden].
func (o *EmbedNorm) Infer(c *op.Infer) error {
	table := c.In[EmbedWordTable]
	out, batch := graph.UnknownDims(3), graph.UnknownDims(1)
	if d := c.In[EmbedWords].Dims; d != nil {
		if len(d) != 2 {
			return graph.Errorf(graph.ErrShape, "words are %v, not [batch,tokens]", c.In[EmbedWords].Type)
		}
		copy(out, d)
		batch[0] = d[0]
	}
	if d := table.Dims; d != nil {
		if len(d) != 2 {
			return graph.Errorf(graph.ErrShape, "embeddings of words are %v, not [words,hidden]", table.Type)
		}
		out[2] = d[1]
	}
	for _, i := range []int{EmbedPlaceTable, EmbedSegmentTable, EmbedScale, EmbedBias} {
		if c.Has(i) && c.In[i].DType != table.DType {
			return graph.Errorf(graph.ErrShape, "input %d has element type %v, the embeddings of words %v", i, c.In[i].DType,
				table.DType)
		}
	}
	if err := o.check(c, out); err != nil {
		return err
	}
	c.Set(0, table.DType, out)
	c.Set(1, tensor.I32, batch)
	c.Set(2, table.DType, out)
	return nil
}

// check returns an error if an operand does not match an output of [batch,tokens,hidden]. Segments
// and places for one batch apply to all.
func (o *EmbedNorm) check(c *op.Infer, out graph.Dims) error {
	hidden := out[2:]
	if hidden[0].Is(0) {
		return graph.Errorf(graph.ErrShape, "embeddings of words are %v", c.In[EmbedWordTable].Type)
	}
	open := graph.Unknown()
	for i, want := range []graph.Dims{
		EmbedSegments: {open, out[1]}, EmbedPlaceTable: {open, out[2]}, EmbedSegmentTable: {open, out[2]}, EmbedScale: hidden,
		EmbedBias: hidden, EmbedMask: out[:2], EmbedPlaces: {open, out[1]},
	} {
		if want == nil || !c.Has(i) || c.In[i].Dims == nil {
			continue
		}
		dims := c.In[i].Dims
		ok := len(dims) == len(want)
		for k := 0; ok && k < len(want); k++ {
			_, ok = kit.JoinDim(dims[k], want[k])
		}
		if ok && (i == EmbedSegments || i == EmbedPlaces) && !dims[0].Is(1) {
			_, ok = kit.JoinDim(dims[0], out[0])
		}
		if !ok {
			return graph.Errorf(graph.ErrShape, "input %d is %v for an output of %v", i, c.In[i].Type, out)
		}
	}
	for _, i := range []int{EmbedWords, EmbedSegments, EmbedMask, EmbedPlaces} {
		if c.Has(i) && c.In[i].DType != tensor.I32 && c.In[i].DType != tensor.I64 {
			return graph.Errorf(graph.ErrUnsupported, "input %d is %v; it takes int32 or int64", i, c.In[i].Type)
		}
	}
	return nil
}

var embedNormRows = []op.Row{
	{Domain: kit.Microsoft, Name: "EmbedLayerNormalization", Since: []int{1}, In: [2]int{7, 9}, Optional: kit.Inputs(1, 4), Out: [2]int{1, 3},
		Types: op.Types{tensor.F32, tensor.F16}, Typed: EmbedWordTable, New: newEmbedNorm},
}
