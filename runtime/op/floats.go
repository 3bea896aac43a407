package op

import (
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Operators compute 16-bit floats in float32. Elements are widened, run by run where
// an operator can be cut (strip), and results are rounded once.

// Floats returns the elements of a narrow float tensor: its own if they are
// float32, else a widened copy. A tensor left out has none.
func (c *Run) Floats(t *tensor.Tensor) ([]float32, error) {
	if t == nil || t.Len() == 0 {
		return nil, nil
	}
	if t.DType() == tensor.F32 {
		return tensor.View[float32](t), nil
	}
	wide, err := c.ScratchFloats(t.Len())
	if err != nil {
		return nil, err
	}
	widenFloats(wide, t, 0)
	return wide, nil
}

// widenFloats stores the elements of a tensor of 16-bit floats from the one numbered at
// on.
func widenFloats(list []float32, t *tensor.Tensor, at int) {
	if t.DType() == tensor.F16 {
		for i, h := range tensor.View[packed.F16](t)[at:][:len(list)] {
			list[i] = h.Float32()
		}
		return
	}
	for i, h := range tensor.View[packed.BF16](t)[at:][:len(list)] {
		list[i] = h.Float32()
	}
}

// narrowFloats rounds numbers to the elements of a tensor of 16-bit floats from the one
// numbered at on.
func narrowFloats(t *tensor.Tensor, at int, list []float32) {
	if t.DType() == tensor.F16 {
		for i, h := 0, tensor.View[packed.F16](t)[at:]; i < len(list); i++ {
			h[i] = packed.ToF16(list[i])
		}
		return
	}
	for i, h := 0, tensor.View[packed.BF16](t)[at:]; i < len(list); i++ {
		h[i] = packed.ToBF16(list[i])
	}
}

// FloatsFor returns where the elements of a narrow float output are to be
// computed: its own memory if they are float32, else scratch that PutFloats
// rounds from. An output left out has nowhere.
func (c *Run) FloatsFor(t *tensor.Tensor) ([]float32, error) {
	if t == nil || t.Len() == 0 {
		return nil, nil
	}
	if t.DType() == tensor.F32 {
		return tensor.View[float32](t), nil
	}
	return c.ScratchFloats(t.Len())
}

// PutFloats stores what was computed in the memory that FloatsFor gave for t.
func (c *Run) PutFloats(t *tensor.Tensor, wide []float32) {
	if t != nil && t.Len() > 0 && t.DType() != tensor.F32 {
		narrowFloats(t, 0, wide[:t.Len()])
	}
}

// Given is input i; nil where it is left out.
func (c *Run) Given(i int) *tensor.Tensor {
	if c.Has(i) {
		return c.In[i]
	}
	return nil
}

// Output returns output i, which it makes if Infer could not tell its shape.
func (c *Run) Output(i int, d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	if t := c.Out[i]; t != nil {
		return t, nil
	}
	return c.Alloc(i, d, shape)
}

// FloatsInOut is Floats of input 0 and FloatsFor of output 0.
func (c *Run) FloatsInOut() (x, out []float32, err error) {
	if x, err = c.Floats(c.In[0]); err == nil {
		out, err = c.FloatsFor(c.Out[0])
	}
	return x, out, err
}

// Doubles returns the elements of a float tensor as float64: its own if they are
// float64, else a converted copy. A tensor left out has none.
func Doubles(t *tensor.Tensor) []float64 {
	switch {
	case t == nil || !Floats.Has(t.DType()):
		return nil
	case t.DType() == tensor.F64:
		return tensor.View[float64](t)
	}
	list := make([]float64, t.Len())
	GetDoubles(list, t, 0)
	return list
}

// GetDoubles stores elements of a float tensor in list, from the one numbered at on.
func GetDoubles(list []float64, t *tensor.Tensor, at int) {
	switch t.DType() {
	case tensor.F64:
		copy(list, tensor.View[float64](t)[at:])
	case tensor.F32:
		for i, v := range tensor.View[float32](t)[at:][:len(list)] {
			list[i] = float64(v)
		}
	case tensor.F16:
		for i, v := range tensor.View[packed.F16](t)[at:][:len(list)] {
			list[i] = float64(v.Float32())
		}
	case tensor.BF16:
		for i, v := range tensor.View[packed.BF16](t)[at:][:len(list)] {
			list[i] = float64(v.Float32())
		}
	}
}

// Convert returns the results of a function of each element.
func Convert[T, U any](s []T, to func(T) U) []U {
	list := make([]U, len(s))
	for i, v := range s {
		list[i] = to(v)
	}
	return list
}

// PutDoubles rounds numbers to the elements of a float tensor; nothing happens
// to one left out.
func PutDoubles(t *tensor.Tensor, list []float64) {
	if t != nil {
		putDoubles(t, 0, list)
	}
}

// putDoubles is PutDoubles of the elements from the one numbered at on.
func putDoubles(t *tensor.Tensor, at int, list []float64) {
	switch t.DType() {
	case tensor.F64:
		copy(tensor.View[float64](t)[at:], list)
	case tensor.F32:
		for i, out := 0, tensor.View[float32](t)[at:][:len(list)]; i < len(out); i++ {
			out[i] = float32(list[i])
		}
	case tensor.F16:
		for i, out := 0, tensor.View[packed.F16](t)[at:][:len(list)]; i < len(out); i++ {
			out[i] = packed.ToF16(float32(list[i]))
		}
	case tensor.BF16:
		for i, out := 0, tensor.View[packed.BF16](t)[at:][:len(list)]; i < len(out); i++ {
			out[i] = packed.ToBF16(float32(list[i]))
		}
	}
}

// Given is input i; nil where it is left out.
func (c *Infer) Given(i int) *Value {
	if c.Has(i) {
		return c.In[i]
	}
	return nil
}
