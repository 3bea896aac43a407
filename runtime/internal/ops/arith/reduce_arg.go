package arith

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// ArgReduce is the operators ArgMax and ArgMin: the index of the largest or smallest element along
// an axis. In both, a NaN wins over every number.
type ArgReduce struct {
	axis    int
	keep    bool
	Last    bool // of equal elements, choose the last, not the first
	Largest bool
}

func newArgReduce(largest bool) func(n *op.Node) (op.Op, error) {
	return func(n *op.Node) (op.Op, error) {
		o := &ArgReduce{axis: n.Int("axis", 0), keep: n.Bool("keepdims", true), Largest: largest}
		if n.Since >= 12 {
			o.Last = n.Bool("select_last_index", false)
		}
		return o, nil
	}
}

// Infer removes the axis, or makes its extent 1.
func (o *ArgReduce) Infer(c *op.Infer) error {
	rank, ok := c.In[0].Rank()
	if !ok {
		c.Set(0, tensor.I64, nil)
		return nil
	}
	// A scalar has one element; axis 0 may name it.
	if rank == 0 && (o.axis == 0 || o.axis == -1) {
		c.Set(0, tensor.I64, graph.Dims{})
		return nil
	}
	axis, err := op.NormAxis(o.axis, rank)
	if err != nil {
		return err
	}
	if c.In[0].Dims[axis].Is(0) {
		return graph.Errorf(graph.ErrShape, "axis %d is empty", o.axis)
	}
	reduced := make([]bool, rank)
	reduced[axis] = true
	c.Set(0, tensor.I64, reducedDims(c.In[0].Dims, reduced, o.keep))
	return nil
}

// View returns the view of an input of the given shape along the axis.
func (o *ArgReduce) View(shape tensor.Shape) (kit.AxisView, error) {
	if len(shape) == 0 {
		shape = tensor.Shape{1}
	}
	axis, err := o.Axis(len(shape))
	if err != nil {
		return kit.AxisView{}, err
	}
	return kit.ViewAlong(shape, axis), nil
}

// Axis returns the axis for an input of the given rank.
func (o *ArgReduce) Axis(rank int) (int, error) { return op.NormAxis(o.axis, rank) }

// Run computes the output.
func (o *ArgReduce) Run(c *op.Run) error {
	x := c.In[0]
	s, err := o.View(x.Shape())
	if err != nil {
		return err
	}
	out := tensor.View[int64](c.Out[0])
	if len(out) == 0 {
		return nil
	}
	switch x.DType() {
	case tensor.F32:
		argBest(c.Pace(), o, tensor.View[float32](x), s, out)
	case tensor.F64:
		argBest(c.Pace(), o, tensor.View[float64](x), s, out)
	case tensor.F16, tensor.BF16:
		argBest(c.Pace(), o, wideElements[float32](x), s, out)
	case tensor.I8:
		argBest(c.Pace(), o, tensor.View[int8](x), s, out)
	case tensor.I16:
		argBest(c.Pace(), o, tensor.View[int16](x), s, out)
	case tensor.I32:
		argBest(c.Pace(), o, tensor.View[int32](x), s, out)
	case tensor.I64:
		argBest(c.Pace(), o, tensor.View[int64](x), s, out)
	case tensor.U8:
		argBest(c.Pace(), o, tensor.View[uint8](x), s, out)
	case tensor.U16:
		argBest(c.Pace(), o, tensor.View[uint16](x), s, out)
	case tensor.U32:
		argBest(c.Pace(), o, tensor.View[uint32](x), s, out)
	case tensor.U64:
		argBest(c.Pace(), o, tensor.View[uint64](x), s, out)
	}
	return nil
}

// Beyond is a > b, with a NaN greater than every number.
func Beyond[T float32 | float64](a, b T) bool { return a > b || a != a && b == b }

// argColumns is the largest number of adjacent lanes that are searched together.
const argColumns = 256

// argBest writes the index of the best element of every lane.
func argBest[T kit.Number](pace *op.Pace, o *ArgReduce, x []T, s kit.AxisView, out []int64) {
	for a := range s.Outer {
		lanes, where := x[a*s.N*s.Inner:][:s.N*s.Inner], out[a*s.Inner:][:s.Inner]
		if s.Inner == 1 {
			pace.Work(8 + s.N)
			where[0] = argLane(o, lanes)
			continue
		}
		for i := 0; i < s.Inner; i += argColumns {
			pace.Work(argColumns * s.N)
			argLanes(o, lanes[i:], s, where[i:min(i+argColumns, s.Inner)])
		}
	}
}

// argLane returns the index of the best element of x.
func argLane[T kit.Number](o *ArgReduce, x []T) int64 {
	best, where := x[0], 0
	if o.Largest {
		for k, v := range x[1:] {
			if v < best || v == best && !o.Last {
				continue
			}
			if argTakes(v, best, o.Last) {
				best, where = v, k+1
			}
		}
		return int64(where)
	}
	for k, v := range x[1:] {
		if v > best || v == best && !o.Last {
			continue
		}
		if argTakes(v, best, o.Last) {
			best, where = v, k+1
		}
	}
	return int64(where)
}

