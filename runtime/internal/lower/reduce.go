package lower

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Lanes is a value [Outer,N,Inner]. Its lanes have N elements.
type Lanes struct{ Outer, N, Inner graph.Dim }

// Along returns the lanes along one axis.
func Along(dims graph.Dims, axis int) Lanes {
	return Lanes{dims[:axis].Len(), dims[axis], dims[axis+1:].Len()}
}

// Reduction makes one result of each lane.
type Reduction struct {
	Lanes
	First    arith.Reduction
	Logs     bool      // compute the logarithm of the sum of exponentials; First is ignored
	Divisor  graph.Dim // of results, ahead of the root
	Root     arith.Root
	From, To tensor.DType
	X, Y     device.Operand
}

// Reductions returns the rows of operators that reduce axes.
func Reductions[B Binder]() []device.Row[B] {
	return []device.Row[B]{
		row[B]("reduce", bindReduce).Reading(),
		row[B]("reduce", bindGlobalPool),
		row[B]("reduce", bindSumLike),
	}
}

func bindReduce(o *arith.Reduce, b Binder) error {
	f := b.Facts()
	reduced, known, err := o.Reduced(f.In)
	if err != nil {
		return err
	}
	if !known {
		return &device.NeedValue{Input: 1}
	}
	dims := f.In[0].Dims
	if dims.Len().Is(0) {
		none, err := o.Empty(f.DType(0))
		if err != nil {
			return device.Refuse("%v", err)
		}
		return fill(b, none)
	}
	r := Reduction{First: o.First, Logs: o.Logs, Root: o.Root, Divisor: graph.Known(1)}
	for i, n := range dims {
		if o.Mean && reduced[i] {
			r.Divisor = r.Divisor.Mul(n)
		}
	}
	return reduce(b, reduced, r)
}

// fill writes an element to all places of output 0.
func fill(b Binder, element *tensor.Tensor) error {
	n := b.Facts().Out[0].Dims.Len()
	return b.Move(&Move{DType: element.DType(), From: constant(element), To: b.Output(0),
		Copies: []array.Copy{{Axes: []array.CopyAxis{{N: n, To: graph.Known(1)}}}}})
}

// bindSumLike sums over the axes along which a value was stretched.
func bindSumLike(o arith.SumLike, b Binder) error {
	f := b.Facts()
	x, like := f.Shape(0), f.Shape(1)
	if x == nil || like == nil {
		return device.Refuse("extents %v and %v are not known", f.In[0].Dims, f.In[1].Dims)
	}
	reduced, err := o.Reduced(x, like)
	if err != nil {
		return err
	}
	return reduce(b, reduced, Reduction{First: arith.ReduceSum, Divisor: graph.Known(1)})
}

func bindGlobalPool(o *nn.GlobalPool, b Binder) error {
	f := b.Facts()
	r, err := GlobalPool(o, Along(graph.Dims{f.In[0].Dims[:2].Len(), f.In[0].Dims[2:].Len()}, 1))
	if err != nil {
		return err
	}
	r.From, r.To, r.X, r.Y = f.DType(0), f.Out[0].DType, b.Input(0), b.Output(0)
	return b.Reduce(r)
}

// GlobalPool returns the reduction of planes in the given lanes.
func GlobalPool(o *nn.GlobalPool, planes Lanes) (*Reduction, error) {
	first, root, mean, ok := o.Reduction()
	if !ok {
		return nil, device.Refuse("norms of order %g are computed in Go", o.Norm())
	}
	r := &Reduction{Lanes: planes, First: first, Root: root, Divisor: graph.Known(1)}
	if mean {
		r.Divisor = planes.N
	}
	return r, nil
}

// reduce reduces axes of input 0 to output 0. All but the first reduction join partial results.
func reduce(b Binder, reduced []bool, r Reduction) error {
	f := b.Facts()
	r.From, r.To, r.X, r.Y = f.DType(0), f.Out[0].DType, b.Input(0), b.Output(0)
	return Reduce(b, f.In[0].Dims, reduced, r)
}

// Reduce reduces axes of a value with extents dims, one run of neighbouring axes after another. The
// lanes of r are ignored.
func Reduce(b Binder, dims graph.Dims, reduced []bool, r Reduction) error {
	list := lanesOf(dims, reduced)
	for i, lanes := range list {
		part := r
		if part.Lanes = lanes; i < len(list)-1 {
			n, ok := b.Facts().Max(lanes.Outer.Mul(lanes.Inner))
			if !ok {
				return device.Refuse("extents %v are not known", dims)
			}
			part.Root, part.Divisor, part.To = arith.RootNone, graph.Known(1), partial(r.To)
			part.Y = b.Scratch(part.To.Bytes(n))
		}
		if err := b.Reduce(&part); err != nil {
			return err
		}
		r.X, r.From = part.Y, part.To
		if r.First == arith.ReduceSumSquare || r.First == arith.ReduceSumAbs {
			r.First = arith.ReduceSum
		}
	}
	return nil
}

// partial returns the type of partial results for results of type d.
func partial(d tensor.DType) tensor.DType {
	if d == tensor.F16 || d == tensor.BF16 {
		return tensor.F32
	}
	return d
}

// lanesOf returns the lanes of each run of neighbouring reduced axes, the last run first. There are
// lanes of one element if no axis of several elements is reduced.
func lanesOf(dims graph.Dims, reduced []bool) []Lanes {
	var list []Lanes
	inner := graph.Known(1)
	for i := len(dims) - 1; i >= 0; i-- {
		if !reduced[i] {
			inner = inner.Mul(dims[i])
			continue
		}
		n := dims[i]
		for i > 0 && (reduced[i-1] || dims[i-1].Is(1)) {
			i--
			n = n.Mul(dims[i])
		}
		if !n.Is(1) {
			list = append(list, Lanes{dims[:i].Len(), n, inner})
		}
	}
	if list == nil {
		list = []Lanes{{graph.Known(1), graph.Known(1), dims.Len()}}
	}
	return list
}
