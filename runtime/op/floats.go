package op

import (
	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Operators compute 16-bit floats in float32. They widen the elements, run by run if an operator
// can be cut (strip), and round each result once.

// Floats returns the elements of a narrow float tensor as float32. A float32 tensor returns its own
// memory; others are widened into scratch. A nil tensor gives nil.
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
	elements.Get(wide, t, 0)
	return wide, nil
}

// FloatsFor returns the memory for computing the elements of t, a narrow float output: its own
// memory if it is float32, else scratch for PutFloats to round. A nil tensor gives nil.
func (c *Run) FloatsFor(t *tensor.Tensor) ([]float32, error) {
	if t == nil || t.Len() == 0 {
		return nil, nil
	}
	if t.DType() == tensor.F32 {
		return tensor.View[float32](t), nil
	}
	return c.ScratchFloats(t.Len())
}

// PutFloats stores wide, the memory that FloatsFor returned for t, in t.
func (c *Run) PutFloats(t *tensor.Tensor, wide []float32) {
	if t != nil && t.Len() > 0 && t.DType() != tensor.F32 {
		elements.Put(t, 0, wide[:t.Len()])
	}
}

// Given returns input i, or nil if it is left out.
func (c *Run) Given(i int) *tensor.Tensor {
	if c.Has(i) {
		return c.In[i]
	}
	return nil
}

// Output returns output i. If Infer could not tell its shape, Output allocates it.
func (c *Run) Output(i int, d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	if t := c.Out[i]; t != nil {
		return t, nil
	}
	return c.Alloc(i, d, shape)
}

// FloatsInOut returns Floats of input 0 and FloatsFor of output 0.
func (c *Run) FloatsInOut() (x, out []float32, err error) {
	if x, err = c.Floats(c.In[0]); err == nil {
		out, err = c.FloatsFor(c.Out[0])
	}
	return x, out, err
}

// Given returns input i, or nil if it is left out.
func (c *Infer) Given(i int) *Value {
	if c.Has(i) {
		return c.In[i]
	}
	return nil
}
