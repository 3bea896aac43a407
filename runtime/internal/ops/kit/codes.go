package kit

import (
	"fmt"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Stretches divides a value [Outer,Axis,Inner] among scales. Element (o,a,i) has scale number
// o*PerOuter + a/Block*PerAxis + i*PerInner. PerInner is 0 or 1.
type Stretches struct {
	Outer, Axis, Inner, Block   int
	PerOuter, PerAxis, PerInner int
}

// Each calls f for runs of neighbouring elements, in order. With step 0 they share a scale; with
// step 1 each has the next scale.
func (s *Stretches) Each(f func(at, n, scale, step int)) {
	for o := range s.Outer {
		for a := 0; a < s.Axis; a += s.Block {
			n, at, scale := min(s.Block, s.Axis-a), (o*s.Axis+a)*s.Inner, o*s.PerOuter+a/s.Block*s.PerAxis
			if s.PerInner == 0 {
				f(at, n*s.Inner, scale, 0)
				continue
			}
			for row := range n {
				f(at+row*s.Inner, s.Inner, scale, 1)
			}
		}
	}
}

// Codes are constant integers of 2, 4 or 8 bits that stand for float32 numbers: code q for
// (q - zero) * scale. Floats makes a tensor that holds the codes alone until its elements are read.
type Codes struct {
	Codes, Scales *tensor.Tensor
	Zeros         *tensor.Tensor // nil if all are 0
	Stretches
}

// NewCodes returns codes with the scales and zero points of a DequantizeLinear with these attributes.
// zeros is nil if it has none.
func NewCodes(codes, scales, zeros *tensor.Tensor, axis, block int) (*Codes, error) {
	c := &Codes{Codes: codes, Scales: scales, Zeros: zeros}
	shape := codes.Shape()
	switch {
	case CodeBits(codes.DType()) == 0:
		return nil, fmt.Errorf("the codes are %v", codes)
	case scales.DType() != tensor.F32:
		return nil, fmt.Errorf("the scales are %v", scales)
	case zeros != nil && (zeros.DType() != codes.DType() || zeros.Len() != scales.Len()):
		return nil, fmt.Errorf("the zero points are %v, and the scales %v", zeros, scales)
	}
	if scales.Len() == 1 {
		c.Stretches = Stretches{Outer: 1, Axis: codes.Len(), Inner: 1, Block: max(codes.Len(), 1)}
		return c, nil
	}
	if axis < 0 {
		axis += len(shape)
	}
	if axis < 0 || axis >= len(shape) || block < 0 {
		return nil, fmt.Errorf("codes %v have no axis %d in blocks of %d", codes, axis, block)
	}
	c.Stretches = Stretches{Outer: shape[:axis].Len(), Axis: shape[axis], Inner: shape[axis+1:].Len(), Block: 1, PerAxis: 1}
	count := c.Axis
	if block > 0 {
		blocks := (c.Axis + block - 1) / block
		c.Block, c.PerAxis, c.PerOuter, c.PerInner = block, c.Inner, c.Inner*blocks, min(c.Inner-1, 1)
		count = c.Outer * c.PerOuter
	}
	if scales.Len() != count {
		return nil, fmt.Errorf("the scales are %v where %d are needed", scales, count)
	}
	return c, nil
}

// CodeBits returns the bits of a type of integers that Codes may have, 0 for another type.
func CodeBits(d tensor.DType) int {
	switch d {
	case tensor.I8, tensor.U8, tensor.I4, tensor.U4, tensor.I2, tensor.U2:
		return d.Bits()
	}
	return 0
}

// Floats returns the float32 numbers of the codes. Their Source is c.
func (c *Codes) Floats() *tensor.Tensor {
	return tensor.DeriveFrom(c, tensor.F32, c.Codes.Shape(), func(data []byte) {
		all, err := tensor.FromBytes(tensor.F32, c.Codes.Shape(), data)
		if err != nil {
			panic(err) // the size is right
		}
		out := tensor.View[float32](all)
		scales, zeros := c.Numbers()
		elements.Get(out, c.Codes, 0)
		c.Codes.Forget()
		c.Each(func(at, n, s, step int) {
			for i := at; i < at+n; i, s = i+1, s+step {
				out[i] = (out[i] - float32(zeros[s])) * scales[s]
			}
		})
	})
}

// Numbers returns the scales, and as many zero points.
func (c *Codes) Numbers() (scales []float32, zeros []int32) {
	scales, zeros = make([]float32, c.Scales.Len()), make([]int32, c.Scales.Len())
	elements.Get(scales, c.Scales.Aligned(), 0)
	if c.Zeros != nil {
		elements.Get(zeros, c.Zeros, 0)
	}
	return scales, zeros
}

// CodesOf returns the codes that the elements of t derive from, or nil.
func CodesOf(t *tensor.Tensor) *Codes {
	if t == nil {
		return nil
	}
	c, _ := t.Source().(*Codes)
	return c
}
