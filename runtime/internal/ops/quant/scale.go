package quant

import (
	"unsafe"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// A quantised tensor is codes with scales and zero points: code q stands for (q - zero) * scale.
// There is one of each for the whole tensor, for each index of an axis, or for each block along an
// axis.

// byteTypes lists the codes that products and most other kernels take.
var byteTypes = op.Types{tensor.U8, tensor.I8}

// codeRange returns the least and the greatest number of d, an integer type of at most 32 bits.
func codeRange(d tensor.DType) (low, high int) {
	if d.Kind() == tensor.Signed {
		return -1 << (d.Bits() - 1), 1<<(d.Bits()-1) - 1
	}
	return 0, 1<<d.Bits() - 1
}

// oneScale returns the only element of input i.
func oneScale(c *op.Run, i int) (float32, error) {
	if !c.Has(i) || c.In[i].Len() != 1 || !kit.ComputedInF32.Has(c.In[i].DType()) {
		return 0, graph.Errorf(graph.ErrShape, "input %d, a scale, is not one number", i)
	}
	return float32(kit.FirstFloat(c.In[i])), nil
}

// oneZero returns the only element of input i, or 0 if the input is left out.
func oneZero(c *op.Run, i int) (int32, error) {
	if !c.Has(i) {
		return 0, nil
	}
	if c.In[i].Len() != 1 {
		return 0, graph.Errorf(graph.ErrShape, "input %d, a zero point, is %v, not one number", i, c.In[i])
	}
	var zero [1]int32
	return zero[0], putZeros(zero[:], c.In[i])
}

// readScales returns the elements of a tensor of scales, or none if t is nil.
func readScales(c *op.Run, t *tensor.Tensor) ([]float32, error) {
	if t == nil || kit.ComputedInF32.Has(t.DType()) {
		return c.Floats(t)
	}
	list, err := c.ScratchFloats(t.Len())
	if err != nil {
		return nil, err
	}
	if d := t.DType(); d != tensor.F8E8M0 && d != tensor.I32 {
		return nil, graph.Errorf(graph.ErrUnsupported, "scales are %v", t)
	}
	elements.Get(list, t, 0)
	return list, nil
}

// readZeros returns the n elements of a tensor of zero points, or n zeros if t is nil.
func readZeros(c *op.Run, t *tensor.Tensor, n int) ([]int32, error) {
	list, err := scratchInts(c, n)
	if err != nil {
		return nil, err
	}
	if t == nil {
		clear(list)
		return list, nil
	}
	if t.Len() != n {
		return nil, graph.Errorf(graph.ErrShape, "zero points are %v where %d are needed", t, n)
	}
	return list, putZeros(list, t)
}

// scratchInts returns n integers, not cleared, that are valid until Run returns.
func scratchInts(c *op.Run, n int) ([]int32, error) {
	b, err := c.Mem.Scratch(tensor.I32.Bytes(n))
	if err != nil || n == 0 {
		return nil, err
	}
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}

// putZeros stores the elements of t, integers of at most 32 bits, in list.
func putZeros(list []int32, t *tensor.Tensor) error {
	if d := t.DType(); !d.IsInteger() || d.Bits() > 32 || d == tensor.U32 {
		return graph.Errorf(graph.ErrUnsupported, "zero points are %v", t)
	}
	elements.Get(list, t, 0)
	return nil
}

// checkScale returns an error if input i is absent or not of a float type that scales may have.
func checkScale(c *op.Infer, i int) error {
	if !c.Has(i) || !kit.ComputedInF32.Has(c.In[i].DType) {
		return graph.Errorf(graph.ErrShape, "input %d, a scale, must be of float32, float16 or bfloat16", i)
	}
	return nil
}

// checkZero returns an error if input i is present and not of the codes' type d.
func checkZero(c *op.Infer, i int, d tensor.DType) error {
	if c.Has(i) && c.In[i].DType != d {
		return graph.Errorf(graph.ErrShape, "input %d, a zero point, is %v and its codes are %v", i, c.In[i].Type, d)
	}
	return nil
}

// checkPerTensor returns an error if inputs scale and zero are known not to be one scale and one
// zero point for codes of type d.
func checkPerTensor(c *op.Infer, d tensor.DType, scale, zero int) error {
	if err := checkScale(c, scale); err != nil {
		return err
	}
	if err := checkZero(c, zero, d); err != nil {
		return err
	}
	return checkOne(c, scale, zero)
}

// checkCodes returns an error if an input is not bytes, or if the two inputs after it are known not
// to be one scale and one zero point.
func checkCodes(c *op.Infer, inputs ...int) error {
	for _, i := range inputs {
		if !c.Has(i) || !byteTypes.Has(c.In[i].DType) {
			return graph.Errorf(graph.ErrUnsupported, "input %d must be of uint8 or int8", i)
		}
		if err := checkPerTensor(c, c.In[i].DType, i+1, i+2); err != nil {
			return err
		}
	}
	return nil
}

// checkOne returns an error if a present input is known not to have exactly one element.
func checkOne(c *op.Infer, inputs ...int) error {
	for _, i := range inputs {
		if !c.Has(i) || c.In[i].Dims == nil {
			continue
		}
		if n, ok := c.In[i].Dims.Len().Value(); ok && n != 1 {
			return graph.Errorf(graph.ErrShape, "input %d is %v; it must be one number", i, c.In[i].Type)
		}
	}
	return nil
}
