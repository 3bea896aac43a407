package openinfer

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// table maps tuples of indices to tensors of one shape. It is stored as a vector of bytes: the size
// of every index as int64, then one record per entry in ascending order of indices. A record has
// the indices as int64 and the elements, padded to 8 bytes. An empty vector is an empty map.
type table struct {
	dtype tensor.DType
	entry tensor.Shape
	fixed []int // fixed sizes of indices; -1 for others
}

func newTable(n *op.Node) (t table, err error) {
	t.entry, t.fixed = n.Ints("entry"), n.Ints("fixed")
	if t.dtype, err = tensor.ParseDType(n.Str("type", "")); err != nil {
		return t, err
	}
	if t.dtype == tensor.String || t.dtype.Bits()%8 != 0 {
		return t, graph.Errorf(graph.ErrUnsupported, "elements are %v; entries are of numbers of whole bytes", t.dtype)
	}
	return t, t.entry.Check()
}

// bytes returns the size of an entry in bytes.
func (t *table) bytes() int { return t.dtype.Bytes(t.entry.Len()) }

// record returns the size of a record in bytes.
func (t *table) record() int { return 8*len(t.fixed) + (t.bytes()+7)&^7 }

// entries is the contents of a table.
type entries struct {
	*table
	sizes   []int64
	records []byte
}

