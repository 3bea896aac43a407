package text

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// bifurcation appends predicted tokens, as far as they agree with those of a source, to
// the current ones, and finds the one place of the source where the last tokens occur:
// BifurcationDetector, of aggressive decoding.
type bifurcation struct{ least, most int }

func newBifurcation(n *op.Node) (op.Op, error) {
	o := &bifurcation{n.Int("min_ngram_size", 1), n.Int("max_ngram_size", 3)}
	if o.least < 1 || o.most < o.least {
		return nil, graph.Errorf(graph.ErrFormat, "groups of %d to %d tokens cannot be", o.least, o.most)
	}
	return o, nil
}

// Infer sets vectors whose length the tokens decide.
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
	source, tokens := tensor.View[int64](c.In[0]), slices.Clone(tensor.View[int64](c.In[1]))
	if c.Has(3) {
		from, err := op.ScalarInt(c.In[2], "prev_suffix_match_idx")
		if err != nil {
			return err
		}
		predicted := tensor.View[int64](c.In[3])
		if from < 0 || from > len(source) || len(predicted) != len(source)+1-from {
			return graph.Errorf(graph.ErrShape, "%d predicted tokens do not follow token %d of %d", len(predicted), from, len(source))
		}
		n := 0
		for n < len(source)-from && source[from+n] == predicted[n] {
			n++
		}
		tokens = append(tokens, predicted[:n+1]...)
	}
	out, err := c.Output(0, tensor.I64, tensor.Shape{len(tokens)})
	if err != nil {
		return err
	}
	copy(tensor.View[int64](out), tokens)
	if c.Wants(1) {
		tensor.View[int64](c.Out[1])[0] = o.match(source, tokens)
	}
	return nil
}

// match returns where the source goes on after its only occurrence of the last tokens;
// -1 for none or several.
func (o *bifurcation) match(source, tokens []int64) int64 {
	for n := o.least; n <= o.most && n <= len(tokens); n++ {
		last := tokens[len(tokens)-n:]
		found, at := 0, 0
		for i := 0; i+n <= len(source); i++ {
			if slices.Equal(source[i:i+n], last) {
				found, at = found+1, i+n
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

// wordConv embeds words, [words,characters], by convolutions over their characters and
// the largest of the results: WordConvEmbedding. Character 0 is padding.
type wordConv struct{ characters, window, filters int }

func newWordConv(n *op.Node) (op.Op, error) {
	return &wordConv{n.Int("char_embedding_size", 0), n.Int("conv_window_size", 0), n.Int("embedding_size", 0)}, nil
}

// Infer checks the sizes.
func (o *wordConv) Infer(c *op.Infer) error {
	words, w := c.In[0].Dims, c.In[1].Dims
	if words != nil && len(words) != 2 || w != nil && len(w) != 4 || c.In[0].DType != tensor.I32 {
		return graph.Errorf(graph.ErrShape, "words %v or weights %v are not [words,characters] and [filters,1,window,size]", c.In[0].Type, c.In[1].Type)
	}
	out := graph.UnknownDims(2)
	if words != nil {
		out[0] = words[0]
	}
	if w != nil {
		out[1] = w[0]
		for _, want := range []struct{ size, axis int }{{o.filters, 0}, {o.window, 2}, {o.characters, 3}} {
			if n, ok := w[want.axis].Value(); ok && want.size > 0 && n != want.size {
				return graph.Errorf(graph.ErrShape, "weights %v do not have the sizes of the attributes", c.In[1].Type)
			}
		}
	}
	for _, v := range c.In[1:] {
		if v.DType != tensor.F32 {
			return graph.Errorf(graph.ErrUnsupported, "operand %v is not of float32", v.Type)
		}
	}
	c.Set(0, tensor.F32, out)
	return nil
}

// Run embeds word by word.
func (o *wordConv) Run(c *op.Run) error {
	words, w, table := c.In[0].Shape(), c.In[1].Shape(), c.In[3].Shape()
	filters, window, size := w[0], w[2], w[3]
	if len(table) != 2 || table[1] != size || w[1] != 1 || c.In[2].Len() != filters || window > words[1] {
		return graph.Errorf(graph.ErrShape, "words %v, weights %v, bias %v and characters %v do not go together", words, w, c.In[2].Shape(), table)
	}
	conv := charConv{tensor.View[float32](c.In[1]), tensor.View[float32](c.In[2]), tensor.View[float32](c.In[3]), filters, window, size}
	ids, out := tensor.View[int32](c.In[0]), tensor.View[float32](c.Out[0])
	for i := range words[0] {
		if c.Stopped() {
			return op.ErrStopped
		}
		word := ids[i*words[1]:][:words[1]]
		for _, id := range word {
			if id < 0 || int(id) >= table[0] {
				return graph.Errorf(graph.ErrShape, "character %d is not among %d", id, table[0])
			}
		}
		conv.word(word, out[i*filters:][:filters])
	}
	return nil
}
