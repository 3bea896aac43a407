package openinfer

import (
	"encoding/binary"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// tableWrite returns a table with a new entry at the indices. Its inputs are the table, the
// indices, and the entry.
type tableWrite struct{ table }

func newTableWrite(n *op.Node) (op.Op, error) {
	t, err := newTable(n)
	return &tableWrite{t}, err
}

// Infer leaves the size of the table unknown.
func (o *tableWrite) Infer(c *op.Infer) error {
	c.Set(0, tensor.U8, graph.UnknownDims(1))
	return nil
}

// Run writes the entry.
func (o *tableWrite) Run(c *op.Run) error {
	e, err := o.table.open(c.In[0])
	if err != nil {
		return err
	}
	at, err := int64s(c.In[1], len(o.fixed))
	if err != nil {
		return err
	}
	for i, n := range at {
		if err := e.touch(i, n); err != nil {
			return err
		}
	}
	value := c.In[2]
	if value.DType() != o.dtype || !value.Shape().Equal(o.entry) {
		return graph.Errorf(graph.ErrShape, "the value is %v%v, and an entry %v%v", value.DType(), value.Shape(), o.dtype,
			o.entry)
	}
	place, there := e.find(at)
	n := e.count() + kit.Btoi(!there)
	records, err := e.save(c, 0, n)
	if err != nil {
		return err
	}
	cut := place * o.record()
	copy(records, e.records[:cut])
	mine := records[cut : cut+o.record()]
	for i, x := range at {
		binary.LittleEndian.PutUint64(mine[8*i:], uint64(x))
	}
	clear(mine[8*len(at):])
	copy(mine[8*len(at):], value.Bytes())
	copy(records[cut+o.record():], e.records[cut+kit.Btoi(there)*o.record():])
	return nil
}

// tableReset returns a table without the entries that begin with the indices in input 1. It shrinks
// sizes to the remaining entries.
type tableReset struct{ table }

func newTableReset(n *op.Node) (op.Op, error) {
	t, err := newTable(n)
	return &tableReset{t}, err
}

// Infer leaves the size of the table unknown.
func (o *tableReset) Infer(c *op.Infer) error {
	c.Set(0, tensor.U8, graph.UnknownDims(1))
	return nil
}

// Run removes the entries.
func (o *tableReset) Run(c *op.Run) error {
	e, err := o.table.open(c.In[0])
	if err != nil {
		return err
	}
	at, err := int64s(c.In[1], min(c.In[1].Len(), len(o.fixed)))
	if err != nil {
		return err
	}
	first, _ := e.find(at)
	last := first
	for last < e.count() && e.compare(last, at) == 0 {
		last++
	}
	rest := e.count() - (last - first)
	for i := range e.sizes {
		if e.fixed[i] >= 0 {
			continue
		}
		e.sizes[i] = 0
		for r := range e.count() {
			if r < first || r >= last {
				e.sizes[i] = max(e.sizes[i], e.index(r, i)+1)
			}
		}
	}
	records, err := e.save(c, 0, rest)
	if err != nil {
		return err
	}
	copy(records, e.records[:first*o.record()])
	copy(records[first*o.record():], e.records[last*o.record():])
	return nil
}
