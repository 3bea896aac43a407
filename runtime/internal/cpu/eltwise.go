package cpu

import (
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var eltwiseRows = []row{
	rowFor("unary", bindUnary),
	rowFor("clip", bindClip),
	rowFor("unary", func(o *arith.NumberTest, b *binder) error {
		if packed.Float8Of(b.DType(0).String()) != nil {
			return device.Refuse("8-bit floats are looked up in Go")
		}
		return bindUnary(&o.Unary, b)
	}),
	rowFor("binary", bindBinary),
	rowFor("binary", func(o *arith.Equal, b *binder) error { return bindBinary(&o.Binary, b) }),
	rowFor("pow", bindPow),
	rowFor("variadic", bindVariadic),
	rowFor("where", bindWhere),
	rowFor("fused", bindFused),
	rowFor("gated", bindGatedAdd),
	rowFor("snake", bindSnake),
}

// wide returns the type in which kernels compute on elements of type d.
func wide(d tensor.DType) tensor.DType {
	if d == tensor.F16 || d == tensor.BF16 {
		return tensor.F32
	}
	return d
}

// storage describes elements in memory and their conversion to or from the type of a kernel.
type storage struct {
	bytes int
	via   bindings.Kernel // the zero Kernel if no conversion is needed
}

// source returns the storage of elements of type d that a kernel reads as compute.
func (b *binder) source(d, compute tensor.DType) (storage, error) { return b.storage(d, d, compute) }

// sink returns the storage of elements of type d that a kernel computes as compute.
func (b *binder) sink(d, compute tensor.DType) (storage, error) { return b.storage(d, compute, d) }

func (b *binder) storage(memory, from, to tensor.DType) (l storage, err error) {
	l.bytes = memory.Bits() / 8
	if from != to {
		l.via, err = b.kernel(from.Short() + "_to_" + to.Short())
	}
	return l, err
}

func (w *words) storage(list ...storage) {
	for _, l := range list {
		w.int(l.bytes)
		w.part(l.via)
	}
}

// function returns the kernel of a function of elements of type d, such as f32_exp.
func (b *binder) function(d tensor.DType, name string) (bindings.Kernel, error) {
	t := d.Short()
	if t == "" {
		return bindings.Kernel{}, device.Refuse("no arithmetic on %v elements", d)
	}
	return b.kernel(t + "_" + name)
}

// params returns two numbers of type d, side by side, as words.
func params[N elements.Number](d tensor.DType, p, q N) (list [2]int64) {
	t := tensor.New(d, 2)
	elements.Put(t, 0, []N{p, q})
	copy((*[16]byte)(unsafe.Pointer(&list))[:], t.Bytes())
	return list
}

func (w *words) params(p [2]int64) { w.int(int(p[0]), int(p[1])) }

// computedAs returns the type in which a function of elements of type d is computed, and the type
// that it reads them as. For functions of bits both are the unsigned type of d's width.
func computedAs(d tensor.DType, bits bool) (compute, from tensor.DType) {
	if bits {
		return d.Unsigned(), d.Unsigned()
	}
	return wide(d), d
}

// own returns d if it is float16 and the session's levels compute the function in it, else the type
// that d is widened to. Kernels of float16 give the results of float32, rounded once.
func (b *binder) own(d tensor.DType, name string) tensor.DType {
	if d == tensor.F16 {
		if k, err := b.function(d, name); err == nil && k.ISA() != 0 {
			return d
		}
	}
	return wide(d)
}

// exact reports whether all numbers are float16 numbers.
func exact(list ...float64) bool {
	for _, v := range list {
		if float64(packed.ToF16(float32(v)).Float32()) != v {
			return false
		}
	}
	return true
}

// elements returns the kernel of a function of elements of type compute, and the lanes that convert
// it from and to type d. If test is true, the function writes bools.
func (b *binder) elements(
	name string, d, compute tensor.DType, test bool,
) (k bindings.Kernel, in, out storage, err error) {
	if k, err = b.function(compute, name); err != nil {
		return k, in, out, err
	}
	if in, err = b.source(d, compute); err != nil || test {
		return k, in, storage{bytes: 1}, err
	}
	out, err = b.sink(d, compute)
	return k, in, out, err
}

func bindUnary(o *arith.Unary, b *binder) error {
	return b.unary(o, device.Operand{}, device.Operand{}, nil)
}

// unary adds a command of a function. If low and high are given, they replace its parameters.
func (b *binder) unary(o *arith.Unary, low, high device.Operand, given *[2]int64) error {
	d := b.DType(0)
	compute, from := computedAs(d, o.Bits)
	switch {
	case o.Bits:
	case o.Integers && d.IsInteger():
		compute = tensor.F64
	case given != nil || exact(o.P, o.Q):
		compute = b.own(d, o.Func)
	}
	k, in, out, err := b.elements(o.Func, from, compute, o.Result == tensor.Bool)
	if err != nil {
		return err
	}
	p := params(compute, o.P, o.Q)
	if given != nil {
		p = *given
	}
	w := unaryWords(b.In[0].Dims.Len(), in, out, p, compute)
	return b.add(k, []bindings.Kernel{in.via, out.via}, w, b.in(0), b.out(0), low, high)
}

// unaryWords is nacre_unary_words of csrc/eltwise/eltwise.h for a function of elements of type d.
func unaryWords(n graph.Dim, x, y storage, p [2]int64, d tensor.DType) (w words) {
	w.dim(n)
	w.storage(x, y)
	w.params(p)
	w.int(d.Bits() / 8)
	return w
}

// bindClip makes commands that read the interval's ends when they run. 16-bit ends are widened
// first if the elements are.
func bindClip(o *arith.Clip, b *binder) error {
	d := b.DType(0)
	if !o.Inputs {
		return bindUnary(&o.Unary, b)
	}
	compute := b.own(d, o.Func)
	limits := largest(d, compute)
	ends := [2]device.Operand{b.in(1), b.in(2)}
	if compute != d {
		for i := range ends {
			if !b.Has(1 + i) {
				continue
			}
			t := b.temp(4)
			if err := b.convert(d, tensor.F32, graph.Known(1), ends[i], t); err != nil {
				return err
			}
			ends[i] = t
		}
	}
	return b.unary(&o.Unary, ends[0], ends[1], &limits)
}

// largest returns the least and the greatest number of type d, as parameters of type compute.
func largest(d, compute tensor.DType) [2]int64 {
	if d.IsFloat() {
		low, high := elements.Bounds[float64](d)
		return params(compute, low, high)
	}
	low, high := elements.Bounds[int64](d)
	return params(d, low, high)
}

// convert adds the command that converts n elements from one type to another.
func (b *binder) convert(from, to tensor.DType, n graph.Dim, x, y device.Operand) error {
	s, d := from.Short(), to.Short()
	if s == "" || d == "" || from == to {
		return device.Refuse("no kernel converts %v elements to %v", from, to)
	}
	first, later := s+"_to_"+d, ""
	if wide(from) != from && wide(to) != to || wide(from) != from && to != tensor.F32 ||
		wide(to) != to && from != tensor.F32 {
		// f64_to_odd rounds to odd, so that rounding again to 16 bits equals rounding once.
		if first, later = s+"_to_f32", "f32_to_"+d; from == tensor.F64 {
			first = s + "_to_odd"
		}
	}
	k, err := b.kernel(first)
	if err != nil {
		return err
	}
	var second bindings.Kernel
	if later != "" {
		if second, err = b.kernel(later); err != nil {
			return err
		}
	}
	return b.add(k, []bindings.Kernel{second}, convertWords(n, from, to, second), x, y)
}

// convertWords is nacre_convert_words of csrc/eltwise/eltwise.h. The zero Kernel means no later
// conversion.
func convertWords(n graph.Dim, from, to tensor.DType, later bindings.Kernel) (w words) {
	w.dim(n)
	w.int(from.Bits()/8, to.Bits()/8)
	w.part(later)
	return w
}

// under appends the rank and the extents of y, then the extents of each input, aligned at the last
// axis of y.
func (w *words) under(y graph.Dims, inputs ...graph.Dims) {
	w.int(len(y))
	w.dim(y...)
	for _, s := range inputs {
		for range len(y) - len(s) {
			w.int(1)
		}
		w.dim(s...)
	}
}

func bindBinary(o *arith.Binary, b *binder) error {
	d := b.DType(0)
	compute, from := computedAs(d, o.Bits)
	if !o.Bits {
		compute = b.own(d, o.Func)
	}
	k, in, out, err := b.elements(o.Func, from, compute, o.Result == tensor.Bool)
	if err != nil {
		return err
	}
	left := b.In[0].Dims
	right, err := o.Right(left, b.In[1].Dims)
	if err != nil {
		return err
	}
	x, y := b.in(0), b.in(1)
	if o.Swap {
		x, y, left, right = y, x, right, left
	}
	return b.pairs(k, in, in, out, x, y, b.out(0), b.Out[0].Dims, left, right)
}

// pairs adds a command of a function of two values with broadcasting. If the result is empty, it
// adds no command.
func (b *binder) pairs(
	k bindings.Kernel, left, right, out storage, x, y, z device.Operand, dims, xDims, yDims graph.Dims,
) error {
	if n, ok := dims.Len().Value(); ok && n == 0 {
		return nil
	}
	return b.add(k, []bindings.Kernel{left.via, right.via, out.via}, binaryWords(left, right, out, dims, xDims, yDims),
		x, y, z)
}

// binaryWords is nacre_binary_words of csrc/eltwise/eltwise.h.
func binaryWords(left, right, out storage, dims, xDims, yDims graph.Dims) (w words) {
	w.storage(left, right, out)
	w.under(dims, xDims, yDims)
	return w
}

func bindPow(o *arith.Pow, b *binder) error {
	base, power := b.DType(0), b.DType(1)
	compute := arith.PowType(base, power)
	k, in, out, err := b.elements("pow", base, compute, false)
	if err != nil {
		return err
	}
	right, err := o.Right(b.In[0].Dims, b.In[1].Dims)
	if err != nil {
		return err
	}
	exponent := b.in(1)
	if power != compute {
		n, ok := b.Max(b.In[1].Dims.Len())
		if !ok {
			return device.Refuse("extents %v are not known", b.In[1].Dims)
		}
		exponent = b.temp(compute.Bytes(n))
		if err := b.convert(power, compute, b.In[1].Dims.Len(), b.in(1), exponent); err != nil {
			return err
		}
	}
	return b.pairs(k, in, storage{bytes: compute.Bits() / 8}, out, b.in(0), exponent, b.out(0), b.Out[0].Dims,
		b.In[0].Dims, right)
}

// bindVariadic computes the function of the first two inputs into the output, then of the output
// and each further input. The output may share memory with one of the first two only.
func bindVariadic(o *arith.Variadic, b *binder) error {
	d := b.DType(0)
	compute := wide(d)
	if !o.Mean {
		compute = b.own(d, o.Func)
	}
	k, in, out, err := b.elements(o.Func, d, compute, false)
	if err != nil {
		return err
	}
	dims := b.Out[0].Dims
	if len(b.In) == 1 {
		return b.copyAll(b.in(0), b.out(0), d, dims.Len())
	}
	b.step.InPlace = onlyOnce(b.Node.Inputs, b.step.InPlace)
	left, leftDims := b.in(0), b.In[0].Dims
	for i := 1; i < len(b.In); i++ {
		if err := b.pairs(k, in, in, out, left, b.in(i), b.out(0), dims, leftDims, b.In[i].Dims); err != nil {
			return err
		}
		left, leftDims = b.out(0), dims
	}
	if !o.Mean {
		return nil
	}
	divide, err := b.function(compute, "div")
	if err != nil {
		return err
	}
	count := constant(float32(len(b.In)))
	if compute == tensor.F64 {
		count = constant(float64(len(b.In)))
	}
	return b.pairs(divide, in, storage{bytes: compute.Bits() / 8}, out, b.out(0), count, b.out(0), dims, dims,
		graph.Dims{})
}

// onlyOnce returns the inputs in list that occur once among the node's inputs.
func onlyOnce(inputs []string, list []int) []int {
	count := map[string]int{}
	for _, name := range inputs {
		count[name]++
	}
	var once []int
	for _, i := range list {
		if i < len(inputs) && count[inputs[i]] == 1 {
			once = append(once, i)
		}
	}
	return once
}

// copyAll adds a command that copies n elements. It does nothing if both operands are the same
// memory.
func (b *binder) copyAll(x, y device.Operand, d tensor.DType, n graph.Dim) error {
	k, err := b.kernel("u8_max")
	if err != nil {
		return err
	}
	// Copies bytes as the larger of a byte and itself.
	bytes := graph.Dims{n.Mul(graph.Known(d.Bits() / 8))}
	return b.pairs(k, storage{bytes: 1}, storage{bytes: 1}, storage{bytes: 1}, x, x, y, bytes, bytes, bytes)
}

func bindWhere(_ *arith.Where, b *binder) error {
	bytes := b.DType(1).Bits() / 8
	k, err := b.kernel(map[int]string{1: "where_1", 2: "where_2", 4: "where_4", 8: "where_8", 16: "where_16"}[bytes])
	if err != nil {
		return err
	}
	dims := b.Out[0].Dims
	if n, ok := dims.Len().Value(); ok && n == 0 {
		return nil
	}
	return b.add(k, nil, whereWords(bytes, dims, b.In[0].Dims, b.In[1].Dims, b.In[2].Dims), b.in(0), b.in(1), b.in(2),
		b.out(0))
}

// whereWords is nacre_where_words of csrc/eltwise/eltwise.h.
func whereWords(bytes int, dims graph.Dims, inputs ...graph.Dims) (w words) {
	w.int(bytes)
	w.under(dims, inputs...)
	return w
}

func bindFused(o *arith.Fused, b *binder) error {
	d := b.DType(0)
	compute := wide(d)
	if !b.Has(1) {
		return bindUnary(&arith.Unary{Func: o.Unary, P: o.P}, b)
	}
	act, err := b.function(compute, o.Unary)
	if err != nil {
		return err
	}
	join, in, out, err := b.elements(o.Binary, d, compute, false)
	if err != nil {
		return err
	}
	k, err := b.kernel("eltwise_fused")
	if err != nil {
		return err
	}
	w := fusedWords(act, join, o.First, b.In[1].Dims.Len(), b.In[0].Dims.Len(), in, out, params(compute, o.P, 0))
	return b.add(k, []bindings.Kernel{act, join, in.via, out.via}, w, b.in(0), b.in(1), b.out(0))
}

// fusedWords is nacre_fused_words of csrc/eltwise/eltwise.h.
func fusedWords(unary, binary bindings.Kernel, first bool, period, n graph.Dim, in, out storage, p [2]int64) (w words) {
	w.part(unary)
	w.bool(first)
	w.part(binary)
	w.dim(period, n)
	w.storage(in, out)
	w.params(p)
	return w
}

// bindGatedAdd multiplies by the gates and adds in one pass.
func bindGatedAdd(_ nn.GatedAdd, b *binder) error {
	x := b.Shape(0)
	switch {
	case b.isEmpty():
		return nil
	case b.DType(0) != tensor.F32:
		return device.Refuse("gates of %v are computed in Go", b.DType(0))
	case !x.Equal(b.Shape(1)):
		return device.Refuse("the extents of %v are not known", b.In[1].Type)
	}
	k, err := b.kernel("f32_gated_add")
	if err != nil {
		return err
	}
	mul, err := b.kernel("f32_mul")
	if err != nil {
		return err
	}
	add, err := b.kernel("f32_add")
	if err != nil {
		return err
	}
	w := gatedWords(mul, add, x[:len(x)-1].Len(), x[len(x)-1])
	return b.add(k, []bindings.Kernel{mul, add}, w, b.in(0), b.in(1), b.in(2), b.out(0))
}

// gatedWords is nacre_gated_words of csrc/eltwise/eltwise.h.
func gatedWords(mul, add bindings.Kernel, rows, n int) (w words) {
	w.part(mul, add)
	w.int(rows, n)
	return w
}
