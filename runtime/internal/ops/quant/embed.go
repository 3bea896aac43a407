package quant

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// embedNorm is QEmbedLayerNormalization: EmbedLayerNormalization with tables of bytes, each with a
// scale and a zero point.
type embedNorm struct{ epsilon float32 }

// The inputs of embedNorm. Scales and zero points follow the order of the tables.
const (
	embedWords = iota
	embedSegments
	embedTables // words, places, segments, gamma, beta
	embedMask   = 7
	embedScales = 8
	embedZeros  = 13
	embedCount  = 5
)

func newEmbedNorm(n *op.Node) (op.Op, error) {
	has := n.HasIn(embedSegments)
	for _, i := range []int{embedTables + 2, embedScales + 2, embedZeros + 2} {
		if n.HasIn(i) != has {
			return nil, graph.Errorf(graph.ErrFormat,
				"segments, their embeddings, scale and zero point come together or not at all")
		}
	}
	return &embedNorm{n.Float("epsilon", 1e-12)}, nil
}

// Infer sets output 0 to [batch,tokens,hidden] and output 1 to [batch].
func (o *embedNorm) Infer(c *op.Infer) error {
	out, batch := graph.UnknownDims(3), graph.UnknownDims(1)
	if d := c.In[embedWords].Dims; d != nil {
		if len(d) != 2 {
			return graph.Errorf(graph.ErrShape, "words are %v, not [batch,tokens]", c.In[embedWords].Type)
		}
		copy(out, d)
		batch[0] = d[0]
	}
	for i := range embedCount {
		if !c.Has(embedTables + i) {
			continue
		}
		if err := checkBytes(c, embedTables+i); err != nil {
			return err
		}
		t, axes := c.In[embedTables+i], 2
		if i > 2 {
			axes = 1
		}
		if t.Dims == nil {
			continue
		}
		width, ok := graph.Dim{}, len(t.Dims) == axes
		if ok {
			width, ok = kit.JoinDim(out[2], t.Dims[axes-1])
		}
		if !ok {
			return graph.Errorf(graph.ErrShape, "input %d is %v for a hidden size of %v", embedTables+i, t.Type, out[2])
		}
		out[2] = width
	}
	for _, i := range []int{embedSegments, embedMask} {
		if !c.Has(i) {
			continue
		}
		v := c.In[i]
		if v.DType != tensor.I32 || v.Dims != nil && !v.Dims.Same(out[:2]) && known(v.Dims) && known(out[:2]) {
			return graph.Errorf(graph.ErrShape, "input %d is %v, not int32 of %v", i, v.Type, out[:2])
		}
	}
	for i := range embedCount {
		if c.Has(embedScales+i) && c.In[embedScales+i].DType != tensor.F32 {
			return graph.Errorf(graph.ErrUnsupported, "scale %v is not of float32", c.In[embedScales+i].Type)
		}
	}
	c.Set(0, tensor.F32, out)
	c.Set(1, tensor.I32, batch)
	return nil
}

// known reports whether all extents are numbers.
func known(d graph.Dims) bool {
	_, ok := d.Concrete()
	return ok
}

// byteTable is a table of numbers that are stored as bytes.
type byteTable struct {
	data    []byte
	n       int // elements of a row
	numbers [256]float32
}

// table returns table i of the inputs, or nil if it is left out.
func (o *embedNorm) table(c *op.Run, i int) (*byteTable, error) {
	t := c.Given(embedTables + i)
	if t == nil {
		return nil, nil
	}
	s, z := c.Given(embedScales+i), c.Given(embedZeros+i)
	if s == nil || z == nil || s.Len() != 1 || z.Len() != 1 || z.DType() != t.DType() {
		return nil, graph.Errorf(graph.ErrShape, "scale %v or zero point %v is not one for %v", s, z, t)
	}
	code := func(v byte) float32 { return float32(v) }
	if t.DType() == tensor.I8 {
		code = func(v byte) float32 { return float32(int8(v)) }
	}
	b := &byteTable{data: t.Bytes(), n: t.Shape()[len(t.Shape())-1]}
	for v := range b.numbers {
		b.numbers[v] = (code(byte(v)) - code(z.Bytes()[0])) * tensor.View[float32](s)[0]
	}
	return b, nil
}

