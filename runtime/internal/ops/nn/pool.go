package nn

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// PoolKind is the function that a pooling applies to the elements of a window.
type PoolKind int

// The maximum, the average, and the norm of the order in the node.
const (
	PoolMax PoolKind = iota
	PoolAverage
	PoolNorm
)

// Pool is MaxPool, AveragePool and LpPool.
type Pool struct {
	Kind        PoolKind
	Window      *Window
	CountPad    bool    // averages count the padding
	ColumnMajor bool    // indices count the first spatial axis fastest
	P           float64 // of PoolNorm: the order
}

func newPool(kind PoolKind) func(n *op.Node) (op.Op, error) {
	return func(n *op.Node) (op.Op, error) {
		w, err := ReadWindow(n, true)
		if err != nil {
			return nil, err
		}
		o := &Pool{Kind: kind, Window: w}
		switch kind {
		case PoolMax:
			switch order := n.Int("storage_order", 0); order {
			case 0, 1:
				o.ColumnMajor = order == 1
			default:
				return nil, graph.Errorf(graph.ErrFormat, "storage_order is %d; it takes 0 or 1", order)
			}
		case PoolAverage:
			o.CountPad = n.Bool("count_include_pad", false)
		case PoolNorm:
			o.P, err = normOrder(n)
		}
		return o, err
	}
}

// normOrder reads p, a float in the first version of the operator.
func normOrder(n *op.Node) (float64, error) {
	p := 0.0
	if n.Since == 1 {
		p = float64(n.Float("p", 2))
	} else {
		p = float64(n.Int("p", 2))
	}
	if !(p > 0) || math.IsInf(p, 0) {
		return 0, graph.Errorf(graph.ErrFormat, "p is %v; it takes a number above 0", p)
	}
	return p, nil
}

// Infer applies the window to the spatial axes.
func (o *Pool) Infer(c *op.Infer) error {
	x := c.In[0]
	rank, ok := x.Rank()
	if !ok {
		c.Set(0, x.DType, nil)
		c.Set(1, tensor.I64, nil)
		return nil
	}
	if rank < 3 {
		return graph.Errorf(graph.ErrShape, "input %v has no spatial axes; it takes [batch,channels,...]", x.Dims)
	}
	w, err := o.Window.bind(rank-2, nil)
	if err != nil {
		return err
	}
	spatial, err := w.dims(x.Dims[2:])
	if err != nil {
		return err
	}
	dims := append(graph.Dims{x.Dims[0], x.Dims[1]}, spatial...)
	c.Set(0, x.DType, dims)
	if o.Kind == PoolMax {
		c.Set(1, tensor.I64, dims)
	}
	return nil
}

// Pooling describes windows that slide along the last axes of a value [Planes, in...]. Positions in
// the padding are left out; they count in averages if CountPad.
type Pooling struct {
	Planes   int
	Axes     []PoolingAxis
	CountPad bool
}

// PoolingAxis is one axis of a sliding window: the extents of input and output, the extent of the
// window, and the padding before and after the input.
type PoolingAxis struct {
	In, Out, Taps, Stride, Dilation, Pad, PadEnd int
}

// Windows returns the windows over a value of the given shape.
func (o *Pool) Windows(shape tensor.Shape) (*Pooling, error) {
	w, err := o.Window.bind(len(shape)-2, nil)
	if err != nil {
		return nil, err
	}
	r, out, err := w.resolve(shape[2:])
	if err != nil {
		return nil, err
	}
	p := &Pooling{Planes: shape[:2].Len(), CountPad: o.CountPad}
	for i := range out {
		p.Axes = append(p.Axes, PoolingAxis{In: shape[2+i], Out: out[i], Taps: r.kernel[i], Stride: r.stride[i],
			Dilation: r.dilation[i], Pad: r.padBegin[i], PadEnd: r.padEnd[i]})
	}
	return p, nil
}

// Run computes poolings that no device does.
func (o *Pool) Run(c *op.Run) error {
	p, err := o.Windows(c.In[0].Shape())
	if err != nil || c.Out[0].Len() == 0 {
		return err
	}
	if c.In[0].Len() == 0 {
		return graph.Errorf(graph.ErrShape, "windows are in padding alone")
	}
	var index []int64
	if c.Wants(1) {
		index = tensor.View[int64](c.Out[1])
	}
	x, out := c.In[0], c.Out[0]
	pace := c.Pace()
	switch {
	case o.Kind != PoolMax:
		o.slowMean(c, p)
	case x.DType() == tensor.I8:
		poolLargest(pace, o, p, tensor.View[int8](x), math.MinInt8, tensor.View[int8](out), index)
	case x.DType() == tensor.U8:
		poolLargest(pace, o, p, tensor.View[uint8](x), 0, tensor.View[uint8](out), index)
	case x.DType() == tensor.F64:
		poolLargest(pace, o, p, tensor.View[float64](x), math.Inf(-1), tensor.View[float64](out), index)
	case x.DType() == tensor.F32:
		poolLargest(pace, o, p, tensor.View[float32](x), float32(math.Inf(-1)), tensor.View[float32](out), index)
	default:
		list := make([]float64, out.Len())
		poolLargest(pace, o, p, kit.Doubles(x), math.Inf(-1), list, index)
		kit.PutDoubles(out, list)
	}
	return nil
}

