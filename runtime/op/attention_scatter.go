package op

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// tensorScatter writes rows into a cache, in each batch from an index of its own
// on.
type tensorScatter struct {
	axis     int
	circular bool
}

func newTensorScatter(n *Node) (Op, error) {
	o := &tensorScatter{axis: n.Int("axis", -2)}
	switch m := n.Str("mode", "linear"); m {
	case "linear":
	case "circular":
		o.circular = true
	default:
		return nil, graph.Mark(graph.ErrFormat, "mode is %q; it takes linear, circular", m)
	}
	return o, nil
}

// Infer keeps type and shape.
func (o *tensorScatter) Infer(c *Infer) error {
	if c.In[1].DType != c.In[0].DType {
		return graph.Mark(graph.ErrShape, "the cache has elements of %v and the update of %v", c.In[0].DType, c.In[1].DType)
	}
	if rank, ok := c.In[0].Rank(); ok {
		if axis, err := normAxis(o.axis, rank); err != nil {
			return err
		} else if axis == 0 {
			return graph.Mark(graph.ErrShape, "axis is that of the batch")
		}
	}
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// Run computes the output, which may lie over the cache.
func (o *tensorScatter) Run(c *Run) error {
	cache, update := c.In[0].Shape(), c.In[1].Shape()
	axis, err := normAxis(o.axis, len(cache))
	if err != nil {
		return err
	}
	if len(update) != len(cache) || axis == 0 {
		return graph.Mark(graph.ErrShape, "an update %v along axis %d does not go into a cache %v", update, axis, cache)
	}
	for i, n := range cache {
		if update[i] != n && (i != axis || update[i] > n) {
			return graph.Mark(graph.ErrShape, "an update %v along axis %d does not go into a cache %v", update, axis, cache)
		}
	}
	starts, err := o.starts(c, cache[0], cache[axis], update[axis])
	if err != nil {
		return err
	}
	copyInto(c.Out[0], c.In[0])
	if c.In[1].Len() == 0 {
		return nil
	}
	var list []stridedCopy
	outer, inner := cache[1:axis].Len(), cache[axis+1:].Len()
	for b, start := range starts {
		// Rows that do not fit behind the start go on at the beginning.
		first := min(update[axis], cache[axis]-start)
		for _, part := range [][3]int{{0, start, first}, {first, 0, update[axis] - first}} {
			from, to, n := part[0], part[1], part[2]
			if n == 0 {
				continue
			}
			list = append(list, stridedCopy{
				src: c.In[1], dst: c.Out[0],
				srcAt: (b*outer*update[axis] + from) * inner, dstAt: (b*outer*cache[axis] + to) * inner,
				axes: []copyAxis{{outer, update[axis] * inner, cache[axis] * inner}, {n * inner, 1, 1}},
			})
		}
	}
	copyStrided(list...)
	return nil
}

// starts is where the update begins in each batch.
func (o *tensorScatter) starts(c *Run, batch, size, rows int) ([]int, error) {
	list := make([]int, batch)
	if !c.Has(2) {
		return list, nil
	}
	given, err := Ints(c.In[2])
	if err != nil {
		return nil, err
	}
	if len(given) != batch {
		return nil, graph.Mark(graph.ErrShape, "%d write indices for a batch of %d", len(given), batch)
	}
	for i, n := range given {
		if o.circular && size > 0 {
			n = ((n % size) + size) % size
		} else if n < 0 || n > size-rows {
			return nil, graph.Mark(graph.ErrShape, "%d rows do not fit into %d from index %d on", rows, size, n)
		}
		list[i] = n
	}
	return list, nil
}

var tensorScatterRows = []Row{
	{Name: "TensorScatter", Since: []int{24}, In: [2]int{2, 3}, Out: [2]int{1, 1}, InPlace: []int{0}, New: newTensorScatter, Types: tensorScatterTypes},
}

var tensorScatterTypes = withoutTypes(tensor.U2, tensor.I2)

// withoutTypes is every element type but some.
func withoutTypes(list ...tensor.DType) Types {
	var types Types
	for _, d := range tensor.DTypes() {
		if !Types(list).Has(d) {
			types = append(types, d)
		}
	}
	return types
}
