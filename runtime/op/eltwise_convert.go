package op

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// conversion is the kernels that turn elements of one type into another: none,
// one, or two with float32 between.
type conversion struct {
	to           tensor.DType
	first, later bindings.Kernel
}

// conversionOf finds the kernels from one type to another, both of which kernels
// can compute on.
func conversionOf(c *Prepare, from, to tensor.DType) (conversion, error) {
	v := conversion{to: to}
	if from == to {
		return v, nil
	}
	s, d := kernelTypes[from], kernelTypes[to]
	var err error
	if wide(from) == from && wide(to) == to || wide(from) == to || wide(to) == from {
		v.first, err = c.Kernel(s + "_to_" + d)
		return v, err
	}
	// float64 rounds to float32 in a way that rounding again does no harm.
	middle := s + "_to_f32"
	if from == tensor.F64 {
		middle = s + "_to_odd"
	}
	if v.first, err = c.Kernel(middle); err != nil {
		return v, err
	}
	v.later, err = c.Kernel("f32_to_" + d)
	return v, err
}

// none reports whether the types are the same.
func (v conversion) none() bool { return !v.first.Valid() }

// into converts the elements of x, which lie aligned, to y, which has as many.
func (v conversion) into(pool *bindings.Pool, y, x *tensor.Tensor) {
	from := bindings.Lane{Data: x.Pointer(), Bytes: x.DType().Bits() / 8, Via: v.first}
	to := bindings.Lane{Data: y.Pointer(), Bytes: y.DType().Bits() / 8, Via: v.later}
	bindings.EltwiseMap(pool, bindings.Kernel{}, from, to, x.Len(), &bindings.Params{})
}

// run converts x to a tensor in scratch memory.
func (v conversion) run(c *Run, x *tensor.Tensor) (*tensor.Tensor, error) {
	b, err := c.Mem.Scratch(v.to.Bytes(x.Len()))
	if err != nil {
		return nil, err
	}
	y, err := tensor.FromBytes(v.to, x.Shape(), b)
	if err != nil {
		return nil, err
	}
	v.into(c.Pool, y, x)
	return y, nil
}

// halfAt is the first element of a tensor of 16-bit floats.
func halfAt(t *tensor.Tensor) float32 {
	if t.DType() == tensor.BF16 {
		return tensor.View[packed.BF16](t.Aligned())[0].Float32()
	}
	return tensor.View[packed.F16](t.Aligned())[0].Float32()
}
