package text

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// wordConv is WordConvEmbedding. It embeds words, [words,characters], by convolutions over their
// characters and takes the largest result of each filter. Character 0 is padding.
type wordConv struct{ characters, window, filters int }

func newWordConv(n *op.Node) (op.Op, error) {
	return &wordConv{n.Int("char_embedding_size", 0), n.Int("conv_window_size", 0), n.Int("embedding_size", 0)}, nil
}

// Infer checks the sizes.
func (o *wordConv) Infer(c *op.Infer) error {
	words, w := c.In[0].Dims, c.In[1].Dims
	if words != nil && len(words) != 2 || w != nil && len(w) != 4 || c.In[0].DType != tensor.I32 {
		return graph.Errorf(graph.ErrShape, "words %v or weights %v are not [words,characters] and [filters,1,window,size]",
			c.In[0].Type, c.In[1].Type)
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
		return graph.Errorf(graph.ErrShape, "words %v, weights %v, bias %v and characters %v do not go together", words, w,
			c.In[2].Shape(), table)
	}
	conv := charConv{tensor.View[float32](c.In[1]), tensor.View[float32](c.In[2]), tensor.View[float32](c.In[3]),
		filters, window, size}
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

// charConv computes convolutions over the embeddings of characters.
type charConv struct {
	weights, bias, table  []float32
	filters, window, size int
}

// word stores the tanh of each filter's largest result. A word that begins with padding gives
// zeros. Only windows over the word's own characters count, and at least one window does.
func (v charConv) word(ids []int32, out []float32) {
	clear(out)
	if len(ids) == 0 || ids[0] == 0 {
		return
	}
	n := 0
	for _, id := range ids {
		n += kit.Btoi(id > 0)
	}
	for f := range out {
		best := float32(math.Inf(-1))
		for at := range max(n-v.window, 0) + 1 {
			sum := v.bias[f]
			for k := range v.window {
				row := v.table[int(ids[at+k])*v.size:][:v.size]
				for j, w := range v.weights[(f*v.window+k)*v.size:][:v.size] {
					sum += w * row[j]
				}
			}
			best = max(best, sum)
		}
		out[f] = float32(math.Tanh(float64(best)))
	}
}

var wordConvRows = []op.Row{
	{Domain: kit.Microsoft, Name: "WordConvEmbedding", Since: []int{1}, In: [2]int{4, 4}, Out: [2]int{1, 1}, New: newWordConv},
}
