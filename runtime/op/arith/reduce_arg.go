package arith

import (
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// argReduce finds where along an axis the largest or smallest element is. A NaN
// counts as beyond every number.
type argReduce struct {
	axis       int
	keep, last bool
	largest    bool
}

func newArgReduce(largest bool) func(n *op.Node) (op.Op, error) {
	return func(n *op.Node) (op.Op, error) {
		o := &argReduce{axis: n.Int("axis", 0), keep: n.Bool("keepdims", true), largest: largest}
		if n.Since >= 12 {
			o.last = n.Bool("select_last_index", false)
		}
		return o, nil
	}
}

// Infer drops the axis, or makes it 1.
func (o *argReduce) Infer(c *op.Infer) error {
	rank, ok := c.In[0].Rank()
	if !ok {
		c.Set(0, tensor.I64, nil)
		return nil
	}
	// A scalar has one element, which axis 0 may name.
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

// Run computes the output.
func (o *argReduce) Run(c *op.Run) error {
	x := c.In[0]
	shape := x.Shape()
	if len(shape) == 0 {
		shape = tensor.Shape{1}
	}
	axis, err := op.NormAxis(o.axis, len(shape))
	if err != nil {
		return err
	}
	s := op.ViewAlong(shape, axis)
	out := tensor.View[int64](c.Out[0])
	if len(out) == 0 {
		return nil
	}
	switch x.DType() {
	case tensor.F32:
		argFloats(o, tensor.View[float32](x), s, out)
	case tensor.F64:
		argFloats(o, tensor.View[float64](x), s, out)
	case tensor.F16:
		argWide(o, tensor.View[packed.F16](x), s, out)
	case tensor.BF16:
		argWide(o, tensor.View[packed.BF16](x), s, out)
	case tensor.I8:
		argInts(o, tensor.View[int8](x), s, out)
	case tensor.I16:
		argInts(o, tensor.View[int16](x), s, out)
	case tensor.I32:
		argInts(o, tensor.View[int32](x), s, out)
	case tensor.I64:
		argInts(o, tensor.View[int64](x), s, out)
	case tensor.U8:
		argInts(o, tensor.View[uint8](x), s, out)
	case tensor.U16:
		argInts(o, tensor.View[uint16](x), s, out)
	case tensor.U32:
		argInts(o, tensor.View[uint32](x), s, out)
	case tensor.U64:
		argInts(o, tensor.View[uint64](x), s, out)
	}
	return nil
}

// Beyond is a > b, with a NaN greater than every number.
func Beyond[T float32 | float64](a, b T) bool { return a > b || a != a && b == b }

// under is a < b, with a NaN smaller than every number.
func under[T float32 | float64](a, b T) bool { return a < b || a != a && b == b }

func argFloats[T float32 | float64](o *argReduce, x []T, s op.AxisView, out []int64) {
	if o.largest {
		argBest(o, x, s, out, Beyond[T])
	} else {
		argBest(o, x, s, out, under[T])
	}
}

func argInts[T op.Integer](o *argReduce, x []T, s op.AxisView, out []int64) {
	if o.largest {
		argBest(o, x, s, out, func(a, b T) bool { return a > b })
	} else {
		argBest(o, x, s, out, func(a, b T) bool { return a < b })
	}
}

func argWide[T interface{ Float32() float32 }](o *argReduce, x []T, s op.AxisView, out []int64) {
	better := under[float32]
	if o.largest {
		better = Beyond[float32]
	}
	argBest(o, x, s, out, func(a, b T) bool { return better(a.Float32(), b.Float32()) })
}

func argBest[T any](o *argReduce, x []T, s op.AxisView, out []int64, better func(a, b T) bool) {
	for a := range s.Outer {
		for i := range s.Inner {
			at := a*s.N*s.Inner + i
			best, where := x[at], 0
			for k := 1; k < s.N; k++ {
				v := x[at+k*s.Inner]
				if better(v, best) || o.last && !better(best, v) {
					best, where = v, k
				}
			}
			out[a*s.Inner+i] = int64(where)
		}
	}
}

// cumulate adds up, or multiplies, along an axis.
type cumulate struct{ product, exclusive, reverse bool }

func newCumulate(product bool) func(n *op.Node) (op.Op, error) {
	return func(n *op.Node) (op.Op, error) {
		return &cumulate{product, n.Bool("exclusive", false), n.Bool("reverse", false)}, nil
	}
}

// Infer keeps type and shape.
func (o *cumulate) Infer(c *op.Infer) error {
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// Run computes the output.
func (o *cumulate) Run(c *op.Run) error {
	axes, err := op.Ints(c.In[1])
	if err != nil {
		return err
	}
	x, out := c.In[0], c.Out[0]
	if len(axes) != 1 {
		return graph.Errorf(graph.ErrShape, "axis is %v; it takes one number", c.In[1])
	}
	axis, err := op.NormAxis(axes[0], len(x.Shape()))
	if err != nil || x.Len() == 0 {
		return err
	}
	s := op.ViewAlong(x.Shape(), axis)
	switch x.DType() {
	case tensor.F64:
		running(o, tensor.View[float64](x), s, tensor.View[float64](out))
	case tensor.I8, tensor.U8:
		running(o, tensor.View[uint8](x), s, tensor.View[uint8](out))
	case tensor.I16, tensor.U16:
		running(o, tensor.View[uint16](x), s, tensor.View[uint16](out))
	case tensor.I32, tensor.U32:
		running(o, tensor.View[uint32](x), s, tensor.View[uint32](out))
	case tensor.I64, tensor.U64:
		running(o, tensor.View[uint64](x), s, tensor.View[uint64](out))
	default:
		src, err := c.Floats(x)
		if err != nil {
			return err
		}
		dst, err := c.FloatsFor(out)
		if err != nil {
			return err
		}
		running(o, src, s, dst)
		c.PutFloats(out, dst)
	}
	return nil
}

// running writes the partial sums or products. Integers wrap around alike whatever their sign.
func running[T float32 | float64 | uint8 | uint16 | uint32 | uint64](o *cumulate, x []T, s op.AxisView, out []T) {
	for a := range s.Outer {
		for i := range s.Inner {
			at, step := a*s.N*s.Inner+i, s.Inner
			if o.reverse {
				at, step = at+(s.N-1)*s.Inner, -s.Inner
			}
			var sum T
			if o.product {
				sum = 1
			}
			for range s.N {
				v := x[at]
				if o.exclusive {
					out[at] = sum
				}
				if o.product {
					sum *= v
				} else {
					sum += v
				}
				if !o.exclusive {
					out[at] = sum
				}
				at += step
			}
		}
	}
}
