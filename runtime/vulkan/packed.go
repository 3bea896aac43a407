package vulkan

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/openinfer"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var packedRows = []row{
	rowFor("packed", bindPackedPointwise),
}

// The kinds of elements, as eltwise/pointwise numbers them.
const (
	kindUnsigned = iota
	kindSigned
	kindBool
	kindFloat
	kindBFloat
)

// elementKind is the kind of elements of a type.
func elementKind(d tensor.DType) (uint32, error) {
	switch {
	case d == tensor.Bool:
		return kindBool, nil
	case d.Bits() > 32:
	case d == tensor.BF16:
		return kindBFloat, nil
	case d == tensor.F32, d == tensor.F16, d == tensor.F8E5M2:
		return kindFloat, nil
	case d.IsInteger() && d.Kind() == tensor.Signed:
		return kindSigned, nil
	case d.IsInteger():
		return kindUnsigned, nil
	}
	return 0, device.Refuse("elements are %v", d)
}

// bindPackedPointwise computes elements as they lie, those of a word by an invocation.
func bindPackedPointwise(o *openinfer.Pointwise, b *binder) error {
	d, out := b.DType(0), b.Out[0].DType
	kind, err := elementKind(d)
	if err != nil {
		return err
	}
	to, err := elementKind(out)
	if err != nil {
		return err
	}
	if o.Name() == "fma" {
		return device.Refuse("a product and a sum are rounded once")
	}
	f, err := function("pointwise", o.Name())
	if err != nil {
		return err
	}
	numbers, limited, err := b.numbersOf(o)
	if err != nil {
		return err
	}
	const most = 3 // operands
	var operands [most]device.Operand
	shapes := make([]tensor.Shape, o.Operands())
	for i := range shapes {
		operands[i], shapes[i] = b.in(i), b.Shape(i)
	}
	total, each := b.OutShape(0).Len(), 32/out.Bits()
	dims, steps := broadcast(b.OutShape(0), shapes...)
	w := words{uint32(total)}
	if err := w.under(broadcastAxes, dims, steps...); err != nil {
		return err
	}
	w.int(make([]int, broadcastAxes*(most-len(shapes)))...)
	w = append(w, numbers[:]...)
	b.step.InPlace = nil
	constants := []uint32{f, uint32(d.Bits()), kind, uint32(out.Bits()), to, uint32(len(shapes)), uint32(op.Btoi(limited))}
	return b.flat("eltwise/pointwise", "packed", (total+each-1)/each, constants, w, operands[0], operands[1], operands[2], b.out(0))
}

// numbersOf returns the numbers of a function that are inputs, as words.
func (b *binder) numbersOf(o *openinfer.Pointwise) (list [2]uint32, limited bool, err error) {
	var given []*tensor.Tensor
	for i := o.Operands(); i < len(b.In); i++ {
		if b.Has(i) && b.Const(i) == nil {
			return list, false, device.Refuse("the elements of input %d are known only while running", i)
		}
		given = append(given, b.Const(i))
	}
	d := b.DType(0)
	switch {
	case d.IsFloat():
		n, err := openinfer.NumbersOf[float32](o, d, given)
		return [2]uint32{math.Float32bits(n.A), math.Float32bits(n.B)}, n.Limit, err
	case d.Kind() == tensor.Signed:
		n, err := openinfer.NumbersOf[int64](o, d, given)
		return [2]uint32{uint32(n.A), uint32(n.B)}, n.Limit, err
	}
	n, err := openinfer.NumbersOf[uint64](o, d, given)
	if d == tensor.Bool {
		n.A = min(n.A, 1)
	}
	return [2]uint32{uint32(n.A), uint32(n.B)}, n.Limit, err
}
