package vulkan

import (
	"encoding/binary"
	"errors"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var copyRows = []row{
	rowFor("append", bindAppend).InRoom(),
	rowFor("transpose of room", bindTransposeOfRoom).InRoom(),
	copiesRow[*array.Transpose](),
	copiesRow[*array.Expand](),
	copiesRow[*array.Tile](),
	copiesRow[*array.DepthToSpace](),
	copiesRow[*array.Concat](),
	copiesRow[*array.Split](),
	copiesRow[*array.Pad](),
	copiesRow[*array.CenterCropPad](),
	copiesRow[*array.ConstantOfShape](),
	copiesRow[*array.EyeLike](),
	copiesRow[*array.Slice](),
}

// copiesRow returns the row of an operator that is strided copies.
func copiesRow[T array.Copier]() row {
	return rowFor("copy", func(o T, b *binder) error { return bindCopies(o, b) })
}

func bindCopies(o array.Copier, b *binder) error {
	list, err := o.Copies(&op.Infer{In: b.In, Out: b.Out})
	var need *array.ElementsError
	switch {
	case errors.As(err, &need):
		return device.Refuse("the elements of input %d are known only while running", need.Input)
	case errors.Is(err, array.ErrSymbolic), errors.Is(err, graph.ErrUnsupported):
		return device.Refuse("%v", err)
	case err != nil:
		return err
	}
	b.step.InPlace = nil
	for i := range list {
		if err := b.copy(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

// bindAppend copies the inputs one after another into the output's memory, which has room. If the
// first input is there already, its copy does nothing.
func bindAppend(o *array.Concat, b *binder) error {
	if b.InRoom == nil || b.OutRoom == nil {
		return device.Refuse("no operand is in memory with room")
	}
	if err := b.OnlyRoom([]int{0}, []int{0}); err != nil {
		return err
	}
	memory := b.memory(0)
	axis, err := op.NormAxis(o.Axis, len(memory))
	if err != nil {
		return err
	}
	for a, n := range b.Shape(0) {
		if a != axis && memory[a] != n || memory[a] != b.outMemory(0)[a] {
			return device.Refuse("rows are added along axis %d and there is room along another", axis)
		}
	}
	outer, inner := memory[:axis].Len(), memory[axis+1:].Len()
	b.step.InPlace = nil
	at := 0
	for i := range b.In {
		rows, pitch := b.Shape(i)[axis]*inner, b.memory(i)[axis]*inner
		axes := []axisSteps{{outer, pitch, memory[axis] * inner}, {rows, 1, 1}}
		if rows > 0 {
			if err := b.strided(b.DType(0), 0, at, axes, b.in(i), b.out(0)); err != nil {
				return err
			}
			if i == 0 {
				b.staysWhole()
			}
		}
		at += rows
	}
	return nil
}

// staysWhole marks the last dispatch as a copy with nothing to do if both operands share memory.
func (b *binder) staysWhole() {
	if c := b.step.Commands; len(c) > 0 {
		c[len(c)-1].Kernel.(*kernel).whole = true
	}
}

// bindTransposeOfRoom permutes the axes of a value in memory with room.
func bindTransposeOfRoom(o *array.Transpose, b *binder) error {
	if b.InRoom == nil || b.OutRoom != nil {
		return device.Refuse("the input fills its memory, or the output does not")
	}
	perm, err := o.Perm(len(b.Shape(0)))
	if err != nil {
		return err
	}
	b.step.InPlace = nil
	from, to := stridesOf(b.memory(0)), stridesOf(b.OutShape(0))
	axes := make([]axisSteps, len(perm))
	for i, p := range perm {
		axes[i] = axisSteps{b.OutShape(0)[i], from[p], to[i]}
	}
	return b.strided(b.DType(0), 0, 0, axes, b.in(0), b.out(0))
}

// copy adds the dispatch of one copy.
func (b *binder) copy(c *array.Copy) error {
	src := b.in(c.In)
	if v := c.Value; v != nil {
		src = device.Operand{Place: device.Const, Data: v.Aligned().Bytes()}
	}
	ends, err := known(c.From, c.To)
	if err != nil {
		return err
	}
	axes := make([]axisSteps, len(c.Axes))
	for i, a := range c.Axes {
		n, err := known(a.N, a.From, a.To)
		if err != nil {
			return err
		}
		axes[i] = axisSteps{n[0], n[1], n[2]}
	}
	return b.strided(b.Out[c.Out].DType, ends[0], ends[1], axes, src, b.out(c.Out))
}

// axisSteps is an extent, and its strides in a source and a destination.
type axisSteps struct{ n, from, to int }

// copyAxes is the most axes of a copy.
const copyAxes = 8

// strided adds a dispatch that copies elements of type d along axes. From and to are the first
// elements. Strides may be negative.
func (b *binder) strided(d tensor.DType, from, to int, axes []axisSteps, x, y device.Operand) error {
	variant, err := widthName(d)
	if err != nil {
		return err
	}
	list, n := []axisSteps{}, 1
	for _, a := range axes {
		n *= a.n
		last := len(list) - 1
		switch {
		case a.n == 1:
		case last >= 0 && list[last].from == a.from*a.n && list[last].to == a.to*a.n:
			list[last] = axisSteps{list[last].n * a.n, a.from, a.to}
		default:
			list = append(list, a)
		}
	}
	if len(list) > copyAxes {
		return device.Refuse("a copy has %d axes", len(list))
	}
	for range copyAxes - len(list) {
		list = append([]axisSteps{{1, 0, 0}}, list...)
	}
	w := words{}
	w.int(n, from, to)
	for _, a := range list {
		w.int(a.n)
	}
	for _, a := range list {
		w.int(a.from)
	}
	for _, a := range list {
		w.int(a.to)
	}
	return b.flat("copy/strided", variant, n, nil, w, x, y)
}

// clear adds a dispatch that sets n elements of type d to 0.
func (b *binder) clear(y device.Operand, d tensor.DType, n int) error {
	return b.fill(y, tensor.New(d, 1), n)
}

// fill adds a dispatch that writes an element n times.
func (b *binder) fill(y device.Operand, element *tensor.Tensor, n int) error {
	variant, err := widthName(element.DType())
	if err != nil {
		return err
	}
	var value [8]byte
	copy(value[:], element.Bytes())
	w := words{uint32(n), 0, binary.LittleEndian.Uint32(value[:]), binary.LittleEndian.Uint32(value[4:])}
	w.int(1, 1, 1, 1, 1, 1, 1, n)
	w.int(0, 0, 0, 0, 0, 0, 0, 1)
	return b.flat("copy/fill", variant, n, nil, w, y)
}
