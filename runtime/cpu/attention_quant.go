package cpu

import (
	"unsafe"

	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// bindQAttention has the projection of bytes computed in Go, and then runs commands.
func bindQAttention(o *op.QAttention, b *binder) error {
	inner := *b.Binding
	inner.In = op.AsProjected(b.In)
	x := &binder{Binding: &inner, dev: b.dev, step: &device.Step{}}
	rows, w := inner.In[op.ProjectedInput].Dims, inner.In[op.ProjectedWeights].Dims
	n, ok := b.Max(rows[0].Mul(rows[1]).Mul(w[1]))
	if !ok {
		return device.Refuse("the input %v has unknown extents", rows)
	}
	all := x.temp(tensor.F32.Bytes(n))
	if err := x.attendProjected(&o.ProjectedAttention, all); err != nil {
		return err
	}
	b.step.Call = func(c *op.Run) error {
		return b.dev.call(c, x.step, op.AsProjected(c.In), func(temp []byte) error {
			return o.Project(c, unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(temp))), n))
		})
	}
	return nil
}

// call runs the commands of a step from Go, for a step that is partly Go: before, unless
// it is nil, is given the scratch that the commands share.
func (d *Device) call(c *op.Run, step *device.Step, in []*tensor.Tensor, before func(temp []byte) error) error {
	list := make([]device.Recorded, len(step.Commands))
	for i := range step.Commands {
		list[i] = device.Record(&step.Commands[i], func(o device.Operand) int {
			if o.Place == device.In {
				return 2 + o.Index
			}
			return 2 + len(in) + o.Index
		}, 1, device.AlignUp(step.Temp))
	}
	s, err := d.Record(list)
	if err != nil {
		return err
	}
	defer s.Free()
	scratch, err := c.Mem.Scratch(step.Scratch())
	if err != nil {
		return err
	}
	if before != nil {
		if err := before(scratch[:step.Temp]); err != nil {
			return err
		}
	}
	var pin device.Pinner
	defer pin.Unpin()
	rebase := func(base int, at unsafe.Pointer) {
		pin.Pin(at)
		s.Rebase(base, at)
	}
	rebase(1, unsafe.Pointer(unsafe.SliceData(scratch)))
	for i, t := range in {
		if t != nil {
			rebase(2+i, t.Pointer())
		}
	}
	for i, t := range c.Out {
		if t != nil {
			rebase(2+len(in)+i, t.Pointer())
		}
	}
	_, err = s.Run(nil, false)
	return err
}
