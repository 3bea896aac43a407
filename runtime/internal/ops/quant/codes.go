package quant

import (
	"slices"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Code types of quantised tensors.
var (
	narrowCodes = op.Types{tensor.F8E4M3FN, tensor.F8E4M3FNUZ, tensor.F8E5M2, tensor.F8E5M2FNUZ, tensor.F4E2M1}
	wholeCodes  = op.Types{tensor.I8, tensor.U8, tensor.I16, tensor.U16, tensor.I4, tensor.U4, tensor.I2, tensor.U2}
	allCodes    = slices.Concat(wholeCodes, narrowCodes)
)

// roundFloats quantises x to y, a tensor of 8-bit or 4-bit floats.
func roundFloats(
	c *op.Run, g *Grid, precision tensor.DType, x, scale []float32, zeros, y *tensor.Tensor, saturate bool,
) error {
	zero, err := floatZeros(c, zeros, len(scale))
	if err != nil {
		return err
	}
	put, round := encoder(y, saturate), elements.Rounding(precision)
	stretches(c.Pace(), g, func(at, n, s, step int) {
		for i := at; i < at+n; i, s = i+1, s+step {
			v := round(round(x[i]) / scale[s])
			if zero != nil {
				v += zero[s]
			}
			put(i, v)
		}
	})
	return nil
}

// floatZeros returns the n zero points of a tensor of narrow floats, or nil if t is nil.
func floatZeros(c *op.Run, t *tensor.Tensor, n int) ([]float32, error) {
	if t == nil {
		return nil, nil
	}
	if t.Len() != n {
		return nil, graph.Errorf(graph.ErrShape, "zero points are %v where %d are needed", t, n)
	}
	list, err := c.ScratchFloats(n)
	if err != nil {
		return nil, err
	}
	elements.Get(list, t, 0)
	return list, nil
}

// Numbers returns, as bytes, the float32 number of each code of d, a type of 8-bit or 4-bit floats.
func Numbers(d tensor.DType) []byte {
	t, codes := tensor.New(tensor.F32, 1<<d.Bits()), tensor.New(d, 1<<d.Bits())
	for c := range t.Len() {
		if d == tensor.F4E2M1 {
			packed.Fp4.Set(codes.Bytes(), c, int8(c))
		} else {
			codes.Bytes()[c] = byte(c)
		}
	}
	elements.Get(tensor.View[float32](t), codes, 0)
	return t.Bytes()
}

// encoder returns a function that stores v as element i of y, a tensor of 8-bit or 4-bit floats. It
// must be called with i = 0, 1, ... in order.
func encoder(y *tensor.Tensor, saturate bool) func(i int, v float32) {
	b := y.Bytes()
	if y.DType() == tensor.F4E2M1 {
		clear(b)
		return func(i int, v float32) { packed.Fp4.Set(b, i, int8(packed.ToF4E2M1(v))) }
	}
	f := packed.Float8Of(y.DType().String())
	return func(i int, v float32) { b[i] = f.Code(v, saturate) }
}
