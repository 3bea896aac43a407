package attention

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// AppendCodes appends floats, as rows of codes, to a cache of int8. The last axis is a row, as
// attention with narrow caches has it.
type AppendCodes struct{ axis int }

// The inputs of AppendCodes.
const (
	CodesPast = iota
	CodesRows // floats
)

func newAppendCodes(n *op.Node) (op.Op, error) { return &AppendCodes{n.Int("axis", -2)}, nil }

// Axis returns the axis along which a cache of the given rank grows.
func (o *AppendCodes) Axis(rank int) (int, error) {
	axis, err := op.NormAxis(o.axis, rank)
	if err == nil && axis == rank-1 {
		err = graph.Errorf(graph.ErrShape, "axis %d is within the rows of the cache", axis)
	}
	return axis, err
}

// Infer sets the extents of the past and the new rows.
func (o *AppendCodes) Infer(c *op.Infer) error {
	past, rows := c.In[CodesPast], c.In[CodesRows]
	c.Set(0, tensor.I8, nil)
	if !kit.ComputedInF32.Has(rows.DType) {
		return graph.Errorf(graph.ErrUnsupported, "new rows of %v; they are of %v", rows.DType, kit.ComputedInF32)
	}
	rank := len(past.Dims)
	if past.Dims == nil || rows.Dims == nil {
		return nil
	}
	axis, err := o.Axis(rank)
	if err != nil {
		return err
	}
	out := make(graph.Dims, rank)
	fits := len(rows.Dims) == rank
	for i := 0; fits && i < rank; i++ {
		x := rows.Dims[i]
		if i == rank-1 {
			x = kit.CacheWidth(tensor.I8, x)
		}
		if out[i] = past.Dims[i]; i == axis {
			out[i] = out[i].Add(x)
		} else {
			fits = !differ(past.Dims[i], x)
		}
	}
	if !fits {
		return graph.Errorf(graph.ErrShape, "%v does not follow the codes %v along axis %d", rows.Type, past.Type, axis)
	}
	c.Set(0, tensor.I8, out)
	return nil
}

// WidenCodes converts a cache of int8 to floats.
type WidenCodes struct{ to tensor.DType }

func newWidenCodes(n *op.Node) (op.Op, error) {
	to, err := n.ElementType("to", tensor.F32, kit.ComputedInF32)
	return &WidenCodes{to}, err
}

// Infer sets the type, and the size of a row.
func (o *WidenCodes) Infer(c *op.Infer) error {
	d := c.In[0].Dims
	c.Set(0, o.to, nil)
	last := len(d) - 1
	if last < 0 {
		return nil
	}
	size, err := codesSize(d[last])
	if err != nil {
		return err
	}
	c.Set(0, o.to, append(d[:last:last], size))
	return nil
}

// codesSize returns the elements of a row of that many codes and bytes of scales.
func codesSize(width graph.Dim) (size graph.Dim, err error) {
	if size = kit.CacheSize(tensor.I8, width); differ(width, kit.CacheWidth(tensor.I8, size)) {
		return size, graph.Errorf(graph.ErrShape, "a row of codes with their scales has no %v bytes", width)
	}
	return size, nil
}

var codesRows = []op.Row{
	{Domain: kit.Internal, Name: "AppendCodes", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1},
		Types: op.Types{tensor.I8}, New: newAppendCodes},
	{Domain: kit.Internal, Name: "WidenCodes", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1},
		Types: op.Types{tensor.I8}, New: newWidenCodes},
}