// argLanes is argLane for at most argColumns adjacent lanes.
func argLanes[T kit.Number](o *ArgReduce, x []T, s kit.AxisView, where []int64) {
	var room [argColumns]T
	best := room[:len(where)]
	copy(best, x)
	clear(where)
	for k := 1; k < s.N; k++ {
		row := x[k*s.Inner:][:len(best)]
		if o.Largest {
			for i, v := range row {
				if v < best[i] || v == best[i] && !o.Last {
					continue
				}
				if argTakes(v, best[i], o.Last) {
					best[i], where[i] = v, int64(k)
				}
			}
			continue
		}
		for i, v := range row {
			if v > best[i] || v == best[i] && !o.Last {
				continue
			}
			if argTakes(v, best[i], o.Last) {
				best[i], where[i] = v, int64(k)
			}
		}
	}
}

// argTakes reports whether v replaces the best element so far. The caller has excluded that v is
// worse, or that it is equal and the first of equals counts; one of them may be a NaN.
func argTakes[T kit.Number](v, best T, last bool) bool { return best == best || v != v && last }

// Cumulate is the operators CumSum and CumProd: sums or products of the elements up to each
// position along an axis.
type Cumulate struct {
	Product   bool
	Exclusive bool // leave out the element itself
	Reverse   bool // start at the last element
}

func newCumulate(product bool) func(n *op.Node) (op.Op, error) {
	return func(n *op.Node) (op.Op, error) {
		return &Cumulate{product, n.Bool("exclusive", false), n.Bool("reverse", false)}, nil
	}
}

// Infer keeps type and shape.
func (o *Cumulate) Infer(c *op.Infer) error {
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// View returns the view of an input of the given shape along the axis in input 1.
func (o *Cumulate) View(shape tensor.Shape, input *tensor.Tensor) (kit.AxisView, error) {
	axis, err := op.ScalarInt(input, "axis")
	if err != nil {
		return kit.AxisView{}, err
	}
	if axis, err = op.NormAxis(axis, len(shape)); err != nil {
		return kit.AxisView{}, err
	}
	return kit.ViewAlong(shape, axis), nil
}

// Run computes the output.
func (o *Cumulate) Run(c *op.Run) error {
	x, out := c.In[0], c.Out[0]
	s, err := o.View(x.Shape(), c.In[1])
	if err != nil || x.Len() == 0 {
		return err
	}
	switch x.DType() {
	case tensor.F64:
		running(c.Pace(), o, tensor.View[float64](x), s, tensor.View[float64](out))
	case tensor.I8, tensor.U8:
		running(c.Pace(), o, tensor.View[uint8](x), s, tensor.View[uint8](out))
	case tensor.I16, tensor.U16:
		running(c.Pace(), o, tensor.View[uint16](x), s, tensor.View[uint16](out))
	case tensor.I32, tensor.U32:
		running(c.Pace(), o, tensor.View[uint32](x), s, tensor.View[uint32](out))
	case tensor.I64, tensor.U64:
		running(c.Pace(), o, tensor.View[uint64](x), s, tensor.View[uint64](out))
	default:
		src, err := c.Floats(x)
		if err != nil {
			return err
		}
		dst, err := c.FloatsFor(out)
		if err != nil {
			return err
		}
		running(c.Pace(), o, src, s, dst)
		c.PutFloats(out, dst)
	}
	return nil
}

// running writes the partial sums or products. Signed and unsigned integers wrap around alike.
func running[T float32 | float64 | uint8 | uint16 | uint32 | uint64](
	pace *op.Pace, o *Cumulate, x []T, s kit.AxisView, out []T,
) {
	size := s.N * s.Inner
	for a := range s.Outer {
		pace.Work(8 + size)
		if s.Inner == 1 {
			runningLane(o, x[a*size:][:size], out[a*size:][:size])
		} else {
			runningRows(o, x[a*size:][:size], s, out[a*size:][:size])
		}
	}
}

// runningLane is running for one lane.
func runningLane[T float32 | float64 | uint8 | uint16 | uint32 | uint64](o *Cumulate, x, out []T) {
	at, step := 0, 1
	if o.Reverse {
		at, step = len(x)-1, -1
	}
	var sum T
	if o.Product {
		sum = 1
	}
	for range x {
		v := x[at]
		if o.Exclusive {
			out[at] = sum
		}
		if o.Product {
			sum *= v
		} else {
			sum += v
		}
		if !o.Exclusive {
			out[at] = sum
		}
		at += step
	}
}

// runningRows is running for adjacent lanes. It computes each row from the row before.
func runningRows[T float32 | float64 | uint8 | uint16 | uint32 | uint64](o *Cumulate, x []T, s kit.AxisView, out []T) {
	var before int
	for k := range s.N {
		at := k * s.Inner
		if o.Reverse {
			at = (s.N - 1 - k) * s.Inner
		}
		y, v := out[at:][:s.Inner], x[at:][:s.Inner]
		switch {
		case k == 0 && !o.Exclusive:
			copy(y, v)
		case k == 0:
			for i := range y {
				y[i] = T(kit.Btoi(o.Product))
			}
		default:
			if o.Exclusive {
				v = x[before:][:s.Inner]
			}
			runningRow(o.Product, out[before:][:s.Inner], v, y)
		}
		before = at
	}
}

// runningRow sets y to the sums or products of a and b.
func runningRow[T float32 | float64 | uint8 | uint16 | uint32 | uint64](product bool, a, b, y []T) {
	a, b = a[:len(y)], b[:len(y)]
	if product {
		for i := range y {
			y[i] = a[i] * b[i]
		}
		return
	}
	for i := range y {
		y[i] = a[i] + b[i]
	}
}