// add adds a row of the table to list.
func (b *byteTable) add(list []float32, row int) error {
	if row < 0 || (row+1)*b.n > len(b.data) {
		return graph.Errorf(graph.ErrShape, "there is no row %d in a table of %d", row, len(b.data)/max(b.n, 1))
	}
	list = list[:b.n]
	for i, v := range b.data[row*b.n:][:b.n] {
		list[i] += b.numbers[v]
	}
	return nil
}

// Run sums and normalises the embeddings of one token at a time.
func (o *embedNorm) Run(c *op.Run) error {
	var tables [embedCount]*byteTable
	for i := range tables {
		var err error
		if tables[i], err = o.table(c, i); err != nil {
			return err
		}
	}
	n := tables[0].n
	gamma, beta := make([]float32, n), make([]float32, n)
	for i, list := range [][]float32{gamma, beta} {
		if t := tables[3+i]; t.n != n {
			return graph.Errorf(graph.ErrShape, "gamma or beta has %d elements, not %d", t.n, n)
		} else if err := t.add(list, 0); err != nil {
			return err
		}
	}
	words, out := tensor.View[int32](c.In[embedWords]), tensor.View[float32](c.Out[0])
	tokens := c.In[embedWords].Shape()[1]
	var segments []int32
	if c.Has(embedSegments) {
		segments = tensor.View[int32](c.In[embedSegments])
	}
	if mask := c.Given(embedMask); segments != nil && len(segments) != len(words) ||
		mask != nil && mask.Len() != len(words) {
		return graph.Errorf(graph.ErrShape, "segments or mask do not have one element for each of %d words", len(words))
	}
	for i, w := range words {
		if c.Stopped() {
			return op.ErrStopped
		}
		row := out[i*n:][:n]
		clear(row)
		if err := tables[0].add(row, int(w)); err != nil {
			return err
		}
		if err := tables[1].add(row, i%tokens); err != nil {
			return err
		}
		if segments != nil {
			if err := tables[2].add(row, int(segments[i])); err != nil {
				return err
			}
		}
		normalise(row, gamma, beta, o.epsilon)
	}
	countMask(c, tokens)
	return nil
}

// normalise gives row mean 0 and variance 1, then applies gamma as scale and beta as bias.
func normalise(row, gamma, beta []float32, epsilon float32) {
	n := len(row)
	mean, _ := moments(row, 0)
	mean /= float64(n)
	_, square := moments(row, mean)
	inverse := 1 / math.Sqrt(square/float64(n)+float64(epsilon))
	gamma, beta = gamma[:n], beta[:n]
	for i, v := range row {
		row[i] = float32((float64(v)-mean)*inverse)*gamma[i] + beta[i]
	}
}

// moments returns the sums of v - less and of its square over list, each in four partial sums.
func moments(list []float32, less float64) (sum, square float64) {
	var a, b, c, d, e, f, g, h float64
	for ; len(list) >= 4; list = list[4:] {
		p := (*[4]float32)(list)
		w, x, y, z := float64(p[0])-less, float64(p[1])-less, float64(p[2])-less, float64(p[3])-less
		a, b, c, d = a+w, b+x, c+y, d+z
		e, f, g, h = e+w*w, f+x*x, g+y*y, h+z*z
	}
	for _, v := range list {
		w := float64(v) - less
		a, e = a+w, e+w*w
	}
	return (a + b) + (c + d), (e + f) + (g + h)
}

// countMask stores in output 1 the number of words per batch that the mask admits.
func countMask(c *op.Run, tokens int) {
	if !c.Wants(1) {
		return
	}
	counts := tensor.View[int32](c.Out[1])
	clear(counts)
	if mask := c.Given(embedMask); mask != nil {
		for i, v := range tensor.View[int32](mask) {
			if v == 1 {
				counts[i/tokens]++
			}
		}
	}
}

var embedRows = []op.Row{
	{Domain: kit.Microsoft, Name: "QEmbedLayerNormalization", Since: []int{1}, In: [2]int{18, 18}, Out: [2]int{2, 2},
		Types: op.Types{tensor.I32}, Optional: kit.Inputs(embedSegments, embedTables+2, embedMask, embedScales+2, embedZeros+2), New: newEmbedNorm},
}
