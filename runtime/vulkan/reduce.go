package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var reduceRows = []row{
	rowFor("reduce", bindReduce),
	rowFor("reduce", bindGlobalPool),
	rowFor("reduce", bindSumLike),
}

// reduction takes the middle axis out of a value [outer,n,inner].
type reduction struct{ outer, n, inner int }

// reductions returns a reduction for each run of neighbouring reduced axes, the last run first.
// There is at least one.
func reductions(s tensor.Shape, reduced []bool) []reduction {
	var list []reduction
	inner := 1
	for i := len(s) - 1; i >= 0; i-- {
		if !reduced[i] {
			inner *= s[i]
			continue
		}
		n := s[i]
		for i > 0 && (reduced[i-1] || s[i-1] == 1) {
			i--
			n *= s[i]
		}
		if n != 1 {
			list = append(list, reduction{s[:i].Len(), n, inner})
		}
	}
	if list == nil {
		list = []reduction{{1, 1, s.Len()}}
	}
	return list
}

func bindReduce(o *arith.Reduce, b *binder) error {
	d := b.DType(0)
	if b.Out[0].DType != d {
		return device.Refuse("%v elements become %v", d, b.Out[0].DType)
	}
	reduced, ok, err := o.Reduced(b.In)
	if err != nil {
		return err
	}
	if !ok {
		return device.Refuse("the axes are known only while running")
	}
	if d.IsInteger() && (o.Mean || o.Logs || o.Root != arith.RootNone) {
		return device.Refuse("%v elements are computed in Go", d)
	}
	b.step.InPlace = nil
	if b.Shape(0).Len() == 0 {
		none, err := o.Empty(d)
		if err != nil {
			return device.Refuse("%v", err)
		}
		return b.fill(b.out(0), none, b.OutShape(0).Len())
	}
	whole := part{first: o.First, root: o.Root, divisor: divisor(o, b.Shape(0), reduced), from: d, to: d}
	return b.runs(reductions(b.Shape(0), reduced), whole, o.Logs, b.in(0), b.out(0))
}

// bindSumLike sums over the axes along which a value was stretched.
func bindSumLike(o arith.SumLike, b *binder) error {
	reduced, err := o.Reduced(b.Shape(0), b.Shape(1))
	if err != nil {
		return err
	}
	b.step.InPlace = nil
	d := b.DType(0)
	return b.runs(reductions(b.Shape(0), reduced), part{first: arith.ReduceSum, divisor: 1, from: d, to: d}, false,
		b.in(0), b.out(0))
}

// runs adds a reduction for each run of axes. All but the first join partial results.
func (b *binder) runs(list []reduction, whole part, logs bool, x, out device.Operand) error {
	for i, r := range list {
		p, y := whole, out
		p.reduction = r
		if i > 0 {
			p.first, p.from = joining(p.first), partial(p.from)
		}
		if i < len(list)-1 {
			p.root, p.divisor, p.to = arith.RootNone, 1, partial(p.to)
			y = b.temp(p.to.Bytes(r.outer * r.inner))
		}
		if err := b.part(&p, logs, x, y); err != nil {
			return err
		}
		x = y
	}
	return nil
}

// joining returns the reduction that joins results of first.
func joining(first arith.Reduction) arith.Reduction {
	if first == arith.ReduceSumSquare || first == arith.ReduceSumAbs {
		return arith.ReduceSum
	}
	return first
}

// partial returns the type of partial results for elements of type d.
func partial(d tensor.DType) tensor.DType {
	if floats[d] {
		return tensor.F32
	}
	return d
}

// divisor returns the divisor of results: for means the number of elements of each, else 1.
func divisor(o *arith.Reduce, s tensor.Shape, reduced []bool) int {
	n := 1
	for i := range s {
		if o.Mean && reduced[i] {
			n *= s[i]
		}
	}
	return n
}

// part is a reduction of elements of one type to results of another.
type part struct {
	reduction
	first    arith.Reduction
	root     arith.Root
	divisor  int
	from, to tensor.DType
}

// part adds the dispatch of a reduction. With logs it is the logarithm of a sum of exponentials.
func (b *binder) part(p *part, logs bool, x, y device.Operand) error {
	variant, err := typeName(p.from)
	if err != nil {
		return err
	}
	if p.from != p.to {
		to, err := typeName(p.to)
		if err != nil {
			return err
		}
		variant += "_" + to
	}
	if logs {
		return b.along("reduce/log_sum", variant, kit.AxisView{Outer: p.outer, N: p.n, Inner: p.inner}, nil, x, y)
	}
	var w words
	w.int(p.outer*p.inner, p.n, p.inner)
	w.float(float64(p.divisor))
	return b.lanes("reduce/reduce", variant, p.outer*p.inner, p.n, []uint32{uint32(p.first), uint32(p.root)}, w, x, y)
}

func bindGlobalPool(o *nn.GlobalPool, b *binder) error {
	d, s := b.DType(0), b.Shape(0)
	if _, err := floatName(d); err != nil {
		return err
	}
	p := &part{reduction: reduction{s[:2].Len(), s[2:].Len(), 1}, divisor: 1, from: d, to: d}
	var mean bool
	switch p.first, mean, _ = o.Reduction(); o.Norm() {
	case 0:
	case 1:
		p.first = arith.ReduceSumAbs
	case 2:
		p.first, p.root = arith.ReduceSumSquare, arith.RootSqrt
	default:
		return device.Refuse("norms of order %g are computed in Go", o.Norm())
	}
	if mean {
		p.divisor = p.n
	}
	return b.part(p, false, b.in(0), b.out(0))
}
