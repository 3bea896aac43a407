package op

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// embedNorm sums the embeddings of words, of positions and of segments, and
// normalises the sum.
type embedNorm struct {
	epsilon float32
	norm    bindings.Kernel
}

// The inputs of embedNorm.
const (
	embedWords = iota
	embedSegments
	embedWordTable
	embedPlaceTable
	embedSegmentTable
	embedScale
	embedBias
	embedMask
	embedPlaces
)

func newEmbedNorm(n *Node) (Op, error) {
	n.Ignore("mask_index_type")
	for _, i := range []int{embedWordTable, embedPlaceTable, embedScale, embedBias} {
		if !n.HasIn(i) {
			return nil, graph.Mark(graph.ErrFormat, "input %d is left out; the operator needs it", i)
		}
	}
	return &embedNorm{epsilon: n.Float("epsilon", 1e-12)}, nil
}

// Infer sets [batch,tokens,hidden].
func (o *embedNorm) Infer(c *Infer) error {
	table := c.In[embedWordTable]
	out, batch := graph.UnknownDims(3), graph.UnknownDims(1)
	if d := c.In[embedWords].Dims; d != nil {
		if len(d) != 2 {
			return graph.Mark(graph.ErrShape, "words are %v, not [batch,tokens]", c.In[embedWords].Type)
		}
		copy(out, d)
		batch[0] = d[0]
	}
	if d := table.Dims; d != nil {
		if len(d) != 2 {
			return graph.Mark(graph.ErrShape, "embeddings of words are %v, not [words,hidden]", table.Type)
		}
		out[2] = d[1]
	}
	for _, i := range []int{embedPlaceTable, embedSegmentTable, embedScale, embedBias} {
		if c.Has(i) && c.In[i].DType != table.DType {
			return graph.Mark(graph.ErrShape, "input %d has element type %v, the embeddings of words %v", i, c.In[i].DType, table.DType)
		}
	}
	c.Set(0, table.DType, out)
	c.Set(1, tensor.I32, batch)
	c.Set(2, table.DType, out)
	return nil
}

// Prepare chooses the kernels.
func (o *embedNorm) Prepare(c *Prepare) (err error) {
	o.norm, err = c.Kernel("f32_layer_norm")
	return err
}

// Describe names the kernels.
func (o *embedNorm) Describe() string { return describe(o.norm) }

// Run computes the outputs.
func (o *embedNorm) Run(c *Run) error {
	words, table := c.In[embedWords].Shape(), c.In[embedWordTable].Shape()
	if len(words) != 2 || len(table) != 2 || table[1] == 0 {
		return graph.Mark(graph.ErrShape, "words are %v and their embeddings %v", words, table)
	}
	n := table[1]
	out, err := c.output(0, c.In[embedWordTable].DType(), tensor.Shape{words[0], words[1], n})
	if err != nil {
		return err
	}
	y, err := c.floatsFor(out)
	if err != nil {
		return err
	}
	clear(y)
	if err := o.sum(c, words, n, y); err != nil {
		return err
	}
	var total *tensor.Tensor
	if c.Wants(2) {
		if total, err = c.output(2, out.DType(), out.Shape()); err != nil {
			return err
		}
		list, err := c.floatsFor(total)
		if err != nil {
			return err
		}
		copy(list, y)
		c.putFloats(total, list)
	}
	scale, err := c.floats(c.In[embedScale])
	if err != nil {
		return err
	}
	bias, err := c.floats(c.In[embedBias])
	if err != nil {
		return err
	}
	if len(scale) != n || len(bias) != n {
		return graph.Mark(graph.ErrShape, "parameters %v and %v are not of [%d]", c.In[embedScale], c.In[embedBias], n)
	}
	if len(y) > 0 {
		bindings.LayerNormF32(o.norm, c.Pool, y, len(y)/n, n, scale, bias, o.epsilon, true, y)
	}
	c.putFloats(out, y)
	return o.maskIndex(c, words)
}

// sum adds the embeddings to y.
func (o *embedNorm) sum(c *Run, words tensor.Shape, n int, y []float32) error {
	if err := c.addRows(c.In[embedWords], c.In[embedWordTable], words, n, y); err != nil {
		return err
	}
	places := tensor.New(tensor.I32, 1, words[1])
	for i := range words[1] {
		tensor.View[int32](places)[i] = int32(i)
	}
	if c.Has(embedPlaces) {
		places = c.In[embedPlaces]
	}
	if err := c.addRows(places, c.In[embedPlaceTable], words, n, y); err != nil {
		return err
	}
	if c.Has(embedSegments) != c.Has(embedSegmentTable) {
		return graph.Mark(graph.ErrFormat, "segments and their embeddings come together or not at all")
	}
	if !c.Has(embedSegments) {
		return nil
	}
	return c.addRows(c.In[embedSegments], c.In[embedSegmentTable], words, n, y)
}

// addRows adds to each row of y the row of a table that its number names;
// numbers for one batch serve all.
func (c *Run) addRows(numbers, table *tensor.Tensor, words tensor.Shape, n int, y []float32) error {
	list, err := Ints(numbers)
	if err != nil {
		return err
	}
	s := numbers.Shape()
	if len(s) != 2 || s[1] != words[1] || s[0] != words[0] && s[0] != 1 || len(table.Shape()) != 2 || table.Shape()[1] != n {
		return graph.Mark(graph.ErrShape, "numbers %v for words %v and embeddings %v of %d do not go together", numbers, words, table, n)
	}
	for i := range words.Len() {
		k := list[i%len(list)]
		if k < 0 || k >= table.Shape()[0] {
			return graph.Mark(graph.ErrShape, "number %d is not in %v", k, table)
		}
		row, err := tensor.FromBytes(table.DType(), tensor.Shape{n}, table.Bytes()[table.DType().Bytes(k*n):][:table.DType().Bytes(n)])
		if err != nil {
			return err
		}
		addFloats(row, y[i*n:][:n])
	}
	return nil
}

// addFloats adds the elements of a narrow float tensor to y.
func addFloats(t *tensor.Tensor, y []float32) {
	if t.DType() == tensor.F32 {
		for i, v := range tensor.View[float32](t) {
			y[i] += v
		}
		return
	}
	for i, v := range doubles(t) {
		y[i] += float32(v)
	}
}

// maskIndex counts the words that the mask has in each batch.
func (o *embedNorm) maskIndex(c *Run, words tensor.Shape) error {
	if !c.Wants(1) {
		return nil
	}
	out, err := c.output(1, tensor.I32, tensor.Shape{words[0]})
	if err != nil {
		return err
	}
	counts := tensor.View[int32](out)
	clear(counts)
	if !c.Has(embedMask) {
		return nil
	}
	list, err := Ints(c.In[embedMask])
	if err != nil {
		return err
	}
	if !c.In[embedMask].Shape().Equal(words) {
		return graph.Mark(graph.ErrShape, "mask is %v, not of %v", c.In[embedMask], words)
	}
	for i, v := range list {
		if v == 1 {
			counts[i/words[1]]++
		}
	}
	return nil
}

var embedNormRows = []Row{
	{Domain: microsoft, Name: "EmbedLayerNormalization", Since: []int{1}, In: [2]int{1, 9}, Out: [2]int{1, 3},
		Types: Types{tensor.F32, tensor.F16}, Typed: embedWordTable, New: newEmbedNorm},
}
