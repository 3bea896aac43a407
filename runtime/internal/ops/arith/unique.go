package arith

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Unique keeps one of each group of equal elements, or of equal slices along an axis, in ascending
// order or in order of first occurrence. NaNs equal each other and come after all numbers.
type Unique struct {
	axis   int
	flat   bool
	Sorted bool // in ascending order
	Short  bool // there is no output of first indices
}

// newShortUnique returns the operator of com.microsoft. Its outputs are the values in order of
// first occurrence, the group of every element, and the counts.
func newShortUnique(*op.Node) (op.Op, error) { return &Unique{flat: true, Short: true}, nil }

func newUnique(n *op.Node) (op.Op, error) {
	return &Unique{axis: n.Int("axis", 0), flat: !n.Has("axis"), Sorted: n.Bool("sorted", true)}, nil
}

// Infer leaves the number of unique slices unknown.
func (o *Unique) Infer(c *op.Infer) error {
	in := c.In[0]
	c.Set(1, tensor.I64, graph.UnknownDims(1))
	c.Set(2, tensor.I64, graph.UnknownDims(1))
	c.Set(3, tensor.I64, graph.UnknownDims(1))
	rank, ok := in.Rank()
	if o.flat {
		c.Set(0, in.DType, graph.UnknownDims(1))
		if ok {
			c.Set(2-kit.Btoi(o.Short), tensor.I64, graph.Dims{in.Dims.Len()})
		}
		if ok && o.Short && rank != 1 {
			return graph.Errorf(graph.ErrShape, "input is %v; it takes one axis", in.Type)
		}
		return nil
	}
	c.Set(0, in.DType, nil)
	if !ok {
		return nil
	}
	axis, err := op.NormAxis(o.axis, rank)
	if err != nil {
		return err
	}
	c.Set(2, tensor.I64, graph.Dims{in.Dims[axis]})
	out := slices.Clone(in.Dims)
	out[axis] = graph.Unknown()
	c.Set(0, in.DType, out)
	return nil
}

// View returns the extents of the input, flat if there is no axis, and the axis of the slices.
func (o *Unique) View(x tensor.Shape) (tensor.Shape, int, error) {
	if o.flat {
		x = tensor.Shape{x.Len()}
	}
	axis, err := op.NormAxis(o.axis, len(x))
	return x, axis, err
}

// Most returns the number of slices.
func (o *Unique) Most(in []tensor.Shape) int {
	shape, axis, err := o.View(in[0])
	if err != nil {
		return 0
	}
	return shape[axis]
}

// Run computes the outputs that the node has.
func (o *Unique) Run(c *op.Run) error {
	x := c.In[0]
	shape, axis, err := o.View(x.Shape())
	if err != nil {
		return err
	}
	s := kit.ViewAlong(shape, axis)
	groups, of, err := o.groups(c, x, s)
	if err != nil {
		return err
	}
	if c.Wants(0) {
		kept := shape.Clone()
		kept[axis] = len(groups)
		out, err := c.Output(0, x.DType(), kept)
		if err != nil {
			return err
		}
		index, err := c.ScratchInt64s(len(groups))
		if err != nil {
			return err
		}
		for i, g := range groups {
			index[i] = int64(g.first)
		}
		kit.GatherBlocks(c.Pace(), x, out, index, s.Outer, s.N, s.Inner)
	}
	return o.putLists(c, groups, of)
}

// putLists writes the outputs after the first: first indices, the group of every slice, counts.
func (o *Unique) putLists(c *op.Run, groups []group, of []int64) error {
	lists := []struct {
		n   int
		put func(out []int64)
	}{
		{len(groups), func(out []int64) {
			for i, g := range groups {
				out[i] = int64(g.first)
			}
		}},
		{len(of), func(out []int64) { copy(out, of) }},
		{len(groups), func(out []int64) {
			for i, g := range groups {
				out[i] = int64(g.count)
			}
		}},
	}
	for i, list := range lists[kit.Btoi(o.Short):] {
		if !c.Wants(i + 1) {
			continue
		}
		t, err := c.Output(i+1, tensor.I64, tensor.Shape{list.n})
		if err != nil {
			return err
		}
		list.put(tensor.View[int64](t))
	}
	return nil
}

// groups returns the groups in the order of the output, and the number of the group of each slice.
func (o *Unique) groups(c *op.Run, x *tensor.Tensor, s kit.AxisView) (list []group, of []int64, err error) {
	keys, err := newUniqueKeys(c, x, s)
	if err != nil {
		return nil, nil, err
	}
	if of, err = c.ScratchInt64s(s.N); err != nil {
		return nil, nil, err
	}
	if keys.width == 1 {
		list, err = findGroups(c, of, newNumberTable(keys.list))
	} else {
		list, err = findGroups(c, of, &rowTable{keys: keys, groups: map[string]int{}})
	}
	if err != nil || !o.Sorted {
		return list, of, err
	}
	list, err = keys.sort(list, of)
	return list, of, err
}

var uniqueRows = []op.Row{
	{Name: "Unique", Since: []int{11}, In: [2]int{1, 1}, Out: [2]int{1, 4},
		Types: slices.Concat(op.Numeric, op.Boolean, op.Types{tensor.String}), Heap: 8, New: newUnique},
	{Domain: kit.Microsoft, Name: "Unique", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{3, 3},
		Types: slices.Concat(op.Numeric, op.Boolean, op.Types{tensor.String}), Heap: 8, New: newShortUnique},
}
