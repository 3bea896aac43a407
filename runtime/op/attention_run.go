package op

import (
	"math"
	"slices"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// attender is the kernels of attention, which operators of both domains share.
type attender struct{ gemm, attend, tanh bindings.Kernel }

func (a *attender) prepare(c *Prepare) (err error) {
	if a.gemm, err = c.Kernel("f32_gemm"); err != nil {
		return err
	}
	if a.attend, err = c.Kernel("f32_attend"); err != nil {
		return err
	}
	a.tanh, err = c.Kernel("f32_tanh")
	return err
}

func (a *attender) describe() string { return describe(a.gemm, a.attend) }

// heads is a tensor seen as [batch,heads,rows,d], wherever its elements lie.
type heads struct {
	t                         *tensor.Tensor
	batch, heads, rows, d     int
	perBatch, perHead, perRow int // elements from one to the next
	start                     int // of element [0,0,0,0]
}

// headsOf views a tensor [batch,heads,rows,d] or, given the number of heads,
// [batch,rows,heads*d].
func headsOf(what string, t *tensor.Tensor, n int) (heads, error) {
	s := t.Shape()
	switch {
	case len(s) == 4 && (n == 0 || n == s[1]):
		return heads{t, s[0], s[1], s[2], s[3], s[1] * s[2] * s[3], s[2] * s[3], s[3], 0}, nil
	case len(s) == 3 && n > 0 && s[2]%n == 0:
		d := s[2] / n
		return heads{t, s[0], n, s[1], d, s[1] * s[2], d, s[2], 0}, nil
	}
	return heads{}, graph.Mark(graph.ErrShape, "%s %v is neither [batch,heads,sequence,size] nor [batch,sequence,%d heads of one size]", what, t, n)
}

// rowsFor is the operand as kernels take it.
func (h *heads) rowsFor() bindings.AttentionRows {
	return bindings.AttentionRows{
		Data: unsafe.Add(h.t.Pointer(), h.t.DType().Bytes(h.start)), Type: floatTypes[h.t.DType()],
		Batch: h.perBatch, Head: h.perHead, Row: h.perRow,
	}
}

// at is the first byte of a row.
func (h *heads) at(batch, head, row int) []byte {
	i := h.start + batch*h.perBatch + head*h.perHead + row*h.perRow
	return h.t.Bytes()[h.t.DType().Bytes(i):]
}

// copyTo copies rows to those of dst from row on.
func (h *heads) copyTo(dst *heads, row int) {
	n := h.t.DType().Bytes(h.d)
	whole := h.perRow == h.d && dst.perRow == h.d
	for b := range h.batch {
		for k := range h.heads {
			if h.rows == 0 || h.d == 0 {
				return
			}
			if whole {
				copy(dst.at(b, k, row), h.at(b, k, 0)[:n*h.rows])
				continue
			}
			for r := range h.rows {
				copy(dst.at(b, k, row+r), h.at(b, k, r)[:n])
			}
		}
	}
}

// join is past followed by x along the rows. Output i is made of it if the node
// has that; without past and output it is x itself.
func (c *Run) join(i int, what string, past *tensor.Tensor, x heads) (heads, error) {
	shape := tensor.Shape{x.batch, x.heads, x.rows, x.d}
	var old heads
	if past != nil {
		var err error
		if old, err = headsOf(what, past, 0); err != nil {
			return x, err
		}
		if old.batch != x.batch || old.heads != x.heads || old.d != x.d || past.DType() != x.t.DType() {
			return x, graph.Mark(graph.ErrShape, "%s %v does not go before %v elements in %v", what, past, x.t.DType(), shape)
		}
		shape[2] += old.rows
	}
	if past == nil && !c.Wants(i) {
		return x, nil
	}
	all, err := c.outputOrScratch(i, x.t.DType(), shape)
	if err != nil {
		return x, err
	}
	joined, err := headsOf(what, all, 0)
	if err != nil {
		return x, err
	}
	if past != nil {
		old.copyTo(&joined, 0)
	}
	x.copyTo(&joined, old.rows)
	return joined, nil
}

// outputOrScratch returns output i or, if the node lacks it, scratch memory.
func (c *Run) outputOrScratch(i int, d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	if c.Wants(i) {
		return c.output(i, d, shape)
	}
	b, err := c.Mem.Scratch(d.Bytes(shape.Len()))
	if err != nil {
		return nil, err
	}
	return tensor.FromBytes(d, shape, b)
}

// attending is one computation of attention. Its embedded job lacks operands,
// outputs and kernels.
type attending struct {
	bindings.Attention
	q, k, v heads
	out     *tensor.Tensor // of [batch,rows,heads*d], or of [batch,heads,rows,d]
	qk      *tensor.Tensor // nil for none
	blank   bool           // scores of keys that a query does not see are 0 in qk, not -Inf
}

// newAttending checks that the operands go together. All keys are there, and
// query 0 stands at position 0.
func newAttending(q, k, v heads) (*attending, error) {
	a := &attending{q: q, k: k, v: v}
	switch {
	case q.batch != k.batch || q.batch != v.batch:
		return nil, graph.Mark(graph.ErrShape, "queries, keys and values have batches of %d, %d and %d", q.batch, k.batch, v.batch)
	case k.heads != v.heads || k.rows != v.rows:
		return nil, graph.Mark(graph.ErrShape, "there are keys for %d heads and %d positions, values for %d and %d", k.heads, k.rows, v.heads, v.rows)
	case q.d != k.d:
		return nil, graph.Mark(graph.ErrShape, "queries have %d elements and keys %d", q.d, k.d)
	case q.heads != 0 && (k.heads == 0 || q.heads%k.heads != 0):
		return nil, graph.Mark(graph.ErrShape, "%d heads of queries cannot share %d of keys", q.heads, k.heads)
	}
	a.Batch, a.Heads, a.KVHeads, a.QLen, a.KVLen, a.D, a.DV = q.batch, q.heads, k.heads, q.rows, k.rows, q.d, v.d
	a.QKStage = bindings.QKNone
	a.Scale = float32(1 / math.Sqrt(float64(max(q.d, 1))))
	a.First, a.Valid = make([]int64, q.batch), make([]int64, q.batch)
	for i := range a.Valid {
		a.Valid[i] = int64(k.rows)
	}
	return a, nil
}

// outRows is the elements of the output from one batch, head and row to the next.
func (a *attending) outRows() (batch, head, row int) {
	if len(a.out.Shape()) == 4 {
		return a.Heads * a.QLen * a.DV, a.QLen * a.DV, a.DV
	}
	return a.QLen * a.Heads * a.DV, a.DV, a.Heads * a.DV
}

// run computes the outputs.
func (a *attending) run(c *Run, kernels *attender) error {
	if a.out.Len() == 0 && (a.qk == nil || a.qk.Len() == 0) {
		return nil
	}
	a.Gemm, a.Attend, a.Tanh = kernels.gemm, kernels.attend, kernels.tanh
	a.Q, a.K, a.V = a.q.rowsFor(), a.k.rowsFor(), a.v.rowsFor()
	a.OutBatch, a.OutHead, a.OutRow = a.outRows()
	var err error
	if a.Out, err = c.floatsFor(a.out); err != nil {
		return err
	}
	if a.QK, err = c.floatsFor(a.qk); err != nil {
		return err
	}
	scratch, err := c.scratchFloats(a.Scratch(c.Pool))
	if err != nil {
		return err
	}
	a.Run(c.Pool, scratch)
	for i, v := range a.QK {
		if a.blank && math.IsInf(float64(v), -1) {
			a.QK[i] = 0
		}
	}
	c.putFloats(a.out, a.Out)
	c.putFloats(a.qk, a.QK)
	return nil
}

// addMask makes a value that broadcasts to [batch,heads,queries,keys] the bias:
// floats are added, false leaves out. Keys beyond its last are left out.
func (a *attending) addMask(c *Run, m *tensor.Tensor) error {
	shape, err := a.maskShape(m)
	if err != nil {
		return err
	}
	list, err := c.maskFloats(m)
	if err != nil {
		return err
	}
	a.setBias(list, shape)
	if shape[3] != 1 || a.KVLen == 1 {
		return nil
	}
	spread, err := c.scratchFloats(len(list) * a.KVLen)
	if err != nil {
		return err
	}
	for i := range spread {
		spread[i] = list[i/a.KVLen]
	}
	shape[3] = a.KVLen
	a.setBias(spread, shape)
	return nil
}

func (a *attending) setBias(list []float32, shape tensor.Shape) {
	a.Bias, a.BiasCols = list, shape[3]
	step := shape.Strides()
	for i, to := range []*int{&a.BiasBatch, &a.BiasHead, &a.BiasRow} {
		if *to = step[i]; shape[i] == 1 {
			*to = 0
		}
	}
}

// maskShape is the mask's shape with four axes.
func (a *attending) maskShape(m *tensor.Tensor) (tensor.Shape, error) {
	s := slices.Clone(m.Shape())
	if len(s) > 4 {
		return nil, graph.Mark(graph.ErrShape, "mask %v has more than four axes", m)
	}
	for len(s) < 4 {
		s = slices.Insert(s, 0, 1)
	}
	for i, n := range []int{a.Batch, a.Heads, a.QLen} {
		if s[i] != 1 && s[i] != n {
			return nil, graph.Mark(graph.ErrShape, "mask %v does not stretch to [%d,%d,%d,%d]", m, a.Batch, a.Heads, a.QLen, a.KVLen)
		}
	}
	if s[3] > a.KVLen {
		return nil, graph.Mark(graph.ErrShape, "mask %v is for more than %d keys", m, a.KVLen)
	}
	return s, nil
}

// maskFloats is what a mask adds.
func (c *Run) maskFloats(m *tensor.Tensor) ([]float32, error) {
	if isNarrow(m.DType()) {
		return c.floats(m)
	}
	list, err := c.scratchFloats(m.Len())
	if err != nil {
		return nil, err
	}
	switch m.DType() {
	case tensor.Bool:
		for i, b := range m.Bytes()[:m.Len()] {
			if list[i] = 0; b == 0 {
				list[i] = float32(math.Inf(-1))
			}
		}
	case tensor.F64:
		for i, v := range tensor.View[float64](m) {
			list[i] = float32(v)
		}
	default:
		ints, err := Ints(m)
		if err != nil {
			return nil, graph.Mark(graph.ErrUnsupported, "a mask of %v elements; cast it to bool or a float type", m.DType())
		}
		for i, v := range ints {
			list[i] = float32(v)
		}
	}
	return list, nil
}
