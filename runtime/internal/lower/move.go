package lower

import (
	"errors"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Move is strided copies between two operands.
type Move struct {
	DType    tensor.DType
	From, To device.Operand
	Copies   []array.Copy // From and To are their operands
	InRoom   bool         // the elements are in place if both operands are the same memory with room
}

// Moves returns the rows of operators that copy elements.
func Moves[B Binder]() []device.Row[B] {
	return []device.Row[B]{
		row[B]("append", bindAppend).InRoom(),
		row[B]("transpose", bindTransposeOfRoom).InRoom(),
		row[B]("copy", bindCopies[*array.Transpose]).Reading(),
		row[B]("copy", bindCopies[*array.Expand]).Reading(),
		row[B]("copy", bindCopies[*array.Tile]).Reading(),
		row[B]("copy", bindCopies[*array.DepthToSpace]).Reading(),
		row[B]("copy", bindConcat),
		row[B]("copy", bindSplit).Reading(),
		row[B]("copy", bindCopies[*array.Pad]).Reading(),
		row[B]("copy", bindCopies[*array.CenterCropPad]).Reading(),
		row[B]("copy", bindCopies[*array.ConstantOfShape]).Reading(),
		row[B]("copy", bindCopies[*array.EyeLike]).Reading(),
		row[B]("copy", bindSlice),
	}
}

// bindAppend copies the inputs one after another into the memory of the output. It has room, and
// the rows of the first input.
func bindAppend(o *array.Concat, b Binder) error {
	f := b.Facts()
	if !f.HasRoom() {
		return device.Refuse("no operand is in memory with room")
	}
	if err := f.OnlyRoom([]int{0}, []int{0}); err != nil {
		return err
	}
	memory, out := f.Memory(0), f.OutMemory(0)
	axis, err := op.NormAxis(o.Axis, len(memory))
	if err != nil {
		return err
	}
	for a, n := range f.In[0].Dims {
		if a != axis && !memory[a].Same(n) || !memory[a].Same(out[a]) {
			return device.Refuse("rows are added along axis %d and there is room along another", axis)
		}
	}
	outer, inner, one := memory[:axis].Len(), memory[axis+1:].Len(), graph.Known(1)
	at := graph.Known(0)
	for i, v := range f.In {
		rows := v.Dims[axis].Mul(inner)
		c := array.Copy{To: at, Axes: []array.CopyAxis{
			{N: outer, From: f.Memory(i)[axis].Mul(inner), To: memory[axis].Mul(inner)}, {N: rows, From: one, To: one}}}
		m := &Move{DType: f.DType(0), From: b.Input(i), To: b.Output(0), Copies: []array.Copy{c}, InRoom: i == 0}
		if err := b.Move(m); err != nil {
			return err
		}
		at = at.Add(rows)
	}
	return nil
}

// bindTransposeOfRoom permutes the axes of a value with room in its memory.
func bindTransposeOfRoom(o *array.Transpose, b Binder) error {
	f := b.Facts()
	if f.InRoom == nil || f.OutRoom != nil {
		return device.Refuse("the input fills its memory, or the output does not")
	}
	perm, err := o.Perm(len(f.In[0].Dims))
	if err != nil {
		return err
	}
	from, to := kit.StridesOf(f.Memory(0)), kit.StridesOf(f.Out[0].Dims)
	c := array.Copy{Axes: make([]array.CopyAxis, len(perm))}
	for i, p := range perm {
		c.Axes[i] = array.CopyAxis{N: f.Out[0].Dims[i], From: from[p], To: to[i]}
	}
	return b.Move(&Move{DType: f.DType(0), From: b.Input(0), To: b.Output(0), Copies: []array.Copy{c}})
}

// bindCopies makes one move of the copies between the same two operands.
func bindCopies[T array.Copier](o T, b Binder) error {
	f := b.Facts()
	list, err := o.Copies(&op.Infer{In: f.In, Out: f.Out})
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
		first, n := &list[0], 1
		for n < len(list) && list[n].Value == first.Value && list[n].In == first.In && list[n].Out == first.Out {
			n++
		}
		m := &Move{DType: f.Out[first.Out].DType, From: b.Input(first.In), To: b.Output(first.Out), Copies: list[:n]}
		if first.Value != nil {
			m.From = constant(first.Value)
		}
		if err := b.Move(m); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

func bindConcat(o *array.Concat, b Binder) error {
	f := b.Facts()
	b.Step().Joins = shares(o.Axis, f.Out[0], f.In)
	return bindCopies(o, b)
}

func bindSplit(o *array.Split, b Binder) error {
	f := b.Facts()
	b.Step().Splits = shares(o.Axis, f.In[0], f.Out)
	return bindCopies(o, b)
}

// bindSlice refuses a slice if its cuts are not known.
func bindSlice(o *array.Slice, b Binder) error {
	err := bindCopies(o, b)
	var need *device.NeedValue
	if errors.As(err, &need) {
		return device.Refuse("the elements of input %d are not constant", need.Input)
	}
	return err
}

// shares lists where the parts are within the whole that they form along an axis. It returns nil if
// a part is not one contiguous piece of the whole.
func shares(axis int, whole *op.Value, parts []*op.Value) []device.Share {
	axis, err := op.NormAxis(axis, len(whole.Dims))
	if err != nil {
		return nil
	}
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
