package op

import (
	"unsafe"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// leastHeap is the smallest amount of heap in bytes that Counted reserves.
const leastHeap = 64 << 10

// Counted calls run with the heap memory of Row.Heap reserved until it returns.
func (r *Row) Counted(c *Run, run func(c *Run) error) error {
	elements := 0
	for _, list := range [][]*tensor.Tensor{c.In, c.Out} {
		for _, t := range list {
			if t != nil {
				elements += t.Len()
			}
		}
	}
	n := r.Heap * elements
	if n < leastHeap {
		return run(c)
	}
	if err := c.Mem.Reserve(n); err != nil {
		return err
	}
	err := run(c)
	// Releasing memory cannot exceed a limit.
	_ = c.Mem.Reserve(-n)
	return err
}

// ScratchTensor returns a tensor that is valid until Run returns.
func (c *Run) ScratchTensor(d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	if err := shape.Check(); err != nil {
		return nil, err
	}
	b, err := c.Mem.Scratch(d.Bytes(shape.Len()))
	if err != nil {
		return nil, err
	}
	return tensor.FromBytes(d, shape, b)
}

// ScratchInt64s returns n numbers of scratch memory, not cleared.
func (c *Run) ScratchInt64s(n int) ([]int64, error) {
	b, err := c.Mem.Scratch(8 * n)
	if err != nil || n == 0 {
		return nil, err
	}
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}

// ScratchFloats returns n floats, not cleared, that are valid until Run returns.
func (c *Run) ScratchFloats(n int) ([]float32, error) {
	b, err := c.Mem.Scratch(tensor.F32.Bytes(n))
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4), err
}
