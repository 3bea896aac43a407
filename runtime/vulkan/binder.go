package vulkan

import (
	"errors"
	"math"
	"unsafe"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/shaders"
)

// row is one way to compute operators of one Go type on the device.
type row = device.Row[*binder]

// rowFor returns a row for operators of type T. Bind adds dispatches to the step or refuses.
func rowFor[T op.Op](name string, bind func(o T, b *binder) error) row {
	return device.RowFor(name, bind)
}

// rowsOf returns the rows for a node, best first.
func rowsOf(b *device.Binding) []row { return byType().For(b.Op) }

// binder makes the step of one node.
type binder struct {
	*device.Binding
	dev        *Device
	weights    *weights
	directConv bool // convolutions use no transforms
	accuracy   device.Accuracy
	step       *device.Step
	failed     error // see Note
}

// Note keeps the first error that is not nil. Dispatches, and the step, then fail with it.
func (b *binder) Note(err error) {
	if b.failed == nil {
		b.failed = err
	}
}

// groupSize is the number of invocations of a workgroup along x, unless a kernel says otherwise.
const groupSize = 64

// words is the push constants of a dispatch.
type words []uint32

// int appends integers.
func (w *words) int(list ...int) {
	for _, n := range list {
		*w = append(*w, uint32(n))
	}
}

// float appends the bits of numbers as float32.
func (w *words) float(list ...float64) {
	for _, f := range list {
		*w = append(*w, math.Float32bits(float32(f)))
	}
}

// bool appends 1 for true and 0 for false.
func (w *words) bool(list ...bool) {
	for _, b := range list {
		w.int(kit.Btoi(b))
	}
}

// shortName returns the name of element type d in variants, empty if no shader computes on d. Bools
// are bytes.
func shortName(d tensor.DType) string {
	switch d {
	case tensor.Bool:
		d = tensor.U8
	case tensor.F64:
		return ""
	}
	return d.Short()
}

// typeName returns the name of element type d in variants. It notes a refusal if there is none.
func (b *binder) typeName(d tensor.DType) string {
	name := shortName(d)
	if name == "" {
		b.Note(device.Refuse("no shader computes on %v elements", d))
	}
	return name
}

// floatName is typeName for floats. It notes a refusal of other types.
func (b *binder) floatName(d tensor.DType) string {
	if d != tensor.F32 && d != tensor.F16 && d != tensor.BF16 {
		b.Note(device.Refuse("the shader computes on floats, not on %v elements", d))
	}
	return shortName(d)
}

// widths are the names of variants that move elements, by bytes of an element.
var widths = map[int]string{1: "w1", 2: "w2", 4: "w4", 8: "w8"}

// widthName returns the name that variants have for the width of elements of type d. It notes a
// refusal if there is none.
func (b *binder) widthName(d tensor.DType) string {
	if name := widths[d.Bits()/8]; name != "" && d.Bits()%8 == 0 {
		return name
	}
	b.Note(device.Refuse("no shader moves %v elements", d))
	return ""
}

// checkOperands refuses operands with unknown extents or with more elements than a shader can
// index.
func (b *binder) checkOperands() error {
	for _, list := range [][]*op.Value{b.In, b.Out} {
		for _, v := range list {
			if v == nil {
				continue
			}
			shape, ok := v.Dims.Concrete()
			if !ok {
				return device.Refuse("extents %v are not known", v.Dims)
			}
			if shape.Len() > math.MaxInt32 {
				return device.Refuse("an operand has %d elements, and shaders count to %d", shape.Len(), math.MaxInt32)
			}
		}
	}
	return nil
}

// isVisible reports whether a shader can see n bytes as one operand.
func (b *binder) isVisible(n int) bool { return n <= b.dev.info.Caps.MaxRange }

// checkVisible refuses a dispatch if a shader cannot see one of its operands as a whole.
func (b *binder) checkVisible(operands []device.Operand) error {
	for _, o := range operands {
		if o.Place == device.In && b.memory(o.Index).Len() == 0 {
			return device.Refuse("input %d has no elements", o.Index)
		}
		n := o.Bytes
		switch {
		case n > 0:
		case o.Place == device.In:
			n = b.DType(o.Index).Bytes(b.memory(o.Index).Len())
		case o.Place == device.Out:
			n = b.Out[o.Index].DType.Bytes(b.outMemory(o.Index).Len())
		default:
			n = len(o.Data)
		}
		if !b.isVisible(n) {
			return device.Refuse("an operand has %d bytes, and shaders see %d at a time", n, b.dev.info.Caps.MaxRange)
		}
	}
	return nil
}

// memory returns the extents of the memory of input i.
func (b *binder) memory(i int) tensor.Shape {
	s, _ := b.Memory(i).Concrete()
	return s
}

func (b *binder) outMemory(i int) tensor.Shape {
	s, _ := b.OutMemory(i).Concrete()
	return s
}

func (b *binder) in(i int) device.Operand  { return b.Input(i) }
func (b *binder) out(i int) device.Operand { return b.Output(i) }

// Step returns the step.
func (b *binder) Step() *device.Step { return b.step }

// Scratch is temp.
func (b *binder) Scratch(n int) device.Operand { return b.temp(n) }

