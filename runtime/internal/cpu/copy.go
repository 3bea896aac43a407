package cpu

import (
	"strconv"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var copyRows = []row{
	rowFor("slice", bindSlice),
	rowFor("triangle", bindTriangle),
	rowFor("reverse_sequence", bindReverseSequence),
}

// maxAxes is the most axes of a command of csrc/copy, NACRE_COPY_AXES.
const maxAxes = 16

// width returns the bytes of an element that kernels copy. It refuses elements narrower than a byte.
func (b *binder) width(d tensor.DType) int {
	n := d.Bits() / 8
	if n == 0 {
		b.Note(device.Refuse("elements of type %v are copied in Go", d))
	}
	return n
}

// transposeOf returns the kernel that transposes elements of width bytes.
func (b *binder) transposeOf(width int) bindings.Kernel {
	return b.kernel("w" + strconv.Itoa(width) + "_transpose")
}

// axisOf returns an axis in 0..rank-1. A negative axis counts from the end.
func axisOf(axis, rank int) int {
	if axis < 0 {
		return axis + rank
	}
	return axis
}

// Move adds a command. Rows of memory with room are there already.
func (b *binder) Move(m *lower.Move) error {
	if m.InRoom {
		return nil
	}
	return b.copy(m.DType, m.Copies, m.From, m.To)
}

// copy adds a command that copies elements of type d from src to dst.
func (b *binder) copy(d tensor.DType, list []array.Copy, src, dst device.Operand) error {
	size := b.width(d)
	transpose := b.transposeOf(size)
	axes := 0
	for i := range list {
		list[i].Axes = withoutOnes(list[i].Axes)
		axes = max(axes, len(list[i].Axes))
	}
	if axes > maxAxes {
		return device.Refuse("a copy has %d axes", axes)
	}
	var w words
	w.part(transpose)
	w.int(size, axes, len(list))
	for _, x := range list {
		w.dim(x.From, x.To)
		for range axes - len(x.Axes) {
			w.int(1, 0, 0)
		}
		for _, a := range x.Axes {
			w.dim(a.N, a.From, a.To)
		}
	}
	return b.runWith("copy", []bindings.Kernel{transpose}, w, src, dst)
}

// withoutOnes returns the axes that have more or fewer than one element.
func withoutOnes(axes []array.CopyAxis) []array.CopyAxis {
	list := make([]array.CopyAxis, 0, len(axes))
	for _, a := range axes {
		if !a.N.Is(1) {
			list = append(list, a)
		}
	}
	return list
}

// bindSlice binds a slice that reads its cuts when it runs.
func bindSlice(o *array.Slice, b *binder) error {
	size := b.width(b.DType(0))
	transpose := b.transposeOf(size)
	cuts := 0
	operands, bytes := [4]device.Operand{}, [4]int{}
	if starts, ends, axes, ok := o.Limits(); ok {
		cuts = len(starts)
		for i, list := range [][]int{starts, ends, axes} {
			operands[i], bytes[i] = constant(int64s(list)...), 8
		}
	} else {
		n, ok := b.In[1].Dims.Len().Value()
		if !ok {
			return device.Refuse("how many starts there are is not known")
		}
		cuts = n
		for i := range operands {
			if operands[i] = b.in(1 + i); b.Has(1 + i) {
				bytes[i] = b.DType(1+i).Bits() / 8
			}
		}
	}
	var w words
	w.part(transpose)
	w.int(size, cuts)
	w.int(bytes[:]...)
	w.int(len(b.In[0].Dims))
	for a, d := range b.In[0].Dims {
		w.dim(d, b.Out[0].Dims[a])
	}
	return b.runWith("slice", []bindings.Kernel{transpose}, w, b.in(0), b.out(0), operands[0], operands[1], operands[2],
		operands[3])
}

func int64s(list []int) []int64 {
	out := make([]int64, len(list))
	for i, n := range list {
		out[i] = int64(n)
	}
	return out
}

func bindTriangle(o *array.Trilu, b *binder) error {
	size := b.width(b.DType(0))
	if b.Has(1) && (b.DType(1) != tensor.I64 || !b.In[1].Dims.Len().Is(1)) {
		return device.Refuse("k is %v", b.In[1].Type)
	}
	d := b.In[0].Dims
	rank := len(d)
	var w words
	w.int(size)
	w.dim(d[:rank-2].Len(), d[rank-2], d[rank-1])
	w.bool(o.Upper)
	return b.run("triangle", w, b.in(0), b.in(1), b.out(0))
}

func bindReverseSequence(o *array.ReverseSequence, b *binder) error {
	size := b.width(b.DType(0))
	d := b.In[0].Dims
	if t := b.DType(1); t != tensor.I64 && t != tensor.I32 || len(b.In[1].Dims) != 1 || !b.In[1].Dims[0].Same(d[o.Batch]) {
		return device.Refuse("the lengths of %v sequences are %v", d[o.Batch], b.In[1].Type)
	}
	steps := graph.Dims{d[1], graph.Known(1)}
	var w words
	w.int(b.DType(1).Bits() / 8)
	w.dim(d[2:].Len().Mul(graph.Known(size)), d[o.Batch], d[o.Time], steps[o.Batch], steps[o.Time])
	return b.run("reverse_sequence", w, b.in(0), b.in(1), b.out(0))
}