// open reads a table. The state may come from a caller, so open checks it and returns ErrState.
func (t *table) open(state *tensor.Tensor) (*entries, error) {
	e := &entries{table: t, sizes: make([]int64, len(t.fixed))}
	data, n := state.Bytes(), 8*len(t.fixed)
	if len(data) > 0 {
		if len(data) < n || (len(data)-n)%t.record() != 0 {
			return nil, graph.Errorf(graph.ErrState, "%d bytes are no table of %d indices and entries of %v%v", len(data),
				len(t.fixed), t.dtype, t.entry)
		}
		for i := range e.sizes {
			e.sizes[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
		}
		e.records = data[n:]
	}
	for i, size := range t.fixed {
		if size >= 0 {
			e.sizes[i] = int64(size)
		}
		if e.sizes[i] < 0 {
			return nil, graph.Errorf(graph.ErrState, "a table has the size %d for index %d", e.sizes[i], i)
		}
	}
	return e, nil
}

func (e *entries) count() int { return len(e.records) / e.record() }

// index returns index i of a record.
func (e *entries) index(record, i int) int64 {
	return int64(binary.LittleEndian.Uint64(e.records[record*e.record()+8*i:]))
}

// elements returns the bytes of an entry.
func (e *entries) elements(record int) []byte {
	at := record*e.record() + 8*len(e.fixed)
	return e.records[at : at+e.bytes()]
}

// compare orders a record against the indices at, which may be fewer than the record's.
func (e *entries) compare(record int, at []int64) int {
	for i, n := range at {
		if m := e.index(record, i); m != n {
			if m < n {
				return -1
			}
			return 1
		}
	}
	return 0
}

// find returns the first record that is not before the indices at. It reports whether the record
// has them.
func (e *entries) find(at []int64) (int, bool) {
	low, high := 0, e.count()
	for low < high {
		mid := (low + high) / 2
		if e.compare(mid, at) < 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, low < e.count() && e.compare(low, at) == 0
}

// touch checks an index and grows its size to include it.
func (e *entries) touch(i int, at int64) error {
	switch {
	case at < 0:
		return fmt.Errorf("index %d is %d; it must not be negative", i, at)
	case e.fixed[i] >= 0 && at >= int64(e.fixed[i]):
		return fmt.Errorf("index %d is %d, and its size is fixed as %d", i, at, e.fixed[i])
	case at+1 < 0:
		return fmt.Errorf("index %d is %d, which is too large", i, at)
	}
	e.sizes[i] = max(e.sizes[i], at+1)
	return nil
}

// save allocates output out as a table with room for n records and returns their bytes.
func (e *entries) save(c *op.Run, out, n int) ([]byte, error) {
	head := 8 * len(e.sizes)
	if n > (kit.MaxElements-head)/e.record() {
		return nil, graph.Errorf(graph.ErrMemory, "a table of %d entries is too large", n)
	}
	t, err := c.Alloc(out, tensor.U8, tensor.Shape{head + n*e.record()})
	if err != nil {
		return nil, err
	}
	data := t.Bytes()
	for i, size := range e.sizes {
		binary.LittleEndian.PutUint64(data[8*i:], uint64(size))
	}
	return data[head:], nil
}

// int64s returns the n elements of a vector.
func int64s(t *tensor.Tensor, n int) ([]int64, error) {
	if t == nil || t.DType() != tensor.I64 || t.Len() != n {
		return nil, fmt.Errorf("indices are %v; %d of int64 are needed", t, n)
	}
	return tensor.View[int64](t.Aligned()), nil
}

// tableRead returns entries of a table, and the table grown to the requested indices. Its inputs
// are the table, the begin and end of every index, and the element of missing entries.
type tableRead struct {
	table
	single []int // 1 if the index is a single value
	open   []int // bit 0: begin at the first; bit 1: end at the size
}

func newTableRead(n *op.Node) (op.Op, error) {
	t, err := newTable(n)
	o := &tableRead{t, n.Ints("single"), n.Ints("open")}
	if err == nil && (len(o.single) != len(t.fixed) || len(o.open) != len(t.fixed)) {
		err = graph.Errorf(graph.ErrFormat, "attributes fixed, single and open are of %d, %d and %d indices", len(t.fixed),
			len(o.single), len(o.open))
	}
	return o, err
}

// Infer sets the rank and the entries' extents.
func (o *tableRead) Infer(c *op.Infer) error {
	rank := len(o.entry)
	for _, s := range o.single {
		rank += kit.Btoi(s == 0)
	}
	dims := graph.UnknownDims(rank)
	copy(dims[rank-len(o.entry):], graph.DimsOf(o.entry))
	c.Set(0, o.dtype, dims)
	c.Set(1, tensor.U8, graph.UnknownDims(1))
	return nil
}

// Run reads the entries.
func (o *tableRead) Run(c *op.Run) error {
	e, err := o.table.open(c.In[0])
	if err != nil {
		return err
	}
	bounds, err := int64s(c.In[1], 2*len(o.fixed))
	if err != nil {
		return err
	}
	before := slices.Clone(e.sizes)
	box, shape, err := o.box(e, bounds)
	if err != nil {
		return err
	}
	if err := shape.Check(); err != nil {
		return graph.Errorf(graph.ErrMemory, "the entries are too many: %w", err)
	}
	out, err := c.Alloc(0, o.dtype, shape)
	if err != nil {
		return err
	}
	if c.Has(2) {
		repeat(out.Bytes(), c.In[2].Bytes())
	} else {
		clear(out.Bytes())
	}
	o.copy(e, box, out.Bytes())
	if !c.Wants(1) {
		return nil
	}
	if slices.Equal(before, e.sizes) {
		c.Set(1, c.In[0])
		return nil
	}
	records, err := e.save(c, 1, e.count())
	copy(records, e.records)
	return err
}

// box returns the begin and end of every index, and the shape of the result.
func (o *tableRead) box(e *entries, bounds []int64) (box [][2]int64, shape tensor.Shape, err error) {
	for i := range e.sizes {
		begin, end := bounds[2*i], bounds[2*i+1]
		if o.single[i] != 0 {
			if err := e.touch(i, begin); err != nil {
				return nil, nil, err
			}
			box = append(box, [2]int64{begin, begin + 1})
			continue
		}
		if o.open[i]&1 != 0 {
			begin = 0
		}
		if o.open[i]&2 != 0 {
			end = e.sizes[i]
		} else if end < 0 {
			end = max(end+e.sizes[i], 0)
		}
		switch {
		case begin < 0:
			return nil, nil, fmt.Errorf("index %d begins at %d; it must not be negative", i, begin)
		case e.fixed[i] >= 0 && end > int64(e.fixed[i]):
			return nil, nil, fmt.Errorf("index %d ends at %d, and its size is fixed as %d", i, end, e.fixed[i])
		}
		end = max(begin, end)
		box = append(box, [2]int64{begin, end})
		shape = append(shape, int(end-begin))
	}
	return box, append(shape, o.entry...), nil
}

// copy copies the entries within a box to out.
func (o *tableRead) copy(e *entries, box [][2]int64, out []byte) {
	size := o.bytes()
	for r := range e.count() {
		at := int64(0)
		inside := true
		for i, b := range box {
			n := e.index(r, i)
			inside = inside && b[0] <= n && n < b[1]
			at = at*(b[1]-b[0]) + n - b[0]
		}
		if inside {
			copy(out[int(at)*size:], e.elements(r))
		}
	}
}

// repeat fills out with copies of part.
func repeat(out, part []byte) {
	n := copy(out, part)
	for n > 0 && n < len(out) {
		n += copy(out[n:], out[:n])
	}
}
