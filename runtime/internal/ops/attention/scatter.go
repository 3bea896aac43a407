package attention

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TensorScatter writes rows into a cache, starting at an index for each batch.
type TensorScatter struct {
	axis     int
	Circular bool // rows beyond the end of the cache continue at its beginning
}

func newTensorScatter(n *op.Node) (op.Op, error) {
	o := &TensorScatter{axis: n.Int("axis", -2)}
	switch m := n.Str("mode", "linear"); m {
	case "linear":
	case "circular":
		o.Circular = true
	default:
		return nil, graph.Errorf(graph.ErrFormat, "mode is %q; it takes linear, circular", m)
	}
	return o, nil
}

// Axis returns the axis of rows for a cache of the given rank.
func (o *TensorScatter) Axis(rank int) (int, error) {
	axis, err := op.NormAxis(o.axis, rank)
	if err == nil && axis == 0 {
		err = graph.Errorf(graph.ErrShape, "axis is the batch axis")
	}
	return axis, err
}

// Infer keeps type and shape.
func (o *TensorScatter) Infer(c *op.Infer) error {
	cache, update := c.In[0], c.In[1]
	if update.DType != cache.DType {
		return graph.Errorf(graph.ErrShape, "the cache has elements of %v and the update of %v", cache.DType, update.DType)
	}
	c.Set(0, cache.DType, cache.Dims)
	if err := checkCounts(c, 2, "write_indices"); err != nil {
		return err
	}
	if cache.Dims == nil {
		return nil
	}
	axis, err := o.Axis(len(cache.Dims))
	if err != nil || update.Dims == nil {
		return err
	}
	fits := len(update.Dims) == len(cache.Dims)
	for i := 0; fits && i < len(cache.Dims); i++ {
		fits = i == axis && !update.Dims[i].Exceeds(cache.Dims[i]) || i != axis && !differ(update.Dims[i], cache.Dims[i])
	}
	if !fits {
		return graph.Errorf(graph.ErrShape, "an update %v along axis %d does not go into a cache %v", update.Type, axis,
			cache.Type)
	}
	if c.Has(2) && c.In[2].Dims != nil && differ(c.In[2].Dims.Len(), cache.Dims[0]) {
		return graph.Errorf(graph.ErrShape, "write indices %v for a batch of %v", c.In[2].Type, cache.Dims[0])
	}
	return nil
}

// Run computes the output for strings and for elements smaller than a byte.
func (o *TensorScatter) Run(c *op.Run) error {
	cache, update := c.In[0].Shape(), c.In[1].Shape()
	axis, err := o.Axis(len(cache))
	if err != nil {
		return err
	}
	starts, err := o.starts(c, cache[0], cache[axis], update[axis])
	if err != nil {
		return err
	}
	kit.CopyInto(c.Out[0], c.In[0])
	if c.In[1].Len() == 0 {
		return nil
	}
	var list []kit.Strided
	outer, inner := cache[1:axis].Len(), cache[axis+1:].Len()
	for b, start := range starts {
		// Rows beyond the end of the cache continue at its beginning.
		first := min(update[axis], cache[axis]-start)
		for _, part := range [][3]int{{0, start, first}, {first, 0, update[axis] - first}} {
			from, to, n := part[0], part[1], part[2]
			if n == 0 {
				continue
			}
			list = append(list, kit.Strided{
				Src: c.In[1], Dst: c.Out[0],
				SrcAt: (b*outer*update[axis] + from) * inner, DstAt: (b*outer*cache[axis] + to) * inner,
				Axes: []kit.StridedAxis{{N: outer, From: update[axis] * inner, To: cache[axis] * inner},
					{N: n * inner, From: 1, To: 1}},
			})
		}
	}
	kit.CopyStrided(c.Pace(), list...)
	return nil
}

// starts returns the index of the first row of the update in each batch.
func (o *TensorScatter) starts(c *op.Run, batch, size, rows int) ([]int, error) {
	list := make([]int, batch)
	if !c.Has(2) {
		return list, nil
	}
	given, err := op.Ints(c.In[2])
	if err != nil {
		return nil, err
	}
	for i, n := range given {
		if o.Circular && size > 0 {
			n = ((n % size) + size) % size
		} else if n < 0 || n > size-rows {
			return nil, graph.Errorf(graph.ErrShape, "batch %d has index %d, and %d rows do not fit from there on into %d", i,
				n, rows, size)
		}
		list[i] = n
	}
	return list, nil
}

var tensorScatterRows = []op.Row{
	{Name: "TensorScatter", Since: []int{24}, In: [2]int{2, 3}, Out: [2]int{1, 1}, InPlace: []int{0}, New: newTensorScatter, Types: tensorScatterTypes},
}

var tensorScatterTypes = withoutTypes(tensor.U2, tensor.I2)

// withoutTypes returns all element types except the listed ones.
func withoutTypes(list ...tensor.DType) op.Types {
	var types op.Types
	for _, d := range tensor.DTypes() {
		if !op.Types(list).Has(d) {
			types = append(types, d)
		}
	}
	return types
}
