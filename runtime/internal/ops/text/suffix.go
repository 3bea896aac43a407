package text

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// bifurcation is BifurcationDetector, for aggressive decoding. It appends predicted tokens to the
// current ones as far as they agree with the source. It then finds the only position in the source
// where the last tokens occur.
type bifurcation struct{ least, most int }

func newBifurcation(n *op.Node) (op.Op, error) {
	o := &bifurcation{n.Int("min_ngram_size", 1), n.Int("max_ngram_size", 3)}
	if o.least < 1 || o.most < o.least {
		return nil, graph.Errorf(graph.ErrFormat, "groups of %d to %d tokens cannot be", o.least, o.most)
	}
	return o, nil
}

// Infer sets vectors. The length of the first depends on the tokens.
func (o *bifurcation) Infer(c *op.Infer) error {
	for i, v := range c.In {
		if v != nil && v.DType != tensor.I64 {
			return graph.Errorf(graph.ErrUnsupported, "input %d is %v; it takes int64", i, v.Type)
		}
	}
	tokens := graph.Dims{graph.Unknown()}
	if !c.Has(3) {
		tokens = c.In[1].Dims
	}
	c.Set(0, tensor.I64, tokens)
	c.Set(1, tensor.I64, graph.Dims{graph.Known(1)})
	return nil
}

// Run compares tokens.
func (o *bifurcation) Run(c *op.Run) error {
	source, current := tensor.View[int64](c.In[0]), tensor.View[int64](c.In[1])
	var agreed []int64
	if c.Has(3) {
		from, err := op.ScalarInt(c.In[2], "prev_suffix_match_idx")
		if err != nil {
			return err
		}
		predicted := tensor.View[int64](c.In[3])
		if from < 0 || from > len(source) || len(predicted) != len(source)+1-from {
			return graph.Errorf(graph.ErrShape, "%d predicted tokens do not follow token %d of %d", len(predicted), from,
				len(source))
		}
		n := 0
		for n < len(source)-from && source[from+n] == predicted[n] {
			n++
		}
		agreed = predicted[:n+1]
	}
	out, err := c.Output(0, tensor.I64, tensor.Shape{len(current) + len(agreed)})
	if err != nil {
		return err
	}
	tokens := tensor.View[int64](out)
	copy(tokens[copy(tokens, current):], agreed)
	if c.Wants(1) {
		index, err := c.Output(1, tensor.I64, tensor.Shape{1})
		if err != nil {
			return err
		}
		tensor.View[int64](index)[0] = o.match(source, tokens)
	}
	return nil
}

// match returns the position after the only occurrence of the last tokens in the source. It returns
// -1 if there is none or several.
func (o *bifurcation) match(source, tokens []int64) int64 {
	for n := o.least; n <= o.most && n <= len(tokens); n++ {
		last := tokens[len(tokens)-n:]
		found, at := 0, 0
		for i := n; i <= len(source) && found < 2; i++ {
			if source[i-1] == last[n-1] && slices.Equal(source[i-n:i], last) {
				found, at = found+1, i
			}
		}
		switch found {
		case 0:
			return -1
		case 1:
			return int64(at)
		}
	}
	return -1
}

var suffixRows = []op.Row{
	{Domain: kit.Microsoft, Name: "BifurcationDetector", Since: []int{1}, In: [2]int{3, 4}, Out: [2]int{2, 2},
		Types: op.Types{tensor.I64}, DynamicOutputs: true, New: newBifurcation},
}
