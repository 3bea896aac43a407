package attention

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// HeadRows is an operand of attention viewed as [batch,heads,rows,size], for any order of its
// elements in memory.
type HeadRows struct {
	Batch, Heads, Rows, Size  graph.Dim
	PerBatch, PerHead, PerRow graph.Dim // elements from one to the next; a row is contiguous
	Start                     graph.Dim // of element [0,0,0,0]
}

// headsOf returns the view of an operand [batch,heads,rows,size] or, given the number of heads,
// [batch,rows,heads*size]. Codes are in rows of one head.
func headsOf(what string, v *op.Value, n int) (h HeadRows, err error) {
	d := v.Dims
	switch {
	case v.DType == tensor.I8 && n == 1 && len(d) == 3:
		h = HeadsSideBySide(d, graph.Known(0), 1, d[2])
		h.Size, err = codesSize(d[2])
		return h, err
	case len(d) == 4 && (n == 0 || !differ(d[1], graph.Known(n))):
		if h = WholeHeads(d); v.DType == tensor.I8 {
			h.Size, err = codesSize(d[3])
		}
		return h, err
	case len(d) == 3 && n > 0 && v.DType != tensor.I8 && mayDivide(n, d[2]):
		return HeadsSideBySide(d, graph.Known(0), n, d[2].Div(graph.Known(n))), nil
	}
	return h, graph.Errorf(graph.ErrShape,
		"%s %v is neither [batch,heads,sequence,size] nor [batch,sequence,%d heads of one size]", what, v.Type, n)
}

// WholeHeads returns the view of an operand with extents d, [batch,heads,rows,size].
func WholeHeads(d graph.Dims) HeadRows {
	row := d[3]
	head := d[2].Mul(row)
	return HeadRows{Batch: d[0], Heads: d[1], Rows: d[2], Size: d[3], PerBatch: d[1].Mul(head), PerHead: head, PerRow: row}
}

// HeadsSideBySide returns the view of n heads that are side by side in each row of an operand
// [batch,rows,...], from element start on.
func HeadsSideBySide(d graph.Dims, start graph.Dim, n int, size graph.Dim) HeadRows {
	width := d[2:].Len()
	return HeadRows{
		Batch: d[0], Heads: graph.Known(n), Rows: d[1], Size: size,
		PerBatch: d[1].Mul(width), PerHead: size, PerRow: width, Start: start,
	}
}

// Dims returns [batch,heads,rows,size].
func (h *HeadRows) Dims() graph.Dims { return graph.Dims{h.Batch, h.Heads, h.Rows, h.Size} }

// differ reports whether two extents are known to differ.
func differ(a, b graph.Dim) bool {
	x, ok := a.Value()
	y, known := b.Value()
	return ok && known && x != y
}

// mayDivide reports whether n can divide an extent.
func mayDivide(n int, d graph.Dim) bool {
	w, ok := d.Value()
	return !ok || w%n == 0
}

// checkAttention returns an error if the operands do not match.
func checkAttention(q, k, v HeadRows) error {
	heads, _ := q.Heads.Value()
	shared, ok := k.Heads.Value()
	switch {
	case differ(q.Batch, k.Batch) || differ(q.Batch, v.Batch):
		return graph.Errorf(graph.ErrShape, "queries, keys and values have batches of %v, %v and %v", q.Batch, k.Batch,
			v.Batch)
	case differ(k.Heads, v.Heads) || differ(k.Rows, v.Rows):
		return graph.Errorf(graph.ErrShape, "there are keys for %v heads and %v positions, values for %v and %v", k.Heads,
			k.Rows, v.Heads, v.Rows)
	case differ(q.Size, k.Size):
		return graph.Errorf(graph.ErrShape, "queries have %v elements and keys %v", q.Size, k.Size)
	case ok && heads != 0 && (shared == 0 || heads%shared != 0):
		return graph.Errorf(graph.ErrShape, "%d heads of queries cannot share %d of keys", heads, shared)
	}
	return nil
}

// checkPast checks that a past [batch,heads,rows,size] matches the operand x that follows it, and
// returns its rows.
func checkPast(what string, past *op.Value, x HeadRows) (rows graph.Dim, err error) {
	p := past.Dims
	if p == nil {
		return graph.Unknown(), nil
	}
	if len(p) != 4 || differ(p[0], x.Batch) || differ(p[1], x.Heads) || differ(p[3], kit.CacheWidth(past.DType, x.Size)) {
		return rows, graph.Errorf(graph.ErrShape, "%s %v does not go before [%v,%v,%v,%v]", what, past.Type, x.Batch,
			x.Heads, x.Rows, x.Size)
	}
	return p[2], nil
}

// ScoreDims returns the extents, with four axes, of a value that is added to scores
// [batch,heads,queries,keys]. Extents of 1 stretch.
func ScoreDims(v *op.Value, batch, heads, queries graph.Dim) (graph.Dims, error) {
	if v.Dims == nil {
		return nil, nil
	}
	if len(v.Dims) > 4 {
		return nil, graph.Errorf(graph.ErrShape, "mask %v has more than four axes", v.Type)
	}
	d := graph.Dims{graph.Known(1), graph.Known(1), graph.Known(1), graph.Known(1)}
	copy(d[4-len(v.Dims):], v.Dims)
	for i, n := range []graph.Dim{batch, heads, queries} {
		if !d[i].Is(1) && differ(d[i], n) {
			return nil, graph.Errorf(graph.ErrShape, "mask %v does not stretch to [%v,%v,%v,keys]", v.Type, batch, heads,
				queries)
		}
	}
	return d, nil
}

// scoreTypes are the element types of values that are added to scores.
var scoreTypes = append(op.Types{tensor.Bool, tensor.U8}, append(op.Signed, op.Floats...)...)

// countTypes are the element types of lengths, positions and masks of integers.
var countTypes = append(op.Types{tensor.U8}, op.Signed...)

// checkCounts returns an error if input i is present and not of integers.
func checkCounts(c *op.Infer, i int, what string) error {
	if c.Has(i) && !countTypes.Has(c.In[i].DType) {
		return graph.Errorf(graph.ErrShape, "%s is %v, not integers", what, c.In[i].Type)
	}
	return nil
}

// checkScores checks the value that is added to scores in input i, if present.
func checkScores(c *op.Infer, i int, q HeadRows) error {
	if !c.Has(i) {
		return nil
	}
	if !scoreTypes.Has(c.In[i].DType) {
		return graph.Errorf(graph.ErrUnsupported, "a mask of %v elements; cast it to bool or a float type", c.In[i].DType)
	}
	_, err := ScoreDims(c.In[i], q.Batch, q.Heads, q.Rows)
	return err
}

// ranksKnown reports whether the ranks of the listed inputs are known, as far as they are present.
func ranksKnown(c *op.Infer, list ...int) bool {
	for _, i := range list {
		if c.Has(i) && c.In[i].Dims == nil {
			return false
		}
	}
	return true
}

// intOf returns the single element of an integer input as an extent; it is unknown if the element
// is.
func intOf(c *op.Infer, i int) graph.Dim {
	if c.Has(i) {
		if list, ok := c.In[i].IntVec(); ok && len(list) == 1 {
			return list[0]
		}
	}
	return graph.Unknown()
}
