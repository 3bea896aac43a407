package arith

import (
	"cmp"
	"slices"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TopK returns the k largest or smallest elements along an axis, best first, and their indices. Of
// equal elements the one with the lower index is better. A NaN counts as larger than every number.
// The results are always sorted, whether or not the node asks for it.
type TopK struct {
	axis     int
	k        int // if no input has it
	fixed    bool
	Smallest bool
}

func newTopK(n *op.Node) (op.Op, error) {
	o := &TopK{axis: n.Int("axis", -1)}
	if n.Since < 10 {
		o.fixed, o.k = true, n.Int("k", -1)
		if o.k < 0 {
			return nil, graph.Errorf(graph.ErrFormat, "attribute k is missing or negative")
		}
		return o, nil
	}
	if n.Since >= 11 {
		o.Smallest = !n.Bool("largest", true)
		n.Ignore("sorted")
	}
	return o, nil
}

// Infer sets the extent of the axis to k.
func (o *TopK) Infer(c *op.Infer) error {
	in := c.In[0]
	k := graph.Known(o.k)
	if !o.fixed {
		var err error
		if k, err = c.ScalarDim(1, "k"); err != nil {
			return err
		}
	}
	c.Set(0, in.DType, nil)
	c.Set(1, tensor.I64, nil)
	rank, ok := in.Rank()
	if !ok {
		return nil
	}
	axis, err := op.NormAxis(o.axis, rank)
	if err != nil {
		return err
	}
	if err := checkK(k, in.Dims[axis]); err != nil {
		return err
	}
	out := slices.Clone(in.Dims)
	out[axis] = k
	c.Set(0, in.DType, out)
	c.Set(1, tensor.I64, out)
	return nil
}

func checkK(k, n graph.Dim) error {
	a, known := k.Value()
	b, bound := n.Value()
	if known && (a < 0 || bound && a > b) {
		return graph.Errorf(graph.ErrShape, "k is %v on an axis of %v elements", k, n)
	}
	return nil
}

// View returns the view of an input of the given shape along the axis.
func (o *TopK) View(shape tensor.Shape) (kit.AxisView, error) {
	axis, err := o.Axis(len(shape))
	if err != nil {
		return kit.AxisView{}, err
	}
	return kit.ViewAlong(shape, axis), nil
}

// Axis returns the axis for an input of the given rank.
func (o *TopK) Axis(rank int) (int, error) { return op.NormAxis(o.axis, rank) }

// K returns the number of results per lane, if known.
func (o *TopK) K(in []*op.Value) (k int, known bool) {
	if o.fixed {
		return o.k, true
	}
	list, known := in[1].KnownInts()
	if !known || len(list) != 1 {
		return 0, false
	}
	return list[0], true
}

// Run computes the outputs that the node has.
func (o *TopK) Run(c *op.Run) error {
	x, k := c.In[0], o.k
	if !o.fixed {
		var err error
		if k, err = op.ScalarInt(c.In[1], "k"); err != nil {
			return err
		}
	}
	axis, err := op.NormAxis(o.axis, len(x.Shape()))
	if err != nil {
		return err
	}
	n := x.Shape()[axis]
	if err := checkK(graph.Known(k), graph.Known(n)); err != nil {
		return err
	}
	var shape tensor.Shape
	if slices.Contains(c.Out, nil) {
		shape = x.Shape().Clone()
		shape[axis] = k
	}
	from := kit.ViewAlong(x.Shape(), axis)
	where, err := o.places(c, from.Outer*k*from.Inner, shape)
	if err != nil {
		return err
	}
	if err := o.find(c, x, from, k, where); err != nil || !c.Wants(0) {
		return err
	}
	values, err := c.Output(0, x.DType(), shape)
	if err == nil {
		takeLanes(values, x, from, k, where)
	}
	return err
}

// places returns memory for the n indices: output 1 with the given shape, or scratch memory.
func (o *TopK) places(c *op.Run, n int, shape tensor.Shape) ([]int64, error) {
	if !c.Wants(1) {
		return c.ScratchInt64s(n)
	}
	t, err := c.Output(1, tensor.I64, shape)
	if err != nil {
		return nil, err
	}
	return tensor.View[int64](t), nil
}

// find writes the indices of the k best elements of every lane.
func (o *TopK) find(c *op.Run, x *tensor.Tensor, s kit.AxisView, k int, where []int64) error {
	switch d := x.DType(); {
	case d == tensor.F64:
		return findTop(o, c, tensor.View[float64](x), s, k, where, float64Key)
	case d.IsFloat():
		return findTop(o, c, wideElements[float32](x), s, k, where, float32Key)
	case d == tensor.U64:
		return findTop(o, c, tensor.View[uint64](x), s, k, where, func(v uint64) uint64 { return v })
	case d == tensor.I64 || d == tensor.U32:
		return findTop(o, c, wideElements[int64](x), s, k, where, int64Key)
	}
	return findTop(o, c, wideElements[int32](x), s, k, where, int32Key)
}

// wideElements returns the elements of a tensor as T: its own memory if they are of that type, or
// else copies.
func wideElements[T float32 | int32 | int64](x *tensor.Tensor) []T {
	if x.DType() == tensor.Of[T]() {
		return tensor.View[T](x)
	}
	list := make([]T, x.Len())
	elements.Get(list, x, 0)
	return list
}

// ascending compares numbers. NaNs are equal to each other and above all other numbers.
func ascending[T kit.Number](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	}
	return kit.Btoi(a != a) - kit.Btoi(b != b)
}

// ranked is an element of a lane with its index.
type ranked[T kit.Number] struct {
	v  T
	at int
}

