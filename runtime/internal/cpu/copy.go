package cpu

import (
	"errors"
	"strconv"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var copyRows = []row{
	rowFor("append", bindAppend).InRoom(),
	rowFor("transpose", bindTransposeOfRoom).InRoom(),
	copiesRow[*array.Transpose](),
	copiesRow[*array.Expand](),
	copiesRow[*array.Tile](),
	copiesRow[*array.DepthToSpace](),
	rowFor("copy", bindConcat),
	rowFor("copy", bindSplit).Reading(),
	copiesRow[*array.Pad](),
	copiesRow[*array.CenterCropPad](),
	copiesRow[*array.ConstantOfShape](),
	copiesRow[*array.EyeLike](),
	rowFor("copy", bindSliceCopy),
	rowFor("slice", bindSlice),
	rowFor("triangle", bindTriangle),
	rowFor("reverse_sequence", bindReverseSequence),
}

// copiesRow returns the row for operators that are strided copies.
func copiesRow[T array.Copier]() row {
	return rowFor("copy", func(o T, b *binder) error { return bindCopies(o, b) }).Reading()
}

// maxAxes is the most axes of a command of csrc/copy, NACRE_COPY_AXES.
const maxAxes = 16

// width returns the bytes of an element that kernels copy.
func width(d tensor.DType) (int, error) {
	if n := d.Bits() / 8; n > 0 {
		return n, nil
	}
	return 0, device.Refuse("elements of type %v are copied in Go", d)
}

// bindAppend appends the other inputs to the first, in the memory of the first, which has room and
// holds the output too.
func bindAppend(o *array.Concat, b *binder) error {
	if !b.HasRoom() {
		return device.Refuse("no operand is in memory with room")
	}
	if err := b.OnlyRoom([]int{0}, []int{0}); err != nil {
		return err
	}
	rank := len(b.In[0].Dims)
	axis, memory := axisOf(o.Axis, rank), b.Memory(0)
	for a := range rank {
		if a != axis && !memory[a].Same(b.In[0].Dims[a]) || !memory[a].Same(b.OutMemory(0)[a]) {
			return device.Refuse("rows are added along axis %d and there is room along another", axis)
		}
	}
	outer, inner := memory[:axis].Len(), memory[axis+1:].Len()
	at := b.In[0].Dims[axis].Mul(inner)
	for i := 1; i < len(b.In); i++ {
		rows := b.In[i].Dims[axis].Mul(inner)
		c := array.Copy{In: i, To: at, Axes: []array.CopyAxis{{N: outer, From: rows, To: memory[axis].Mul(inner)},
			{N: rows, From: graph.Known(1), To: graph.Known(1)}}}
		if err := b.copy(b.DType(0), []array.Copy{c}, b.in(i), b.out(0)); err != nil {
			return err
		}
		at = at.Add(rows)
	}
	return nil
}

// bindTransposeOfRoom permutes the axes of a value with room in its memory.
func bindTransposeOfRoom(o *array.Transpose, b *binder) error {
	if b.InRoom == nil || b.OutRoom != nil {
		return device.Refuse("the input fills its memory, or the output does not")
	}
	perm, err := o.Perm(len(b.In[0].Dims))
	if err != nil {
		return err
	}
	from, to := stridesOf(b.Memory(0)), stridesOf(b.Out[0].Dims)
	c := array.Copy{From: graph.Known(0), To: graph.Known(0), Axes: make([]array.CopyAxis, len(perm))}
	for i, p := range perm {
		c.Axes[i] = array.CopyAxis{N: b.Out[0].Dims[i], From: from[p], To: to[i]}
	}
	return b.copy(b.DType(0), []array.Copy{c}, b.in(0), b.out(0))
}

// transposeOf returns the kernel that transposes elements of width bytes.
func (b *binder) transposeOf(width int) (bindings.Kernel, error) {
	return b.kernel("w" + strconv.Itoa(width) + "_transpose")
}

// axisOf returns an axis in 0..rank-1. A negative axis counts from the end.
func axisOf(axis, rank int) int {
	if axis < 0 {
		return axis + rank
	}
	return axis
}

// bindCopies makes one command of the copies between the same two operands.
func bindCopies(o array.Copier, b *binder) error {
	list, err := o.Copies(&op.Infer{In: b.In, Out: b.Out})
	var need *array.ElementsError
	switch {
	case errors.As(err, &need):
		return &device.NeedValue{Input: need.Input}
	case errors.Is(err, array.ErrSymbolic), errors.Is(err, graph.ErrUnsupported):
		return device.Refuse("%v", err)
	case err != nil:
		return err
	}
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].Value == list[0].Value && list[n].In == list[0].In && list[n].Out == list[0].Out {
			n++
		}
		src := b.in(list[0].In)
		if v := list[0].Value; v != nil {
			src = device.Operand{Place: device.Const, Data: v.Aligned().Bytes()}
		}
		if err := b.copy(b.Out[list[0].Out].DType, list[:n], src, b.out(list[0].Out)); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

func bindConcat(o *array.Concat, b *binder) error {
	if err := bindCopies(o, b); err != nil {
		return err
	}
	b.step.Joins = b.shares(axisOf(o.Axis, len(b.Out[0].Dims)), b.In)
	return nil
}

func bindSplit(o *array.Split, b *binder) error {
	if err := bindCopies(o, b); err != nil {
		return err
	}
	b.step.Splits = b.shares(axisOf(o.Axis, len(b.In[0].Dims)), b.Out)
	return nil
}

// shares lists where the parts are within the whole that they form along an axis. It returns nil if
// a part is not one contiguous piece of the whole.
func (b *binder) shares(axis int, parts []*op.Value) []device.Share {
	var list []device.Share
	at := 0
	for i, v := range parts {
		if v == nil {
			return nil
		}
		s, ok := v.Dims.Concrete()
		if !ok || s[:axis].Len() != 1 {
			return nil
		}
		list = append(list, device.Share{Operand: i, Offset: at})
		at += v.DType.Bytes(s.Len())
	}
	return list
}

// copy adds a command that copies elements of type d from src to dst.
func (b *binder) copy(d tensor.DType, list []array.Copy, src, dst device.Operand) error {
	size, err := width(d)
	if err != nil {
		return err
	}
	transpose, err := b.transposeOf(size)
	if err != nil {
		return err
	}
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
	k, err := b.choose("copy", w)
	if err != nil {
		return err
	}
	return b.add(k, []bindings.Kernel{transpose}, w, src, dst)
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

// bindSliceCopy binds a slice with cuts and extents that are numbers.
func bindSliceCopy(o *array.Slice, b *binder) error {
	err := bindCopies(o, b)
	var need *device.NeedValue
	if errors.As(err, &need) {
		return device.Refuse("the elements of input %d are not constant", need.Input)
	}
	return err
}

// bindSlice binds a slice that reads its cuts when it runs.
func bindSlice(o *array.Slice, b *binder) error {
	size, err := width(b.DType(0))
	if err != nil {
		return err
	}
	transpose, err := b.transposeOf(size)
	if err != nil {
		return err
	}
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
	k, err := b.choose("slice", w)
	if err != nil {
		return err
	}
	return b.add(k, []bindings.Kernel{transpose}, w, b.in(0), b.out(0), operands[0], operands[1], operands[2], operands[3])
}

func int64s(list []int) []int64 {
	out := make([]int64, len(list))
	for i, n := range list {
		out[i] = int64(n)
	}
	return out
}

func bindTriangle(o *array.Trilu, b *binder) error {
	size, err := width(b.DType(0))
	if err != nil {
		return err
	}
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
	size, err := width(b.DType(0))
	if err != nil {
		return err
	}
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