// power returns |x|^p, without a logarithm for common orders.
func power(x, p float64) float64 {
	switch p {
	case 1:
		return math.Abs(x)
	case 2:
		return x * x
	case 3:
		return math.Abs(x) * x * x
	case 4:
		return (x * x) * (x * x)
	}
	return math.Pow(math.Abs(x), p)
}

// root returns the number with sum as its power p.
func root(sum, p float64) float64 {
	switch p {
	case 1:
		return sum
	case 2:
		return math.Sqrt(sum)
	case 3:
		return math.Cbrt(sum)
	}
	return math.Pow(sum, 1/p)
}

// slowMean computes averages and norms of any float type.
func (o *Pool) slowMean(c *op.Run, p *Pooling) {
	x, out := kit.Doubles(c.In[0]), make([]float64, c.Out[0].Len())
	pace := c.Pace()
	eachWindow(pace, p, func(i int, taps []int, divisor int) {
		sum := 0.0
		for _, at := range taps {
			pace.Work(4)
			if o.Kind == PoolAverage {
				sum += x[at]
			} else {
				sum += power(x[at], o.P)
			}
		}
		if o.Kind == PoolAverage {
			out[i] = sum / float64(max(divisor, 1))
		} else {
			out[i] = root(sum, o.P)
		}
	})
	kit.PutDoubles(c.Out[0], out)
}

// poolLargest ignores NaNs. If no element is left, the maximum is lowest, at the first tap or 0. Of
// equal elements, the first counts.
func poolLargest[T kit.Integer | float32 | float64](
	pace *op.Pace, o *Pool, p *Pooling, x []T, lowest T, out []T, index []int64,
) {
	eachWindow(pace, p, func(i int, taps []int, _ int) {
		best, where := lowest, 0
		if len(taps) > 0 {
			where = taps[0]
		}
		for _, at := range taps {
			pace.Work(1)
			if x[at] > best {
				best, where = x[at], at
			}
		}
		out[i] = best
		if index != nil {
			index[i] = int64(where)
			if o.ColumnMajor {
				index[i] = int64(columnMajor(p, where))
			}
		}
	})
}

// columnMajor converts the index of an element to one that counts the first spatial axis fastest.
func columnMajor(p *Pooling, at int) int {
	size, index := 1, 0
	for _, a := range p.Axes {
		size *= a.In
	}
	plane, rest, step := at/size*size, at%size, size
	for i := len(p.Axes) - 1; i >= 0; i-- {
		step /= p.Axes[i].In
		index += rest % p.Axes[i].In * step
		rest /= p.Axes[i].In
	}
	return plane + index
}

// eachWindow calls f for every output with the indices of the taps inside the input, in order, and
// the divisor of an average. f must not keep taps.
func eachWindow(pace *op.Pace, p *Pooling, f func(out int, taps []int, divisor int)) {
	rank := len(p.Axes)
	at, strides, in := make([]int, rank), make([]int, rank), 1
	for i := rank - 1; i >= 0; i-- {
		strides[i] = in
		in *= p.Axes[i].In
	}
	var taps, next []int
	out := 0
	for plane := range p.Planes {
		for more := true; more; out++ {
			taps = append(taps[:0], plane*in)
			divisor := 1
			for i, a := range p.Axes {
				first, count, counted := tapsOf(a, at[i], p.CountPad)
				divisor *= counted
				next = next[:0]
				for _, base := range taps {
					pace.Work(8 + count)
					for t := first; t < first+count; t++ {
						next = append(next, base+(at[i]*a.Stride+t*a.Dilation-a.Pad)*strides[i])
					}
				}
				taps, next = next, taps
			}
			f(out, taps, divisor)
			more = false
			for i := rank - 1; i >= 0 && !more; i-- {
				at[i]++
				if more = at[i] < p.Axes[i].Out; !more {
					at[i] = 0
				}
			}
		}
	}
}

