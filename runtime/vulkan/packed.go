package vulkan

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/openinfer"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var packedRows = []row{
	rowFor("packed", bindPackedPointwise),
	rowFor("packed", bindPackedCast),
	rowFor("packed", bindPackedReduce),
	rowFor("packed", bindPackedArg),
	rowFor("packed", bindPackedFinite),
}

// The kinds of elements, as eltwise/pointwise numbers them.
const (
	kindUnsigned = iota
	kindSigned
	kindBool
	kindFloat
	kindBFloat
)

// elementKind returns the kind of elements of type d.
func (b *binder) elementKind(d tensor.DType) uint32 {
	switch {
	case d == tensor.Bool:
		return kindBool
	case d.Bits() > 32:
	case d == tensor.BF16:
		return kindBFloat
	case d == tensor.F32, d == tensor.F16, d == tensor.F8E5M2:
		return kindFloat
	case d.IsInteger() && d.Kind() == tensor.Signed:
		return kindSigned
	case d.IsInteger():
		return kindUnsigned
	}
	b.Note(device.Refuse("elements are %v", d))
	return 0
}

// packedFunction is a function of elements that a shader decodes in registers.
type packedFunction struct {
	name     string
	operands int
	numbers  [2]uint32
	limited  bool
}

// packed adds a dispatch that computes elements in packed form. An invocation writes one 32-bit
// word.
func (b *binder) packed(f packedFunction) error {
	d, out := b.DType(0), b.Out[0].DType
	kind := b.elementKind(d)
	to := b.elementKind(out)
	number := b.function("pointwise", f.name)
	const most = 3 // operands
	var operands [most]device.Operand
	shapes := make([]tensor.Shape, f.operands)
	for i := range shapes {
		operands[i], shapes[i] = b.in(i), b.Shape(i)
	}
	total, each := b.OutShape(0).Len(), 32/out.Bits()
	w := words{uint32(total)}
	b.under(&w, b.OutShape(0), shapes...)
	w.int(make([]int, broadcastAxes*(most-len(shapes)))...)
	w = append(w, f.numbers[:]...)
	constants := []uint32{number, uint32(d.Bits()), kind, uint32(out.Bits()), to, uint32(len(shapes)),
		uint32(kit.Btoi(f.limited))}
	return b.flat("eltwise/pointwise", "packed", (total+each-1)/each, constants, w, operands[0], operands[1],
		operands[2], b.out(0))
}

func bindPackedPointwise(o *openinfer.Pointwise, b *binder) error {
	if o.Name() == "fma" {
		return device.Refuse("a product and a sum are rounded once")
	}
	b.elementKind(b.DType(0)) // refuses other types
	numbers, limited, err := b.numbersOf(o)
	if err != nil {
		return err
	}
	return b.packed(packedFunction{o.Name(), o.Operands(), numbers, limited})
}

func bindPackedCast(o *openinfer.Cast, b *binder) error {
	return b.packed(packedFunction{name: "cast", operands: 1, numbers: [2]uint32{uint32(o.Mode)}})
}

func bindPackedReduce(o *openinfer.Reduce, b *binder) error {
	axes, err := o.Axes(b.Shape(0))
	if err != nil {
		return err
	}
	return b.window(o.Name(), axes, false)
}

func bindPackedArg(o *openinfer.Arg, b *binder) error {
	axis, err := o.Axis(b.Shape(0))
	if err != nil {
		return err
	}
	name := "argmin_axis"
	if o.Largest {
		name = "argmax_axis"
	}
	return b.window(name, []int{axis}, o.Last)
}

func bindPackedFinite(_ *openinfer.Finite, b *binder) error {
	axes := make([]int, len(b.Shape(0)))
	for i := range axes {
		axes[i] = i
	}
	return b.window("is_finite", axes, false)
}

// Bounds of reductions: the axes of results and of the elements of one result, and these elements.
const (
	windowAxes = 4
	mostWindow = 1 << 16
)

// window adds a dispatch that reduces the elements along axes, in order.
func (b *binder) window(name string, axes []int, last bool) error {
	x, out := b.Shape(0), b.Out[0].DType
	kind := b.elementKind(b.DType(0))
	to := kind
	if out.Bits() != 64 {
		to = b.elementKind(out)
	} else if !out.IsInteger() {
		return device.Refuse("results are %v", out)
	}
	number := b.function("window", name)
	var kept, over []axisSteps
	count := 1
	for i, step := range x.Strides() {
		list := &kept
		if slices.Contains(axes, i) {
			list, count = &over, count*x[i]
		}
		if n := len(*list); x[i] != 1 && n > 0 && (*list)[n-1].from == step*x[i] {
			(*list)[n-1] = axisSteps{(*list)[n-1].n * x[i], step, 0}
		} else if x[i] != 1 {
			*list = append(*list, axisSteps{x[i], step, 0})
		}
	}
	if len(kept) > windowAxes || len(over) > windowAxes || count > mostWindow {
		return device.Refuse("%d elements along %d axes are reduced to one", count, len(over))
	}
	total, each := b.OutShape(0).Len(), 32/min(out.Bits(), 32)
	b.Note(b.loops(each * (count*(1+2*windowAxes) + 64)))
	w := words{}
	w.int(total, count)
	for _, list := range [][]axisSteps{kept, over} {
		var dims, steps [windowAxes]int
		for i := range dims {
			dims[i] = 1
			if at := i - (windowAxes - len(list)); at >= 0 {
				dims[i], steps[i] = max(list[at].n, 1), list[at].from
			}
		}
		w.int(dims[:]...)
		w.int(steps[:]...)
	}
	defer b.works(total * count)
	constants := []uint32{number, uint32(b.DType(0).Bits()), kind, uint32(out.Bits()), to, uint32(kit.Btoi(last))}
	return b.flat("reduce/window", "packed", (total+each-1)/each, constants, w, b.in(0), b.out(0))
}

// numbersOf returns the inputs that are numbers of a function, as words.
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
