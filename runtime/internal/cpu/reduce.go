package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var reduceRows = []row{
	rowFor("reduce", bindReduce).Reading(),
	rowFor("reduce", bindGlobalPool),
	rowFor("arg", bindArg),
	rowFor("scan", bindScan).Reading(),
	rowFor("topk", bindTopK).Reading(),
}

// reduction reduces the middle axis of a value [outer,n,inner].
type reduction struct{ outer, n, inner graph.Dim }

// reductions returns one reduction per run of neighbouring reduced axes, the last run first. It
// returns at least one.
func reductions(dims graph.Dims, reduced []bool) []reduction {
	var list []reduction
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
			list = append(list, reduction{dims[:i].Len(), n, inner})
		}
	}
	if list == nil {
		list = []reduction{{graph.Known(1), graph.Known(1), dims.Len()}}
	}
	return list
}

// bindReduce reduces one run of axes after another. All but the first reduce partial results.
func bindReduce(o *arith.Reduce, b *binder) error {
	reduced, known, err := o.Reduced(b.In)
	if err != nil {
		return err
	}
	if !known {
		return &device.NeedValue{Input: 1}
	}
	if name := intReductions[b.DType(0)]; name != "" {
		return b.reduceInts(name, o, reduced)
	}
	var exp bindings.Kernel
	if o.Logs {
		if exp, err = b.function(tensor.F32, "exp"); err != nil {
			return err
		}
	}
	if _, err := b.halfOfAll(b.DType(0)); err != nil {
		return err
	}
	list := reductions(b.In[0].Dims, reduced)
	x, from := b.in(0), b.DType(0)
	first, divisor := o.First, graph.Known(1)
	if o.Mean {
		for i, d := range b.In[0].Dims {
			if reduced[i] {
				divisor = divisor.Mul(d)
			}
		}
	}
	for _, r := range list[:len(list)-1] {
		n, ok := b.Max(r.outer.Mul(r.inner))
		if !ok {
			return device.Refuse("extents %v are not known", b.In[0].Dims)
		}
		part := b.temp(tensor.F32.Bytes(n))
		if err := b.reduce(r, first, graph.Known(1), arith.RootNone, from, tensor.F32, exp, x, part); err != nil {
			return err
		}
		x, from = part, tensor.F32
		if first == arith.ReduceSumSquare || first == arith.ReduceSumAbs {
			first = arith.ReduceSum
		}
	}
	return b.reduce(list[len(list)-1], first, divisor, o.Root, from, b.Out[0].DType, exp, x, b.out(0))
}

// along returns the reduction of one axis.
func along(dims graph.Dims, axis int) reduction {
	return reduction{dims[:axis].Len(), dims[axis], dims[axis+1:].Len()}
}

// bindArg finds the indices of extreme float32 numbers.
func bindArg(o *arith.ArgReduce, b *binder) error {
	if d := b.DType(0); d != tensor.F32 {
		return device.Refuse("places of %v elements are found in Go", d)
	}
	dims := b.In[0].Dims
	if len(dims) == 0 {
		dims = graph.Dims{graph.Known(1)}
	}
	axis, err := o.Axis(len(dims))
	if err != nil {
		return err
	}
	r := along(dims, axis)
	if n, ok := r.n.Value(); !ok || n == 0 {
		return device.Refuse("places among %v elements are found in Go", r.n)
	}
	return b.run("f32_arg", argWords(r, !o.Largest, o.Last), b.in(0), b.out(0))
}

func argWords(r reduction, least, last bool) (w words) {
	w.dim(r.outer, r.n, r.inner)
	w.bool(least, last)
	return w
}

// bindScan computes running sums and products of float32 numbers.
func bindScan(o *arith.Cumulate, b *binder) error {
	if d := b.DType(0); d != tensor.F32 {
		return device.Refuse("running sums of %v elements are formed in Go", d)
	}
	axes, known := b.In[1].KnownInts()
	if !known {
		return &device.NeedValue{Input: 1}
	}
	if len(axes) != 1 {
		return device.Refuse("%d numbers of axes", len(axes))
	}
	axis, err := op.NormAxis(axes[0], len(b.In[0].Dims))
	if err != nil {
		return err
	}
	return b.run("f32_scan", scanWords(along(b.In[0].Dims, axis), o.Product, o.Exclusive, o.Reverse), b.in(0), b.out(0))
}

