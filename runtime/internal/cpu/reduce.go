package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var reduceRows = []row{
	rowFor("arg", bindArg),
	rowFor("scan", bindScan).Reading(),
	rowFor("topk", bindTopK).Reading(),
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
	r := lower.Along(dims, axis)
	if n, ok := r.N.Value(); !ok || n == 0 {
		return device.Refuse("places among %v elements are found in Go", r.N)
	}
	return b.run("f32_arg", argWords(r, !o.Largest, o.Last), b.in(0), b.out(0))
}

func argWords(r lower.Lanes, least, last bool) (w words) {
	w.dim(r.Outer, r.N, r.Inner)
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
	w := scanWords(lower.Along(b.In[0].Dims, axis), o.Product, o.Exclusive, o.Reverse)
	return b.run("f32_scan", w, b.in(0), b.out(0))
}

func scanWords(r lower.Lanes, product, exclusive, reverse bool) (w words) {
	w.dim(r.Outer, r.N, r.Inner)
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
	r := lower.Along(dims, axis)
	if !r.Inner.Is(1) {
		return device.Refuse("the best elements of lanes that are no rows are found in Go")
	}
	k, known := o.K(b.In)
	if !known {
		return &device.NeedValue{Input: 1}
	}
	if n, ok := r.N.Value(); !ok || k < 0 || k > n {
		return device.Refuse("the best %d of %v elements are found in Go", k, r.N)
	}
	w := topKWords(r, k, o.Smallest)
	return b.run("f32_topk", w, b.in(0), b.out(0), b.out(1))
}

func topKWords(r lower.Lanes, k int, least bool) (w words) {
	w.dim(r.Outer, r.N)
	w.int(k)
	w.bool(least)
	return w
}

// intReductions are the kernels that reduce integers.
var intReductions = map[tensor.DType]string{tensor.I64: "i64_reduce", tensor.I32: "i32_reduce"}

// Reduce adds a command.
func (b *binder) Reduce(r *lower.Reduction) error {
	if name := intReductions[r.From]; name != "" {
		return b.reduceInts(name, r)
	}
	types := []tensor.DType{r.From, r.To}
	half := b.halfOfAll(types...)
	var exp bindings.Kernel
	if r.Logs {
		exp = b.function(tensor.F32, "exp")
	}
	w := reduceWords(r.Lanes, r.First, r.Divisor, r.Root, types, half, exp)
	return b.runWith("f32_reduce", []bindings.Kernel{half, exp}, w, r.X, r.Y)
}

func (b *binder) reduceInts(kernel string, r *lower.Reduction) error {
	n, known := r.N.Value()
	switch r.First {
	case arith.ReduceSumSquare, arith.ReduceSumAbs:
		return device.Refuse("this reduction of integers is computed in Go")
	case arith.ReduceMax, arith.ReduceMin:
		if !known || n == 0 {
			return device.Refuse("the extremes of %v integers are found in Go", r.N)
		}
	}
	if r.Logs || !r.Divisor.Is(1) || r.Root != arith.RootNone || r.From != r.To {
		return device.Refuse("this reduction of integers is computed in Go")
	}
	var w words
	w.dim(r.Outer, r.N, r.Inner)
	w.int(int(r.First), r.From.Bits()/8)
	return b.run(kernel, w, r.X, r.Y)
}

// reduceWords takes the types of x and out.
func reduceWords(
	r lower.Lanes, first arith.Reduction, divisor graph.Dim, root arith.Root, types []tensor.DType,
	half, exp bindings.Kernel,
) (w words) {
	w.dim(r.Outer, r.N, r.Inner)
	w.int(int(first))
	w.dim(divisor)
	w.int(int(root))
	w.dtype(types...)
	w.part(half)
	w.part(exp)
	return w
}
