package arith

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Unique keeps one of each group of equal elements, or of equal slices along an
// axis, in ascending order or in that of first occurrence. NaNs equal each other
// and come after all numbers.
type Unique struct {
	axis   int
	flat   bool
	Sorted bool // in ascending order
	Short  bool // there is no output of first places
}

// newShortUnique is com.microsoft's: values in order of first occurrence, the group
// of every element, counts.
func newShortUnique(*op.Node) (op.Op, error) { return &Unique{flat: true, Short: true}, nil }

func newUnique(n *op.Node) (op.Op, error) {
	return &Unique{axis: n.Int("axis", 0), flat: !n.Has("axis"), Sorted: n.Bool("sorted", true)}, nil
}

// Infer leaves the number of slices open.
func (o *Unique) Infer(c *op.Infer) error {
	in := c.In[0]
	c.Set(1, tensor.I64, graph.UnknownDims(1))
	c.Set(2, tensor.I64, graph.UnknownDims(1))
	c.Set(3, tensor.I64, graph.UnknownDims(1))
	rank, ok := in.Rank()
	if o.flat {
		c.Set(0, in.DType, graph.UnknownDims(1))
		if ok {
			c.Set(2-op.Btoi(o.Short), tensor.I64, graph.Dims{in.Dims.Len()})
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

// group is the slices that are equal: the first of them, and their number.
type group struct{ first, count int }

// View returns the axis along which slices are compared, and the extents that have it.
func (o *Unique) View(x tensor.Shape) (tensor.Shape, int, error) {
	if o.flat {
		x = tensor.Shape{x.Len()}
	}
	axis, err := op.NormAxis(o.axis, len(x))
	return x, axis, err
}

// Most returns the slices.
func (o *Unique) Most(in []tensor.Shape) int {
	shape, axis, err := o.View(in[0])
	if err != nil {
		return 0
	}
	return shape[axis]
}

// Run computes the outputs that are there.
func (o *Unique) Run(c *op.Run) error {
	x := c.In[0]
	shape, axis, err := o.View(x.Shape())
	if err != nil {
		return err
	}
	s := op.ViewAlong(shape, axis)
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
		op.GatherBlocks(x, out, index, s.Outer, s.N, s.Inner)
	}
	return o.putLists(c, groups, of)
}

// putLists writes the outputs behind the first: first places, group of every slice,
// counts.
func (o *Unique) putLists(c *op.Run, groups []group, of []int) error {
	if err := c.Mem.Reserve(2 * int(unsafe.Sizeof(0)) * len(groups)); err != nil {
		return err
	}
	firsts, counts := make([]int, len(groups)), make([]int, len(groups))
	for i, g := range groups {
		firsts[i], counts[i] = g.first, g.count
	}
	for i, list := range [][]int{firsts, of, counts}[op.Btoi(o.Short):] {
		if !c.Wants(i + 1) {
			continue
		}
		t, err := c.Output(i+1, tensor.I64, tensor.Shape{len(list)})
		if err != nil {
			return err
		}
		op.PutInts(t, list)
	}
	return nil
}

// groups returns the groups in the order of the output, and the number of the
// group that each slice is in.
func (o *Unique) groups(c *op.Run, x *tensor.Tensor, s op.AxisView) (list []group, of []int, err error) {
	if err := c.Mem.Reserve(2 * int(unsafe.Sizeof(0)) * s.N); err != nil {
		return nil, nil, err
	}
	compare := o.comparison(x, s)
	order := make([]int, s.N)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(compare(a, b), a-b) })
	count := 0
	for k, i := range order {
		if k == 0 || compare(order[k-1], i) != 0 {
			count++
		}
	}
	if err := c.Mem.Reserve(groupBytes * count); err != nil {
		return nil, nil, err
	}
	of, list = make([]int, s.N), make([]group, 0, count)
	for k, i := range order {
		if k == 0 || compare(order[k-1], i) != 0 {
			list = append(list, group{first: i})
		}
		list[len(list)-1].count++
		of[i] = len(list) - 1
	}
	if o.Sorted {
		return list, of, nil
	}
	list, of = byFirstPlace(list, of)
	return list, of, nil
}

// groupBytes is the memory in bytes that putting one group in order takes.
const groupBytes = 48

// byFirstPlace puts groups in the order of their first places.
func byFirstPlace(list []group, of []int) ([]group, []int) {
	byFirst := make([]int, len(list))
	for i := range byFirst {
		byFirst[i] = i
	}
	slices.SortFunc(byFirst, func(a, b int) int { return list[a].first - list[b].first })
	moved, to := make([]group, len(list)), make([]int, len(list))
	for i, g := range byFirst {
		moved[i], to[g] = list[g], i
	}
	for i, g := range of {
		of[i] = to[g]
	}
	return moved, of
}

// comparison returns the order of slices: that of their first elements which
// differ.
func (o *Unique) comparison(x *tensor.Tensor, s op.AxisView) func(a, b int) int {
	element := elementOrder(x)
	return func(a, b int) int {
		for i := range s.Outer {
			for j := range s.Inner {
				if d := element((i*s.N+a)*s.Inner+j, (i*s.N+b)*s.Inner+j); d != 0 {
					return d
				}
			}
		}
		return 0
	}
}

// elementOrder returns a comparison of elements by their numbers.
func elementOrder(t *tensor.Tensor) func(i, j int) int {
	switch t.DType() {
	case tensor.F32:
		return orderOf(tensor.View[float32](t))
	case tensor.F64:
		return orderOf(tensor.View[float64](t))
	case tensor.F16:
		return orderOf(op.Convert(tensor.View[packed.F16](t), packed.F16.Float32))
	case tensor.BF16:
		return orderOf(op.Convert(tensor.View[packed.BF16](t), packed.BF16.Float32))
	case tensor.I8:
		return orderOf(tensor.View[int8](t))
	case tensor.I16:
		return orderOf(tensor.View[int16](t))
	case tensor.I32:
		return orderOf(tensor.View[int32](t))
	case tensor.I64:
		return orderOf(tensor.View[int64](t))
	case tensor.U16:
		return orderOf(tensor.View[uint16](t))
	case tensor.U32:
		return orderOf(tensor.View[uint32](t))
	case tensor.U64:
		return orderOf(tensor.View[uint64](t))
	case tensor.String:
		list := t.Strings()
		return func(i, j int) int { return cmp.Compare(list[i], list[j]) }
	}
	return orderOf(t.Bytes())
}

func orderOf[T op.Number](list []T) func(i, j int) int {
	return func(i, j int) int { return ascending(list[i], list[j]) }
}

var uniqueRows = []op.Row{
	{Name: "Unique", Since: []int{11}, In: [2]int{1, 1}, Out: [2]int{1, 4},
		Types: slices.Concat(op.Numeric, op.Boolean, op.Types{tensor.String}), New: newUnique},
	{Domain: op.Microsoft, Name: "Unique", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{3, 3},
		Types: slices.Concat(op.Numeric, op.Boolean, op.Types{tensor.String}), New: newShortUnique},
}