// temp returns n bytes of scratch, valid for all dispatches of the step.
func (b *binder) temp(n int) device.Operand {
	o := device.Operand{Place: device.Temp, Offset: graph.Known(b.step.Temp), Bytes: n}
	b.step.Temp += alignUp(n)
	return o
}

// constant returns numbers as an operand that the step brings with it.
func constant[T float32 | int32 | uint32](list ...T) device.Operand {
	return device.Operand{Place: device.Const,
		Data: unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), 4*len(list))}
}

// module returns a variant of a shader. It refuses if the device lacks a feature that the variant
// needs.
func (b *binder) module(name, variant string) (*shaders.Module, error) {
	m, err := b.dev.find(name, variant)
	if errors.Is(err, shaders.ErrVariant) {
		return nil, device.Refuse("%v", err)
	}
	if err != nil {
		return nil, graph.Errorf(graph.ErrFormat, "%w: %w", guard.ErrInternal, err)
	}
	if missing := m.Variant.Needs &^ b.dev.features; missing != 0 {
		return nil, device.Refuse("shader %s/%s needs %v, which the device lacks", name, variant, missing)
	}
	return m, nil
}

// flat adds a dispatch of at least n invocations in a flat grid. Constants follow the size of a
// workgroup among the shader's specialization constants.
func (b *binder) flat(name, variant string, n int, constants []uint32, w words, operands ...device.Operand) error {
	return b.dispatch(name, variant, groupSize, b.flatGroups((n+groupSize-1)/groupSize), constants, w, operands...)
}

// flatGroups spreads n workgroups over the axes of a grid.
func (b *binder) flatGroups(n int) [3]int { return b.dev.flatGroups(n) }

func (d *Device) flatGroups(n int) [3]int {
	most := min(d.info.Caps.MaxGroups[0], 65535)
	y := (n + most - 1) / most
	if y <= 1 {
		return [3]int{n, 1, 1}
	}
	return [3]int{(n + y - 1) / y, y, 1}
}

// dispatch adds a dispatch of a grid of workgroups with size invocations each. An empty grid adds
// nothing.
func (b *binder) dispatch(
	name, variant string, size int, groups [3]int, constants []uint32, w words, operands ...device.Operand,
) error {
	if b.failed != nil {
		return b.failed
	}
	m, err := b.module(name, variant)
	if err != nil {
		return err
	}
	if groups[0] == 0 || groups[1] == 0 || groups[2] == 0 {
		return nil
	}
	if most := b.dev.info.Caps.MaxBuffers; len(operands) > most {
		return device.Refuse("shader %s has %d operands, and the device takes %d", name, len(operands), most)
	}
	if c := &b.dev.info.Caps; size > min(c.MaxInvocations, c.MaxGroupSize[0]) {
		return device.Refuse("a workgroup of %s has %d invocations, and the device takes %d", name, size, c.MaxInvocations)
	}
	if err := b.checkVisible(operands); err != nil {
		return err
	}
	for k, most := range b.dev.info.Caps.MaxGroups {
		if groups[k] > most {
			return device.Refuse("a grid has %d workgroups along an axis, and the device takes %d", groups[k], most)
		}
	}
	if len(operands) != m.Kernel.Operands || len(w) != m.Kernel.Push || len(constants) != len(m.Kernel.Constants) {
		return graph.Errorf(graph.ErrFormat,
			"%w: shader %s takes %d operands, %d words and %d constants, and is given %d, %d and %d", guard.ErrInternal,
			name, m.Kernel.Operands, m.Kernel.Push, len(m.Kernel.Constants), len(operands), len(w), len(constants))
	}
	all := append([]uint32{uint32(size)}, constants...)
	if err := b.checkShared(m, all); err != nil {
		return err
	}
	c := device.Command{Kernel: &kernel{module: m, constants: all, groups: groups}, Operands: operands}
	for _, x := range w {
		c.Words = append(c.Words, graph.Known(int(x)))
	}
	b.step.Commands = append(b.step.Commands, c)
	return nil
}

// checkShared refuses a dispatch that shares more memory in a workgroup than the device has. Drivers
// do not refuse it: the device is lost.
func (b *binder) checkShared(m *shaders.Module, constants []uint32) error {
	n, err := m.SharedBytes(constants)
	if err != nil {
		return graph.Errorf(graph.ErrFormat, "%w: %w", guard.ErrInternal, err)
	}
	if most := b.dev.info.Caps.MaxShared; n > most {
		return device.Refuse("a workgroup of %s shares %d bytes, and the device has %d", m.Kernel.Name, n, most)
	}
	return nil
}

// loops refuses n loop iterations of one invocation if the device would end them early.
func (b *binder) loops(n int) error {
	if most := b.dev.mostLoop(); n > most {
		return device.Refuse("loops of an invocation take %d iterations, and the device ends them after %d", n, most)
	}
	return nil
}

// does notes the work of the last dispatch, one of the shader with that name, for merge.
func (b *binder) does(work any, name string) {
	if c := b.step.Commands; len(c) > 0 && c[len(c)-1].Kernel.Op() == name {
		c[len(c)-1].Kernel.(*kernel).does = work
	}
}

// works sets the multiply-adds of the last dispatch to n and adds them to the step's.
func (b *binder) works(n int) {
	b.step.Work += n
	if c := b.step.Commands; len(c) > 0 {
		c[len(c)-1].Kernel.(*kernel).work = n
	}
}