// tapsOf returns the taps of output o that are inside the input along an axis, and the number of
// taps that count in an average.
func tapsOf(a PoolingAxis, o int, countPad bool) (first, count, counted int) {
	begin := o*a.Stride - a.Pad
	up := func(n int) int { return min(a.Taps, max(0, (n+a.Dilation-1)/a.Dilation)) }
	first, end := up(-begin), up(a.In-begin)
	count = max(end-first, 0)
	if countPad {
		return first, count, up(a.In + a.PadEnd - begin)
	}
	return first, count, count
}

// GlobalPool pools all spatial axes together.
type GlobalPool struct {
	kind PoolKind
	p    float64
}

// Reduction returns the reduction and the root that equal the pooling, and whether results are
// divided by the number of elements. ok is false for norms of orders other than 1 and 2.
func (o *GlobalPool) Reduction() (r arith.Reduction, root arith.Root, mean, ok bool) {
	switch {
	case o.kind == PoolMax:
		return arith.ReduceMax, arith.RootNone, false, true
	case o.kind == PoolAverage:
		return arith.ReduceSum, arith.RootNone, true, true
	case o.p == 1:
		return arith.ReduceSumAbs, arith.RootNone, false, true
	case o.p == 2:
		return arith.ReduceSumSquare, arith.RootSqrt, false, true
	}
	return 0, 0, false, false
}

// Norm returns the order of a pooling by norms; 0 for others.
func (o *GlobalPool) Norm() float64 {
	if o.kind == PoolNorm {
		return o.p
	}
	return 0
}

func newGlobalPool(kind PoolKind) func(n *op.Node) (op.Op, error) {
	return func(n *op.Node) (o op.Op, err error) {
		g := &GlobalPool{kind: kind}
		if kind == PoolNorm {
			g.p, err = normOrder(n)
		}
		return g, err
	}
}

// Infer sets the spatial extents to 1.
func (o *GlobalPool) Infer(c *op.Infer) error {
	x := c.In[0]
	rank, ok := x.Rank()
	if !ok {
		c.Set(0, x.DType, nil)
		return nil
	}
	if rank < 2 {
		return graph.Errorf(graph.ErrShape, "input %v has no channels; it takes [batch,channels,...]", x.Dims)
	}
	dims := graph.Dims{x.Dims[0], x.Dims[1]}
	for _, d := range x.Dims[2:] {
		if d.Is(0) {
			return graph.Errorf(graph.ErrShape, "input %v has an empty spatial axis", x.Dims)
		}
		dims = append(dims, graph.Known(1))
	}
	c.Set(0, x.DType, dims)
	return nil
}

// Run computes the output.
func (o *GlobalPool) Run(c *op.Run) error {
	shape := c.In[0].Shape()
	if shape.Len() == 0 {
		return nil
	}
	planes, n := shape[:2].Len(), shape[2:].Len()
	x, out, pace := kit.Doubles(c.In[0]), make([]float64, planes), c.Pace()
	for i := range out {
		acc := 0.0
		if o.kind == PoolMax {
			acc = math.Inf(-1)
		}
		for _, v := range x[i*n : (i+1)*n] {
			pace.Work(4)
			switch o.kind {
			case PoolMax:
				acc = max(acc, v)
			case PoolAverage:
				acc += v
			case PoolNorm:
				acc += power(v, o.p)
			}
		}
		switch o.kind {
		case PoolAverage:
			acc /= float64(n)
		case PoolNorm:
			acc = root(acc, o.p)
		}
		out[i] = acc
	}
	kit.PutDoubles(c.Out[0], out)
	return nil
}

var poolRows = []op.Row{
	{Name: "MaxPool", Since: []int{1, 8, 10, 11, 12, 22}, In: [2]int{1, 1}, Out: [2]int{1, 2},
		Types: append(op.Types{tensor.I8, tensor.U8}, op.Floats...), Heap: 8, Selects: true, Items: kit.ItemsFirstOnly(0), New: newPool(PoolMax)},
	{Name: "AveragePool", Since: []int{1, 7, 10, 11, 19, 22}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, Heap: 8, Items: kit.ItemsFirst(0), New: newPool(PoolAverage)},
	{Name: "LpPool", Since: []int{1, 2, 11, 18, 22}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, Heap: 8, Items: kit.ItemsFirst(0), New: newPool(PoolNorm)},
	{Name: "GlobalMaxPool", Since: []int{1, 22}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, Heap: 8, Selects: true, Items: kit.ItemsFirst(0), New: newGlobalPool(PoolMax)},
	{Name: "GlobalAveragePool", Since: []int{1, 22}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, Heap: 8, Items: kit.ItemsFirst(0), New: newGlobalPool(PoolAverage)},
	{Name: "GlobalLpPool", Since: []int{1, 2, 22}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, Heap: 8, Items: kit.ItemsFirst(0), New: newGlobalPool(PoolNorm)},
}
