package op

import (
	"fmt"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// convKernels is what a convolution, or a transposed one, runs with: products
// and taps in float32, or the formula for doubles.
type convKernels struct {
	gemm, columns, taps bindings.Kernel
	plain               bindings.Kernel // of f64; not valid for others
	weights             []float32       // constant weights as kernels want them; nil if they are not constant
	packed              bool            // weights are packed, not only widened
}

func (k *convKernels) prepare(c *Prepare, plain string) (err error) {
	if c.DType(0) == tensor.F64 {
		k.plain, err = c.Kernel(plain)
		return err
	}
	for _, row := range []struct {
		op     string
		kernel *bindings.Kernel
	}{{"f32_gemm", &k.gemm}, {"f32_im2col", &k.columns}, {"f32_taps", &k.taps}} {
		if *row.kernel, err = c.Kernel(row.op); err != nil {
			return err
		}
	}
	return nil
}

// weightShape is the kernel extents of weights [_, _, kernel...].
func weightShape(w tensor.Shape, group int) *bindings.ConvShape {
	return &bindings.ConvShape{Groups: group, Kernel: w[2:]}
}

// packConv packs constant weights, or widens those that are taken as they are.
func (k *convKernels) packConv(c *Prepare, w *tensor.Tensor, s *bindings.ConvShape) error {
	if len(s.Kernel) > bindings.ConvAxes || w.Len() == 0 {
		return nil
	}
	if s.ByTaps() {
		if w.DType() == tensor.F32 {
			return nil
		}
		return k.keep(c, w, "float32", w.Len(), func(src, dst []float32) { copy(dst, src) })
	}
	v := bindings.Conv{ConvShape: *s, Gemm: k.gemm}
	k.packed = true
	return k.keep(c, w, fmt.Sprintf("conv %s %d %v", k.gemm.Variant(), s.Groups, w.Shape()), v.PackedWeights(), v.Pack)
}

// packTranspose packs constant weights of a transposed convolution.
func (k *convKernels) packTranspose(c *Prepare, w *tensor.Tensor, s *bindings.ConvShape) error {
	if len(s.Kernel) > bindings.ConvAxes || w.Len() == 0 {
		return nil
	}
	v := bindings.ConvTranspose{ConvShape: *s, Gemm: k.gemm}
	k.packed = true
	return k.keep(c, w, fmt.Sprintf("conv transpose %s %d %v", k.gemm.Variant(), s.Groups, w.Shape()), v.PackedWeights(), v.Pack)
}

// keep stores what fill makes of the weights, as floats.
func (k *convKernels) keep(c *Prepare, w *tensor.Tensor, kind string, n int, fill func(src, dst []float32)) error {
	half, err := c.Kernel("half")
	if err != nil {
		return err
	}
	b, err := c.Packs.Get(w, kind, 4*n, func(dst []byte) { fill(widened(half, w.Aligned()), asFloats(dst)) })
	if err != nil {
		return err
	}
	k.weights = asFloats(b)
	c.Drop(1)
	return nil
}

// widened returns the elements of a float tensor of 32 bits or fewer as floats.
func widened(half bindings.Kernel, t *tensor.Tensor) []float32 {
	if t.DType() == tensor.F32 {
		return tensor.View[float32](t)
	}
	list := make([]float32, t.Len())
	half.Widen(nil, floatTypes[t.DType()], t.Pointer(), list)
	return list
}

func (k *convKernels) describe() string {
	switch {
	case k.plain.Valid():
		return k.plain.Op() + " " + k.plain.Variant()
	case !k.gemm.Valid():
		return ""
	case k.packed:
		return "f32_gemm " + k.gemm.Variant() + ", packed weights"
	}
	return "f32_gemm " + k.gemm.Variant() + ", f32_taps " + k.taps.Variant()
}

// convOperands is the operands of a float32 convolution.
type convOperands struct{ x, w, bias, y []float32 }

func (k *convKernels) operands(c *Run, y *tensor.Tensor) (v convOperands, err error) {
	if v.x, err = c.floats(c.In[0]); err != nil {
		return v, err
	}
	v.w = k.weights
	if v.w == nil {
		if v.w, err = c.floats(c.In[1]); err != nil {
			return v, err
		}
	}
	if c.Has(2) {
		if v.bias, err = c.floats(c.In[2]); err != nil {
			return v, err
		}
	}
	v.y, err = c.floatsFor(y)
	return v, err
}

// checkAxes reports more spatial axes than kernels take.
func checkAxes(s *bindings.ConvShape) error {
	if len(s.Kernel) > bindings.ConvAxes {
		return graph.Mark(graph.ErrUnsupported, "a kernel %v of %d spatial axes; %d are the most", s.Kernel, len(s.Kernel), bindings.ConvAxes)
	}
	return nil
}

func (k *convKernels) runConv(c *Run, s *bindings.ConvShape, y *tensor.Tensor) error {
	if err := checkAxes(s); err != nil || y.Len() == 0 {
		return err
	}
	if k.plain.Valid() {
		k.runPlain(c, s, y)
		return nil
	}
	d, err := k.operands(c, y)
	if err != nil {
		return err
	}
	v := bindings.Conv{ConvShape: *s, Gemm: k.gemm, Columns: k.columns, Taps: k.taps, Packed: k.packed}
	scratch, err := c.scratchFloats(v.Scratch(c.Pool))
	if err != nil {
		return err
	}
	v.Run(c.Pool, d.x, d.w, d.bias, d.y, scratch)
	c.putFloats(y, d.y)
	return nil
}

func (k *convKernels) runTranspose(c *Run, s *bindings.ConvShape, y *tensor.Tensor) error {
	if err := checkAxes(s); err != nil || y.Len() == 0 {
		return err
	}
	if k.plain.Valid() {
		k.runPlain(c, s, y)
		return nil
	}
	d, err := k.operands(c, y)
	if err != nil {
		return err
	}
	v := bindings.ConvTranspose{ConvShape: *s, Gemm: k.gemm, Packed: k.packed}
	scratch, err := c.scratchFloats(v.Scratch(c.Pool))
	if err != nil {
		return err
	}
	v.Run(c.Pool, d.x, d.w, d.bias, d.y, scratch)
	c.putFloats(y, d.y)
	return nil
}

func (k *convKernels) runPlain(c *Run, s *bindings.ConvShape, y *tensor.Tensor) {
	var bias unsafe.Pointer
	if c.Has(2) {
		bias = c.In[2].Pointer()
	}
	bindings.PlainConv(k.plain, s, c.Pool, c.In[0].Pointer(), c.In[1].Pointer(), bias, y.Pointer())
}
