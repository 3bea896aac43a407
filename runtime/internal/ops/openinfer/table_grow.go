package openinfer

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// grown is a tensor whose extents grow by counts. It is stored as a vector of bytes: the count of
// every axis as int64, then the elements. An empty vector is a tensor with all counts 0.
type grown struct {
	table
	free []int // 1 for an index that the node leaves out
}

// read returns the counts and the elements of a state. data is nil if the state is empty.
func (g *grown) read(state *tensor.Tensor) (counts []int64, data []byte, err error) {
	counts = make([]int64, len(g.entry))
	bytes, head := state.Bytes(), 8*len(g.entry)
	if len(bytes) == 0 {
		return counts, nil, nil
	}
	wrong := graph.Errorf(graph.ErrState, "%d bytes are no tensor that grows from %v%v", len(bytes), g.dtype, g.entry)
	if len(bytes) < head {
		return nil, nil, wrong
	}
	for i := range counts {
		if counts[i] = int64(binary.LittleEndian.Uint64(bytes[8*i:])); counts[i] < 0 {
			return nil, nil, wrong
		}
	}
	shape, err := g.shape(counts)
	if err != nil || g.dtype.Bytes(shape.Len()) != len(bytes)-head {
		return nil, nil, wrong
	}
	return counts, bytes[head:], nil
}

// shape returns the extents after growing by counts.
func (g *grown) shape(counts []int64) (tensor.Shape, error) {
	shape := g.entry.Clone()
	for i, n := range counts {
		if n > math.MaxInt64/2 || shape[i] > math.MaxInt/2 {
			return nil, graph.Errorf(graph.ErrMemory, "the count of axis %d is %d, which is too large", i, n)
		}
		shape[i] += int(n)
	}
	if err := shape.Check(); err != nil {
		return nil, graph.Errorf(graph.ErrMemory, "it grows too large: %w", err)
	}
	return shape, nil
}

// raise grows counts to the indices at and returns the new extents.
func (g *grown) raise(counts []int64, at *tensor.Tensor) (tensor.Shape, error) {
	list, err := int64s(at, len(counts))
	if err != nil {
		return nil, err
	}
	for i, n := range list {
		switch {
		case g.free[i] != 0:
		case n < 0:
			return nil, fmt.Errorf("index %d is %d; it must not be negative", i, n)
		case g.fixed[i] >= 0 && n > int64(g.fixed[i]):
			return nil, fmt.Errorf("index %d is %d, and its size is fixed as %d", i, n, g.fixed[i])
		default:
			counts[i] = max(counts[i], n)
		}
	}
	return g.shape(counts)
}

// newGrown reads the attributes of tables and attribute open.
func newGrown(n *op.Node) (grown, error) {
	t, err := newTable(n)
	g := grown{t, n.Ints("open")}
	if err == nil && (len(t.entry) != len(t.fixed) || len(g.free) != len(t.fixed)) {
		err = graph.Errorf(graph.ErrFormat, "attributes entry, fixed and open are of %d, %d and %d axes", len(t.entry),
			len(t.fixed), len(g.free))
	}
	return g, err
}

// growRead returns a tensor grown to indices, and its new state. Its inputs are the state, the
// indices, and the initial element.
type growRead struct{ grown }

func newGrowRead(n *op.Node) (op.Op, error) {
	g, err := newGrown(n)
	return &growRead{g}, err
}

// Infer leaves the extents unknown.
func (o *growRead) Infer(c *op.Infer) error {
	c.Set(0, o.dtype, graph.UnknownDims(len(o.entry)))
	c.Set(1, tensor.U8, graph.UnknownDims(1))
	return nil
}

// Run grows the tensor.
func (o *growRead) Run(c *op.Run) error {
	counts, data, err := o.read(c.In[0])
	if err != nil {
		return err
	}
	old, err := o.shape(counts)
	if err != nil {
		return err
	}
	shape, err := o.raise(counts, c.In[1])
	if err != nil {
		return err
	}
	out, err := c.Alloc(0, o.dtype, shape)
	if err != nil {
		return err
	}
	clear(out.Bytes())
	if data == nil && c.Has(2) {
		if data, err = c.Mem.Scratch(o.dtype.Bytes(old.Len())); err != nil {
			return err
		}
		repeat(data, c.In[2].Bytes())
	}
	place(out.Bytes(), shape, data, old, o.dtype.Bits()/8)
	if !c.Wants(1) {
		return nil
	}
	return save(c, 1, counts, out.Bytes())
}

// save stores counts and elements as the state in output out.
func save(c *op.Run, out int, counts []int64, data []byte) error {
	state, err := c.Alloc(out, tensor.U8, tensor.Shape{8*len(counts) + len(data)})
	if err != nil {
		return err
	}
	for i, n := range counts {
		binary.LittleEndian.PutUint64(state.Bytes()[8*i:], uint64(n))
	}
	copy(state.Bytes()[8*len(counts):], data)
	return nil
}

// place copies a tensor to the origin of a larger one.
func place(to []byte, shape tensor.Shape, from []byte, old tensor.Shape, size int) {
	if len(from) == 0 {
		return
	}
	if len(shape) == 0 {
		copy(to, from[:size])
		return
	}
	outer, inner := len(to)/shape[0], len(from)/old[0]
	for i := range old[0] {
		if len(shape) == 1 {
			copy(to[i*size:(i+1)*size], from[i*size:])
			continue
		}
		place(to[i*outer:(i+1)*outer], shape[1:], from[i*inner:(i+1)*inner], old[1:], size)
	}
}

// growWrite returns the state with a new tensor. Its inputs are the state, the indices, and the
// tensor, which must have the shape grown to the indices.
type growWrite struct{ grown }

func newGrowWrite(n *op.Node) (op.Op, error) {
	g, err := newGrown(n)
	return &growWrite{g}, err
}

// Infer leaves the size of the state unknown.
func (o *growWrite) Infer(c *op.Infer) error {
	c.Set(0, tensor.U8, graph.UnknownDims(1))
	return nil
}

// Run writes the tensor.
func (o *growWrite) Run(c *op.Run) error {
	counts, _, err := o.read(c.In[0])
	if err != nil {
		return err
	}
	shape, err := o.raise(counts, c.In[1])
	if err != nil {
		return err
	}
	if v := c.In[2]; v.DType() != o.dtype || !v.Shape().Equal(shape) {
		return graph.Errorf(graph.ErrShape, "the value is %v%v, and the variable now has %v%v", v.DType(), v.Shape(),
			o.dtype, shape)
	}
	return save(c, 0, counts, c.In[2].Bytes())
}

// tableRows lists the operators of persistent variables that grow.
var tableRows = []op.Row{
	{Domain: Domain, Name: "table_read", Since: []int{1}, In: [2]int{2, 3}, Out: [2]int{1, 2}, DynamicOutputs: true, New: newTableRead},
	{Domain: Domain, Name: "table_write", Since: []int{1}, In: [2]int{3, 3}, Out: [2]int{1, 1}, DynamicOutputs: true, New: newTableWrite},
	{Domain: Domain, Name: "table_reset", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, DynamicOutputs: true, New: newTableReset},
	{Domain: Domain, Name: "grow_read", Since: []int{1}, In: [2]int{2, 3}, Out: [2]int{1, 2}, DynamicOutputs: true, New: newGrowRead},
	{Domain: Domain, Name: "grow_write", Since: []int{1}, In: [2]int{3, 3}, Out: [2]int{1, 1}, DynamicOutputs: true, New: newGrowWrite},
}
