package vulkan

import (
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var orderRows = []row{
	rowFor("arg", bindArg),
	rowFor("running", bindRunning),
	rowFor("top", bindTopK),
}

// kinds are the numbers that include/order.glsl has for the meaning of an element's bits.
var kinds = map[tensor.DType]uint32{
	tensor.Bool: 0, tensor.U8: 0, tensor.U16: 0, tensor.U32: 0, tensor.U64: 0,
	tensor.I8: 1, tensor.I16: 1, tensor.I32: 1, tensor.I64: 1,
	tensor.F32: 2, tensor.BF16: 2, tensor.F64: 2, tensor.F16: 3,
}

// ordered returns the variant and the kind for comparisons of elements of type d.
func (b *binder) ordered(d tensor.DType) (variant string, kind uint32) {
	kind, ok := kinds[d]
	if !ok {
		b.Note(device.Refuse("no shader compares %v elements", d))
	}
	return b.widthName(d), kind
}

func bindArg(o *arith.ArgReduce, b *binder) error {
	variant, kind := b.ordered(b.DType(0))
	s, err := o.View(b.Shape(0))
	if err != nil {
		return err
	}
	flags := words{kind}
	flags.bool(o.Largest, o.Last)
	return b.along("reduce/arg", variant, s, flags, b.in(0), b.out(0))
}

// along adds a dispatch of one workgroup for each lane of a view.
func (b *binder) along(name, variant string, s kit.AxisView, constants words, operands ...device.Operand) error {
	var w words
	w.int(s.Outer*s.Inner, s.N, s.Inner)
	return b.lanes(name, variant, s.Outer*s.Inner, s.N, constants, w, operands...)
}

// runningAxes is the most axes of a value if the axis is known only while running.
const runningAxes = 8

// bindRunning computes running sums and products. Signed and unsigned integers wrap around alike.
func bindRunning(o *arith.Cumulate, b *binder) error {
	variant := b.typeName(b.DType(0).Unsigned())
	x, axis := b.Shape(0), b.in(1)
	extents := []int(x)
	var longest, most int // the most elements of a lane, and the most lanes
	var flags words
	flags.bool(o.Product, o.Exclusive, o.Reverse)
	w := words{uint32(x.Len())}
	fault := device.Operand{}
	if c := b.Const(1); c != nil {
		s, err := o.View(x, c)
		if err != nil {
			return err
		}
		extents, longest, most, axis = []int{s.Outer, s.N, s.Inner}, s.N, s.Outer*s.Inner, device.Operand{}
		flags.int(0)
		w.int(1)
	} else {
		if len(x) == 0 || len(x) > runningAxes || b.Shape(1).Len() != 1 {
			return device.Refuse("the axis %v of %d is known only while running", b.Shape(1), len(x))
		}
		longest, most = slices.Max(x), x.Len()/slices.Min(x)
		flags.int(int(b.indexWords(1)))
		w.int(0)
		fault = b.fault(fmt.Sprintf("axis %%d is not one of a value with %d axes", len(x)))
	}
	w.int(len(extents))
	w.int(extents...)
	w.int(make([]int, runningAxes-len(extents))...)
	return b.lanes("reduce/running", variant, most, longest, flags, w, b.in(0), axis, b.out(0), fault)
}
