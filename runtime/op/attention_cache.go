package op

import (
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sideBySide is heads that lie side by side in the rows of a tensor [batch,rows,...],
// from element start of each row on.
func sideBySide(t *tensor.Tensor, start, n, d int) heads {
	s := t.Shape()
	width := s[2:].Len()
	return heads{t: t, batch: s[0], heads: n, rows: s[1], d: d, perBatch: s[1] * width, perHead: d, perRow: width, start: start}
}

// cached puts x behind the first rows[b] rows that past has of batch b, in a cache
// with room for them. What is behind is zeros.
func cached(cache *tensor.Tensor, past *heads, x heads, rows []int64) (heads, error) {
	dst, err := headsOf("cache", cache, 0)
	if err != nil {
		return dst, err
	}
	clear(cache.Bytes())
	for b := range x.batch {
		from, to := x.only(b), dst.only(b)
		n := int(rows[b])
		if n < 0 || n > dst.rows-x.rows || past != nil && n > past.rows {
			return dst, graph.Mark(graph.ErrShape, "%d rows do not fit into a cache of %d from %d on", x.rows, dst.rows, n)
		}
		if past != nil {
			old := past.only(b)
			old.rows = n
			old.copyTo(&to, 0)
		}
		from.copyTo(&to, n)
	}
	return dst, nil
}

// only is one batch.
func (h heads) only(b int) heads {
	h.start, h.batch = h.start+b*h.perBatch, 1
	return h
}

// asType is x in the element type of a cache.
func (c *Run) asType(x heads, d tensor.DType) (heads, error) {
	if x.t.DType() == d {
		return x, nil
	}
	t, err := c.scratchTensor(d, x.t.Shape())
	if err != nil {
		return x, err
	}
	list, err := c.floats(x.t)
	if err != nil {
		return x, err
	}
	if d == tensor.F32 {
		copy(tensor.View[float32](t), list)
	} else if len(list) > 0 {
		c.Half.Narrow(c.Pool, floatTypes[d], list, t.Pointer())
	}
	x.t = t
	return x, nil
}

// plusBias is an operand whose rows have a vector added, as float32.
func (c *Run) plusBias(add bindings.Kernel, t *tensor.Tensor, bias []float32) (*tensor.Tensor, error) {
	out, err := c.scratchTensor(tensor.F32, t.Shape())
	if err != nil || t.Len() == 0 {
		return out, err
	}
	list, err := c.floats(t)
	if err != nil {
		return nil, err
	}
	rows, n := len(list)/len(bias), len(bias)
	bindings.EltwiseBinary(c.Pool, add, floatLane(list), floatLane(bias), floatLane(tensor.View[float32](out)), []int{rows, n, rows, n, 1, n})
	return out, nil
}

// floatLane is floats as elementwise kernels take them.
func floatLane(list []float32) bindings.Lane {
	return bindings.Lane{Data: unsafe.Pointer(unsafe.SliceData(list)), Bytes: 4}
}
