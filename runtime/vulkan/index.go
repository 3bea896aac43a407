package vulkan

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var indexRows = []row{
	rowFor("gather", bindGather),
	rowFor("gather", bindGatherND),
	rowFor("gather", bindGatherElements),
	rowFor("scatter", bindScatter),
	rowFor("one_hot", bindOneHot),
	rowFor("reverse", bindReverseSequence),
	rowFor("triangle", bindTrilu),
}

// indexWords returns the 32-bit words of an index of input i.
func (b *binder) indexWords(i int) uint32 { return uint32(b.DType(i).Bits() / 32) }

// indexFault returns the fault operand for indices into n elements.
func (b *binder) indexFault(n int) device.Operand {
	return b.fault(fmt.Sprintf("element %%d of the indices is not in -%d..%d", n, n-1))
}

func bindGather(o *array.Gather, b *binder) error {
	variant := b.widthName(b.DType(0))
	x := b.Shape(0)
	axis, err := op.NormAxis(o.Axis, len(x))
	if err != nil {
		return err
	}
	s, n := kit.ViewAlong(x, axis), b.OutShape(0).Len()
	b.step.Scattered = 1
	var w words
	w.int(n, s.N, s.Inner, b.Shape(1).Len())
	return b.flat("gather/gather", variant, n, []uint32{b.indexWords(1)}, w, b.in(0), b.in(1), b.out(0), b.indexFault(s.N))
}

// targets is the operands of include/target.glsl, which finds the elements that indices name.
type targets struct {
	words     words
	constants []uint32
	fault     device.Operand
}

// targetAxes is the most axes of indices, and the most indices of a tuple.
const targetAxes = 8

// tuplesOf returns the targets of n elements in blocks that the tuples of input 1 name.
func (b *binder) tuplesOf(n, batch int) (*targets, error) {
	data, index := b.Shape(0), b.Shape(1)
	last := len(index) - 1
	tuple := index[last]
	if tuple > targetAxes {
		return nil, device.Refuse("tuples have %d indices", tuple)
	}
	t := &targets{constants: []uint32{b.indexWords(1), 1}}
	t.words.int(n, max(index[batch:last].Len(), 1), tuple, data[batch+tuple:].Len())
	t.words.int(data[batch : batch+tuple]...)
	t.words.int(make([]int, 2*targetAxes-tuple)...)
	t.fault = b.fault(fmt.Sprintf("element %%d of the indices names no place of the axes %v", data[batch:batch+tuple]))
	return t, nil
}

// elementsOf returns the targets of single elements that input 1 names along an axis.
func (b *binder) elementsOf(axis int) (*targets, error) {
	data, index := b.Shape(0), b.Shape(1)
	axis, err := op.NormAxis(axis, len(data))
	if err != nil {
		return nil, err
	}
	if len(data) > targetAxes {
		return nil, device.Refuse("indices have %d axes", len(data))
	}
	steps, room := data.Strides(), make([]int, targetAxes-len(data))
	t := &targets{constants: []uint32{b.indexWords(1), 0}, fault: b.indexFault(data[axis])}
	t.words.int(index.Len(), data[axis], len(data), steps[axis])
	steps[axis] = 0
	t.words.int(index...)
	t.words.int(room...)
	t.words.int(steps...)
	t.words.int(room...)
	return t, nil
}

func bindGatherND(o *array.GatherND, b *binder) error {
	t, err := b.tuplesOf(b.OutShape(0).Len(), o.Batch)
	if err != nil {
		return err
	}
	return b.gatherEach(t)
}

func bindGatherElements(o *array.GatherElements, b *binder) error {
	t, err := b.elementsOf(o.Axis)
	if err != nil {
		return err
	}
	return b.gatherEach(t)
}

// gatherEach adds a dispatch that takes the elements at targets.
func (b *binder) gatherEach(t *targets) error {
	variant := b.widthName(b.DType(0))
	b.step.Scattered = 1
	return b.flat("gather/each", variant, b.OutShape(0).Len(), t.constants, t.words, b.in(0), b.in(1), b.out(0), t.fault)
}

// floatIndices takes the place of the words of an index in gather/one_hot.
const floatIndices = 3

func bindOneHot(o *array.OneHot, b *binder) error {
	variant := b.widthName(b.DType(2))
	kind := b.indexWords(0)
	switch d := b.DType(0); d {
	case tensor.I32, tensor.I64:
	case tensor.F32:
		kind = floatIndices
	default:
		return device.Refuse("indices are %v", d)
	}
	out := b.OutShape(0)
	axis, err := op.NormAxis(o.Axis, len(out))
	if err != nil {
		return err
	}
	s := kit.ViewAlong(out, axis)
	constants, w := words{kind}, words{}
	constants.bool(o.FromEnd)
	w.int(out.Len(), s.N, s.Inner)
	return b.flat("gather/one_hot", variant, out.Len(), constants, w, b.in(0), b.in(2), b.out(0))
}

func bindReverseSequence(o *array.ReverseSequence, b *binder) error {
	variant := b.widthName(b.DType(0))
	x, lengths := b.Shape(0), b.Shape(1)
	if lengths.Len() != x[o.Batch] || b.DType(1) != tensor.I64 {
		return device.Refuse("there are lengths %v of type %v", lengths, b.DType(1))
	}
	steps := x.Strides()
	var w words
	w.int(x.Len(), x[o.Batch], steps[o.Batch], x[o.Time], steps[o.Time])
	return b.flat("gather/reverse", variant, x.Len(), nil, w, b.in(0), b.in(1), b.out(0),
		b.fault(fmt.Sprintf("the length of sequence %%d is not in 0..%d", x[o.Time])))
}

func bindTrilu(o *array.Trilu, b *binder) error {
	variant := b.widthName(b.DType(0))
	given := b.Has(1) && b.Const(1) == nil
	if given && (b.DType(1) != tensor.I64 || b.Shape(1).Len() != 1) {
		return device.Refuse("k is %v %v", b.DType(1), b.Shape(1))
	}
	x := b.Shape(0)
	k, err := o.Diagonal(x, b.Const(1))
	if err != nil {
		return err
	}
	last := device.Operand{}
	if given {
		last = b.in(1)
	}
	flags, w := words{}, words{}
	flags.bool(o.Upper, given)
	w.int(x.Len(), x[len(x)-2], x[len(x)-1], k)
	return b.flat("copy/triangle", variant, x.Len(), flags, w, b.in(0), last, b.out(0))
}
