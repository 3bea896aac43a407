package text

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// repeatBlock keeps a generator from repeating itself. In scores [batch,vocabulary] it sets to -inf
// each token that would complete a run of n tokens already present in its row of tokens
// [batch,length].
type repeatBlock struct{ n int }

func newRepeatBlock(n *op.Node) (op.Op, error) {
	o := &repeatBlock{n.Int("ngram_size", 0)}
	if o.n < 1 {
		return nil, graph.Errorf(graph.ErrFormat, "ngram_size is %d, not 1 or more", o.n)
	}
	return o, nil
}

// Infer keeps the extents of the scores.
func (o *repeatBlock) Infer(c *op.Infer) error {
	tokens, scores := c.In[0], c.In[1]
	c.Set(0, scores.DType, scores.Dims)
	if scores.DType != tensor.F32 {
		return graph.Errorf(graph.ErrUnsupported, "scores are %v, not float32", scores.Type)
	}
	for i, v := range c.In {
		if rank, ok := v.Rank(); ok && rank != 2 {
			return graph.Errorf(graph.ErrShape, "input %d is %v, not [batch,...]", i, v.Type)
		}
	}
	if tokens.Dims != nil && scores.Dims != nil {
		if _, ok := kit.JoinDim(tokens.Dims[0], scores.Dims[0]); !ok {
			return graph.Errorf(graph.ErrShape, "tokens are %v and scores %v", tokens.Type, scores.Type)
		}
	}
	return nil
}

// Run computes the output, which may share the memory of the scores.
func (o *repeatBlock) Run(c *op.Run) error {
	out, words := tensor.View[float32](c.Out[0]), c.Out[0].Shape()[1]
	copy(out, tensor.View[float32](c.In[1]))
	tokens, length := tensor.View[int64](c.In[0]), c.In[0].Shape()[1]
	pace := c.Pace()
	for b := range c.Out[0].Shape()[0] {
		row := tokens[b*length:][:length]
		for end := o.n - 1; end < length; end++ {
			pace.Work(8)
			first := end - (o.n - 1)
			if !slices.Equal(row[first:end], row[length-(o.n-1):]) {
				continue
			}
			if t := row[end]; t < 0 || t >= int64(words) {
				return graph.Errorf(graph.ErrShape, "token %d, of a vocabulary of %d", t, words)
			}
			out[b*words+int(row[end])] = float32(math.Inf(-1))
		}
	}
	return nil
}

var repeatRows = []op.Row{
	{Domain: kit.Microsoft, Name: "NGramRepeatBlock", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: op.Types{tensor.I64}, InPlace: []int{1}, New: newRepeatBlock},
}
