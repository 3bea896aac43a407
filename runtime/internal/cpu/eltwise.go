package cpu

import (
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var eltwiseRows = []row{
	rowFor("clip", bindClip),
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
func (b *binder) source(d, compute tensor.DType) storage { return b.storage(d, d, compute) }

// sink returns the storage of elements of type d that a kernel computes as compute.
func (b *binder) sink(d, compute tensor.DType) storage { return b.storage(d, compute, d) }

func (b *binder) storage(memory, from, to tensor.DType) (l storage) {
	l.bytes = memory.Bits() / 8
	if from != to {
		l.via = b.kernel(from.Short() + "_to_" + to.Short())
	}
	return l
}

func (w *words) storage(list ...storage) {
	for _, l := range list {
		w.int(l.bytes)
		w.part(l.via)
	}
}

// function returns the kernel of a function of elements of type d, such as f32_exp. It notes the
// error if there is none.
func (b *binder) function(d tensor.DType, name string) bindings.Kernel {
	t := d.Short()
	if t == "" {
		b.Note(device.Refuse("no arithmetic on %v elements", d))
		return bindings.Kernel{}
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

// own returns d if it is float16 and the session's levels compute the function in it, else the type
// that d is widened to. Kernels of float16 give the results of float32, rounded once.
func (b *binder) own(d tensor.DType, name string) tensor.DType {
	if d == tensor.F16 {
		if k, err := b.find(d.Short() + "_" + name); err == nil && k.ISA() != 0 {
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

// mapping is the kernel of a function, and the storage of its elements.
type mapping struct {
	kernel  bindings.Kernel
	compute tensor.DType
	in      []storage
	out     storage
}

func (b *binder) mapping(m *lower.Map) (k mapping) {
	if k.compute = wide(m.As); exact(m.P, m.Q) {
		k.compute = b.own(m.As, m.Func)
	}
	k.kernel = b.function(k.compute, m.Func)
	for _, v := range m.In {
		k.in = append(k.in, b.source(v.DType, k.compute))
	}
	if k.out = (storage{bytes: 1}); !m.Test {
		k.out = b.sink(m.Out.DType, k.compute)
	}
	return k
}

// Map adds a command. Halves have no kernel that converts them to float64 at once.
func (b *binder) Map(m *lower.Map) error {
	if len(m.In) == 1 {
		k := b.mapping(m)
		return b.unary(k, m, params(k.compute, m.P, m.Q), device.Operand{}, device.Operand{})
	}
	left, right := m.In[0], &m.In[1]
	if wide(right.DType) != right.DType && wide(m.As) != tensor.F32 {
		x := lower.As(b, m.As, *right)
		right.DType, right.Operand = m.As, x
	}
	k := b.mapping(m)
	return b.pairs(k.kernel, k.in[0], k.in[1], k.out, left.Operand, right.Operand, m.Out.Operand, m.Out.Dims,
		left.Dims, right.Dims)
}

// unary adds a command of a function. If low and high are given, they replace its parameters.
func (b *binder) unary(k mapping, m *lower.Map, p [2]int64, low, high device.Operand) error {
	w := unaryWords(m.In[0].Dims.Len(), k.in[0], k.out, p, k.compute)
	return b.add(k.kernel, []bindings.Kernel{k.in[0].via, k.out.via}, w, m.In[0].Operand, m.Out.Operand, low, high)
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
	m, d := lower.Unary(&o.Unary, b), b.DType(0)
	if !o.Inputs {
		return b.Map(m)
	}
	k := b.mapping(m)
	ends := [2]device.Operand{b.in(1), b.in(2)}
	if k.compute != d {
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
	return b.unary(k, m, largest(d, k.compute), ends[0], ends[1])
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
	k := b.kernel(first)
	var second bindings.Kernel
	if later != "" {
		second = b.kernel(later)
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

// copyAll adds a command that copies n elements. It does nothing if both operands are the same
// memory.
func (b *binder) copyAll(x, y device.Operand, d tensor.DType, n graph.Dim) error {
	k := b.kernel("u8_max")
	// Copies bytes as the larger of a byte and itself.
	bytes := graph.Dims{n.Mul(graph.Known(d.Bits() / 8))}
	return b.pairs(k, storage{bytes: 1}, storage{bytes: 1}, storage{bytes: 1}, x, x, y, bytes, bytes, bytes)
}

// Select adds a command.
func (b *binder) Select(s *lower.Select) error {
	bytes := s.Out.DType.Bits() / 8
	k := b.kernel(map[int]string{1: "where_1", 2: "where_2", 4: "where_4", 8: "where_8", 16: "where_16"}[bytes])
	return b.add(k, nil, whereWords(bytes, s.Out.Dims, s.Condition.Dims, s.X.Dims, s.Y.Dims), s.Condition.Operand,
		s.X.Operand, s.Y.Operand, s.Out.Operand)
}

// whereWords is nacre_where_words of csrc/eltwise/eltwise.h.
func whereWords(bytes int, dims graph.Dims, inputs ...graph.Dims) (w words) {
	w.int(bytes)
	w.under(dims, inputs...)
	return w
}

func bindFused(o *arith.Fused, b *binder) error {
	compute := wide(b.DType(0))
	if !b.Has(1) {
		return b.Map(lower.Unary(&arith.Unary{Func: o.Unary, P: o.P}, b))
	}
	act := b.function(compute, o.Unary)
	m := &lower.Map{Func: o.Binary, As: compute, In: []lower.Value{lower.Input(b, 0)}, Out: lower.Output(b, 0)}
	join := b.mapping(m)
	k := b.kernel("eltwise_fused")
	in, out := join.in[0], join.out
	w := fusedWords(act, join.kernel, o.First, b.In[1].Dims.Len(), b.In[0].Dims.Len(), in, out, params(compute, o.P, 0))
	return b.add(k, []bindings.Kernel{act, join.kernel, in.via, out.via}, w, b.in(0), b.in(1), b.out(0))
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
	k := b.kernel("f32_gated_add")
	mul := b.kernel("f32_mul")
	add := b.kernel("f32_add")
	w := gatedWords(mul, add, x[:len(x)-1].Len(), x[len(x)-1])
	return b.add(k, []bindings.Kernel{mul, add}, w, b.in(0), b.in(1), b.in(2), b.out(0))
}

// gatedWords is nacre_gated_words of csrc/eltwise/eltwise.h.
func gatedWords(mul, add bindings.Kernel, rows, n int) (w words) {
	w.part(mul, add)
	w.int(rows, n)
	return w
}