func scanWords(r reduction, product, exclusive, reverse bool) (w words) {
	w.dim(r.outer, r.n, r.inner)
	w.bool(product, exclusive, reverse)
	return w
}

// bindTopK finds the greatest or least float32 numbers along the last axis.
func bindTopK(o *arith.TopK, b *binder) error {
	if d := b.DType(0); d != tensor.F32 {
		return device.Refuse("the best %v elements are found in Go", d)
	}
	dims := b.In[0].Dims
	axis, err := o.Axis(len(dims))
	if err != nil {
		return err
	}
	r := along(dims, axis)
	if !r.inner.Is(1) {
		return device.Refuse("the best elements of lanes that are no rows are found in Go")
	}
	k, known := o.K(b.In)
	if !known {
		return &device.NeedValue{Input: 1}
	}
	if n, ok := r.n.Value(); !ok || k < 0 || k > n {
		return device.Refuse("the best %d of %v elements are found in Go", k, r.n)
	}
	w := topKWords(r, k, o.Smallest)
	return b.run("f32_topk", w, b.in(0), b.out(0), b.out(1))
}

func topKWords(r reduction, k int, least bool) (w words) {
	w.dim(r.outer, r.n)
	w.int(k)
	w.bool(least)
	return w
}

// intReductions are the kernels that reduce integers.
var intReductions = map[tensor.DType]string{tensor.I64: "i64_reduce", tensor.I32: "i32_reduce"}

// reduceInts reduces one run of axes after another.
func (b *binder) reduceInts(kernel string, o *arith.Reduce, reduced []bool) error {
	d := b.DType(0)
	if o.Logs || o.Mean || o.Root != arith.RootNone || o.First == arith.ReduceSumSquare ||
		o.First == arith.ReduceSumAbs || b.Out[0].DType != d {
		return device.Refuse("this reduction of integers is computed in Go")
	}
	list, x := reductions(b.In[0].Dims, reduced), b.in(0)
	for i, r := range list {
		if o.First == arith.ReduceMax || o.First == arith.ReduceMin {
			if n, ok := r.n.Value(); !ok || n == 0 {
				return device.Refuse("the extremes of %v integers are found in Go", r.n)
			}
		}
		out := b.out(0)
		if i < len(list)-1 {
			n, ok := b.Max(r.outer.Mul(r.inner))
			if !ok {
				return device.Refuse("extents %v are not known", b.In[0].Dims)
			}
			out = b.temp(d.Bytes(n))
		}
		var w words
		w.dim(r.outer, r.n, r.inner)
		w.int(int(o.First), d.Bits()/8)
		if err := b.run(kernel, w, x, out); err != nil {
			return err
		}
		x = out
	}
	return nil
}

// reduce adds a command. exp is a part for the logarithm of sums of exponentials, else the zero
// Kernel.
func (b *binder) reduce(
	r reduction, first arith.Reduction, divisor graph.Dim, root arith.Root, from, to tensor.DType, exp bindings.Kernel,
	x, out device.Operand,
) error {
	types := []tensor.DType{from, to}
	half, err := b.halfOfAll(types...)
	if err != nil {
		return err
	}
	w := reduceWords(r, first, divisor, root, types, half, exp)
	k, err := b.choose("f32_reduce", w)
	if err != nil {
		return err
	}
	return b.add(k, []bindings.Kernel{half, exp}, w, x, out)
}

// reduceWords takes the types of x and out.
func reduceWords(
	r reduction, first arith.Reduction, divisor graph.Dim, root arith.Root, types []tensor.DType,
	half, exp bindings.Kernel,
) (w words) {
	w.dim(r.outer, r.n, r.inner)
	w.int(int(first))
	w.dim(divisor)
	w.int(int(root))
	w.dtype(types...)
	w.part(half)
	w.part(exp)
	return w
}

func bindGlobalPool(o *nn.GlobalPool, b *binder) error {
	first, mean, ok := o.Reduction()
	if !ok {
		return device.Refuse("norms are computed in Go")
	}
	dims := b.In[0].Dims
	r := reduction{dims[:2].Len(), dims[2:].Len(), graph.Known(1)}
	divisor := graph.Known(1)
	if mean {
		divisor = r.n
	}
	return b.reduce(r, first, divisor, arith.RootNone, b.DType(0), b.Out[0].DType, bindings.Kernel{}, b.in(0), b.out(0))
}
