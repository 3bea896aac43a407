package vulkan

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sized is the command of a node with lengths in its extents. The node is bound again for the
// lengths of a run, and the command becomes its dispatches. Its operands are all inputs, all
// outputs, and scratch.
type sized struct {
	device.Kernel // the first kernel for the greatest lengths
	binding       *device.Binding
	bind          func(b *device.Binding) (*device.Step, error)
	temp          int // bytes of scratch
}

// noKernel stands for the kernel of a node that has none.
type noKernel struct{}

func (noKernel) Op() string      { return "nothing" }
func (noKernel) Variant() string { return "none" }

// hasLengths reports whether extents or known elements of an operand contain lengths.
func hasLengths(b *device.Binding) bool {
	has := func(d graph.Dim) bool { return len(d.Symbols()) > 0 }
	for _, list := range [][]*op.Value{b.In, b.Out} {
		for _, v := range list {
			if v != nil && (slices.ContainsFunc(v.Dims, has) || slices.ContainsFunc(v.Ints, has)) {
				return true
			}
		}
	}
	return false
}

// bindStore makes the step of a node with known integers as its output.
func (a *Accelerator) bindStore(b *device.Binding) (*device.Step, error) {
	return a.bindRow(row{Name: "store", Room: true, Bind: func(_ op.Op, b *binder) error {
		list, ok := b.Out[0].IntVec()
		if !ok || b.OutShape(0).Len() != len(list) {
			return device.Refuse("the elements are not known")
		}
		n := b.known(list...)
		var data []byte
		for _, x := range n {
			switch b.Out[0].DType {
			case tensor.I64:
				data = binary.LittleEndian.AppendUint64(data, uint64(x))
			case tensor.I32:
				data = binary.LittleEndian.AppendUint32(data, uint32(x))
			default:
				return device.Refuse("the elements have type %v", b.Out[0].DType)
			}
		}
		return b.copyAll(b.Out[0].DType, len(n), device.Operand{Place: device.Const, Data: data}, b.out(0))
	}}, b)
}

// eachLength calls f for every extent and every known element of operands.
func (k *sized) eachLength(f func(graph.Dim)) {
	for _, list := range [][]*op.Value{k.binding.In, k.binding.Out} {
		for _, v := range list {
			if v == nil {
				continue
			}
			for _, d := range slices.Concat(v.Dims, v.Ints) {
				f(d)
			}
		}
	}
}

// bindLengths makes the step of a node with lengths in its extents. The device must be able to
// compute the node for the greatest lengths.
func (a *Accelerator) bindLengths(b *device.Binding) (*device.Step, error) {
	most, ok := withExtents(b, b.Max)
	if !ok {
		return nil, device.Refuse("extents of operands have no bound")
	}
	bind := a.Bind
	if b.StoresInts() {
		bind = a.bindStore
	}
	step, err := bind(most)
	if err != nil {
		return nil, err
	}
	k := &sized{Kernel: noKernel{}, binding: b, bind: bind, temp: step.Temp}
	c := device.Command{Kernel: k}
	for i := range step.Commands {
		if i == 0 {
			k.Kernel = step.Commands[0].Kernel
		} else {
			c.Parts = append(c.Parts, step.Commands[i].Kernel)
		}
	}
	c.Operands = sizedOperands(b)
	return &device.Step{Binder: step.Binder, Commands: []device.Command{c}, Temp: step.Temp, Work: step.Work,
		Scattered: step.Scattered}, nil
}

func sizedOperands(b *device.Binding) (list []device.Operand) {
	for i := range b.In {
		o := device.Operand{}
		if b.Has(i) && !b.StoresInts() {
			o = device.Operand{Place: device.In, Index: i}
		}
		list = append(list, o)
	}
	for i := range b.Out {
		o := device.Operand{}
		if b.Wants(i) {
			o = device.Operand{Place: device.Out, Index: i}
		}
		list = append(list, o)
	}
	return append(list, device.Operand{Place: device.Temp})
}

// withExtents returns the binding with extents evaluated by eval. It reports whether eval knew all
// of them.
func withExtents(b *device.Binding, eval func(graph.Dim) (int, bool)) (*device.Binding, bool) {
	x := *b
	all := true
	dims := func(d graph.Dims) graph.Dims {
		if d == nil {
			return nil
		}
		list := make(graph.Dims, len(d))
		for i := range d {
			n, ok := eval(d[i])
			all = all && ok && n >= 0
			list[i] = graph.Known(n)
		}
		return list
	}
	values := func(list []*op.Value) []*op.Value {
		out := slices.Clone(list)
		for i, v := range out {
			if v == nil || v.Const != nil {
				continue
			}
			own := *v
			own.Dims, own.Ints, out[i] = dims(v.Dims), slices.Clone(v.Ints), &own
			for k, d := range own.Ints {
				if n, ok := eval(d); ok {
					own.Ints[k] = graph.Known(n)
				}
			}
		}
		return out
	}
	rooms := func(list []graph.Dims) []graph.Dims {
		out := slices.Clone(list)
		for i := range out {
			out[i] = dims(out[i])
		}
		return out
	}
	x.In, x.Out = values(b.In), values(b.Out)
	x.InRoom, x.OutRoom = rooms(b.InRoom), rooms(b.OutRoom)
	return &x, all
}

// expand returns the commands of a node for the lengths of a run. Their operands refer to the
// memory of r's operands.
func (k *sized) expand(r *device.Recorded, length func(symbol string) (int, bool)) ([]device.Recorded, error) {
	b, ok := withExtents(k.binding, func(d graph.Dim) (int, bool) { return d.Eval(length) })
	if !ok {
		return nil, fmt.Errorf("extents of operands of %s are not known", k.binding.Row.Name)
	}
	step, err := k.bind(b)
	if err != nil {
		return nil, err
	}
	if step.Temp > k.temp {
		return nil, fmt.Errorf("%w: %s takes %d bytes of scratch, and %d for greater lengths", guard.ErrInternal,
			k.binding.Row.Name, step.Temp, k.temp)
	}
	list := make([]device.Recorded, len(step.Commands))
	for i := range list {
		c := &step.Commands[i]
		n := len(c.Operands)
		x := device.Recorded{Command: c, Bases: make([]int, n), Offsets: make([]graph.Dim, n), Bytes: make([]int, n),
			Step: r.Step}
		for j := range c.Operands {
			at := k.operand(&c.Operands[j])
			if x.Offsets[j] = c.Operands[j].Offset; at < 0 {
				continue
			}
			x.Bases[j], x.Bytes[j] = r.Bases[at], r.Bytes[at]
			x.Offsets[j] = x.Offsets[j].Add(r.Offsets[at])
			if data := r.Operands[at].Data; data != nil {
				c.Operands[j].Data = data
			}
		}
		list[i] = x
	}
	return list, nil
}

// operand returns the operand of the command that a dispatch's operand is; -1 for none.
func (k *sized) operand(o *device.Operand) int {
	switch o.Place {
	case device.In:
		return o.Index
	case device.Out:
		return len(k.binding.In) + o.Index
	case device.Temp:
		return len(k.binding.In) + len(k.binding.Out)
	}
	return -1
}
