package cpu

import (
	"unsafe"

	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

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
