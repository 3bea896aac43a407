package cpu

import (
	goruntime "runtime"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// calls makes and runs commands while a step in Go runs. All words are numbers. Operands are memory;
// at makes them.
type calls struct {
	*binder
	memory   op.Memory
	stop     op.Flag // stops the run; nil for none
	operands [][]byte
	scratch  []byte
}

// calls returns an empty list of commands for a run.
func (d *Device) calls(c *op.Run) *calls {
	return &calls{binder: &binder{Binding: &device.Binding{}, dev: d, step: &device.Step{}}, memory: c.Mem, stop: c.Stop}
}

// at returns memory as an operand, or none if it is empty.
func (c *calls) at(memory []byte) device.Operand {
	if len(memory) == 0 {
		return device.Operand{}
	}
	c.operands = append(c.operands, memory)
	return device.Operand{Place: device.In, Index: len(c.operands) - 1}
}

// of returns a tensor as an operand.
func (c *calls) of(t *tensor.Tensor) device.Operand { return c.at(t.Bytes()) }

// list returns the operand at the first element of a list, or none for nil.
func (c *calls) list(list []float32) device.Operand {
	return c.at(memoryOf(list))
}

// runAll runs the commands in order and clears the list. It pins operands in Go's heap meanwhile.
// If the run is stopped, the error is op.ErrStopped.
func (c *calls) runAll() error {
	if len(c.step.Commands) == 0 {
		return nil
	}
	list := make([]device.Recorded, len(c.step.Commands))
	for i := range c.step.Commands {
		list[i] = device.Record(&c.step.Commands[i], func(o device.Operand) int { return 2 + o.Index }, 1,
			device.AlignUp(c.step.Temp))
	}
	s, err := c.dev.Record(list)
	if err != nil {
		return err
	}
	defer s.Free()
	if n := c.step.Scratch(); n > len(c.scratch) {
		if c.scratch, err = c.memory.Scratch(n); err != nil {
			return err
		}
	}
	var pin goruntime.Pinner
	defer pin.Unpin()
	for i, b := range append([][]byte{c.scratch}, c.operands...) {
		if len(b) > 0 {
			pin.Pin(unsafe.SliceData(b))
		}
		s.Rebase(1+i, b)
	}
	*c.step, c.operands = device.Step{}, nil
	stop, ok := c.stop.(device.Flag)
	if c.stop != nil && !ok {
		return foreignFlag(c.stop)
	}
	done, err := s.Run(stop, false)
	if err == nil && done < len(list) {
		err = op.ErrStopped
	}
	return err
}

// room returns n floats, not cleared.
func (c *calls) room(n int) ([]float32, error) {
	b, err := c.memory.Scratch(tensor.F32.Bytes(n))
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}

// read returns the elements of t as float32; they are valid after runAll. It returns nil if t is
// nil.
func (c *calls) read(t *tensor.Tensor) ([]float32, error) {
	if t == nil || t.DType() == tensor.F32 {
		return float32s(t), nil
	}
	list, err := c.room(t.Len())
	if err != nil || t.Len() == 0 {
		return list, err
	}
	return list, c.convert(t.DType(), tensor.F32, graph.Known(t.Len()), c.of(t), c.list(list))
}

// write returns memory for the elements of t as float32. The caller then calls stored.
func (c *calls) write(t *tensor.Tensor) ([]float32, error) {
	if t.DType() == tensor.F32 {
		return float32s(t), nil
	}
	return c.room(t.Len())
}

// stored rounds list to the elements of t; they are valid after runAll.
func (c *calls) stored(t *tensor.Tensor, list []float32) error {
	if t.DType() == tensor.F32 || t.Len() == 0 {
		return nil
	}
	return c.convert(tensor.F32, t.DType(), graph.Known(t.Len()), c.list(list), c.of(t))
}

func float32s(t *tensor.Tensor) []float32 {
	if t == nil {
		return nil
	}
	return tensor.View[float32](t)
}

// first returns the best fitting kernel of the first op that has one.
func (b *binder) first(w words, ops ...string) (k bindings.Kernel, err error) {
	for _, name := range ops {
		if k, err = b.choose(name, w); err == nil {
			return k, nil
		}
	}
	return k, err
}