// findTop writes the indices of the k best elements of every lane. key must order numbers as
// ascending does.
func findTop[T kit.Number](o *TopK, c *op.Run, x []T, s kit.AxisView, k int, where []int64, key func(T) uint64) error {
	if k == 0 {
		return nil
	}
	if k > fewBest && k >= s.N/manyBest {
		return sortTop(o, c, x, s, k, where, key)
	}
	rank := func(a, b ranked[T]) int { return cmp.Or(ascending(b.v, a.v), a.at-b.at) }
	if o.Smallest {
		rank = func(a, b ranked[T]) int { return cmp.Or(ascending(a.v, b.v), a.at-b.at) }
	}
	var few [fewBest]ranked[T]
	best, pace := few[:0], c.Pace()
	if k > fewBest {
		best = make([]ranked[T], 0, k)
	}
	for a := range s.Outer {
		for i := range s.Inner {
			at := a*s.N*s.Inner + i
			if best = best[:0]; k <= fewBest {
				pace.Work(8 + 2*s.N)
				best = insertBest(o.Smallest, best, k, x[at:], s)
			} else {
				for j := range k {
					pace.Work(32)
					best = keepBest(best, k, ranked[T]{x[at+j*s.Inner], j}, rank)
				}
				best = keepLater(pace, o.Smallest, best, x[at:], s, rank)
				slices.SortFunc(best, func(a, b ranked[T]) int {
					pace.Work(8)
					return rank(a, b)
				})
			}
			to := a*k*s.Inner + i
			for j, r := range best {
				where[to+j*s.Inner] = int64(r.at)
			}
		}
	}
	return nil
}

// fewBest is the largest k for which the best are kept in order, not in a heap.
const fewBest = 32

// insertBest returns the k best elements of a lane, best first.
func insertBest[T kit.Number](smallest bool, best []ranked[T], k int, x []T, s kit.AxisView) []ranked[T] {
	n, inner, at := s.N, s.Inner, 0
	var worst T
	for j := range n {
		v := x[at]
		at += inner
		if j >= k && (smallest && v >= worst || !smallest && v <= worst) {
			continue
		}
		i := len(best)
		if i < k {
			best = append(best, ranked[T]{})
		} else if i--; !ahead(smallest, v, worst) {
			continue
		}
		for ; i > 0 && ahead(smallest, v, best[i-1].v); i-- {
			best[i] = best[i-1]
		}
		best[i] = ranked[T]{v, j}
		worst = best[len(best)-1].v
	}
	return best
}

// ahead reports whether v ranks before w regardless of their indices. A NaN is above all numbers.
func ahead[T kit.Number](smallest bool, v, w T) bool {
	if smallest {
		return v < w || w != w && v == v
	}
	return v > w || v != v && w == w
}

// keepLater adds the elements of a lane from index k on to the heap of the first k. Most elements
// are no better than the worst in the heap; of equal elements, the first ranks higher.
func keepLater[T kit.Number](
	pace *op.Pace, smallest bool, best []ranked[T], x []T, s kit.AxisView, rank func(a, b ranked[T]) int,
) []ranked[T] {
	k, worst := len(best), best[0].v
	for j := k; j < s.N; j++ {
		v := x[j*s.Inner]
		pace.Work(1)
		if smallest {
			if v >= worst {
				continue
			}
		} else if v <= worst {
			continue
		}
		pace.Work(256)
		best = keepBest(best, k, ranked[T]{v, j}, rank)
		worst = best[0].v
	}
	return best
}

// keepBest adds e to a heap of the k best elements so far, with the worst on top.
func keepBest[T kit.Number](heap []ranked[T], k int, e ranked[T], rank func(a, b ranked[T]) int) []ranked[T] {
	if len(heap) < k {
		heap = append(heap, e)
		for i := len(heap) - 1; i > 0 && rank(heap[i], heap[(i-1)/2]) > 0; i = (i - 1) / 2 {
			heap[i], heap[(i-1)/2] = heap[(i-1)/2], heap[i]
		}
		return heap
	}
	if rank(e, heap[0]) > 0 {
		return heap
	}
	heap[0] = e
	for i := 0; ; {
		worst := i
		for j := 2*i + 1; j <= 2*i+2 && j < k; j++ {
			if rank(heap[j], heap[worst]) > 0 {
				worst = j
			}
		}
		if worst == i {
			return heap
		}
		heap[i], heap[worst] = heap[worst], heap[i]
		i = worst
	}
}

// takeLanes copies, for every lane of src, the k elements with the indices in where.
func takeLanes(dst, src *tensor.Tensor, s kit.AxisView, k int, where []int64) {
	switch kit.Width(src.DType()) {
	case 1:
		takeElements[uint8](dst, src, s, k, where)
	case 2:
		takeElements[uint16](dst, src, s, k, where)
	case 4:
		takeElements[uint32](dst, src, s, k, where)
	case 8:
		takeElements[uint64](dst, src, s, k, where)
	}
}

func takeElements[T kit.Integer](dst, src *tensor.Tensor, s kit.AxisView, k int, where []int64) {
	from, to := tensor.View[T](src), tensor.View[T](dst)
	for row := range len(where) / max(s.Inner, 1) {
		lanes, outer := row*s.Inner, row/k*s.N*s.Inner
		for i, j := range where[lanes:][:s.Inner] {
			to[lanes+i] = from[outer+int(j)*s.Inner+i]
		}
	}
}

var topKRows = []op.Row{
	{Name: "TopK", Since: []int{1, 10, 11, 24}, In: [2]int{1, 1}, Later: []op.Arity{{Since: 10, In: [2]int{2, 2}}}, Out: [2]int{1, 2}, Types: op.Numeric, Heap: 8, Items: kit.ItemsBeside(-1), New: newTopK},
}
