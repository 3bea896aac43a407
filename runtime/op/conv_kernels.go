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
	weights             []byte          // constant weights, packed; nil if there are none
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

// packConv packs constant weights, unless they are taken as they are.
func (k *convKernels) packConv(c *Prepare, w *tensor.Tensor, s *bindings.ConvShape) error {
	if len(s.Kernel) > bindings.ConvAxes || w.Len() == 0 {
		return nil
	}
	if s.ByTaps() {
		return nil
	}
	v := bindings.Conv{ConvShape: *s, Gemm: k.gemm, Type: floatTypes[w.DType()]}
	return k.keep(c, w, "conv", s, w.DType(), v.PackedWeights(), func(w *tensor.Tensor, dst []byte) { v.Pack(w.Pointer(), dst) })
}

// packTranspose packs constant weights of a transposed convolution, as floats.
func (k *convKernels) packTranspose(c *Prepare, w *tensor.Tensor, s *bindings.ConvShape) error {
	if len(s.Kernel) > bindings.ConvAxes || w.Len() == 0 {
		return nil
	}
	half, err := c.Kernel("half")
	if err != nil {
		return err
	}
	v := bindings.ConvTranspose{ConvShape: *s, Gemm: k.gemm}
	return k.keep(c, w, "conv transpose", s, tensor.F32, v.PackedWeights(), func(w *tensor.Tensor, dst []byte) {
		list := make([]float32, w.Len())
		half.Widen(nil, floatTypes[w.DType()], w.Pointer(), list)
		v.Pack(list, asFloats(dst))
	})
}

// keep stores n elements of type d that fill makes of the weights.
func (k *convKernels) keep(c *Prepare, w *tensor.Tensor, what string, s *bindings.ConvShape, d tensor.DType, n int, fill func(w *tensor.Tensor, dst []byte)) error {
	kind := fmt.Sprintf("%s %s %d %v", what, k.gemm.Variant(), s.Groups, w.Shape())
	b, err := c.Packs.Get(w, kind, d.Bytes(n), func(dst []byte) { fill(w.Aligned(), dst) })
	if err != nil {
		return err
	}
	k.weights = b
	c.Drop(1)
	return nil
}

func (k *convKernels) describe() string {
	switch {
	case k.plain.Valid():
		return k.plain.Op() + " " + k.plain.Variant()
	case !k.gemm.Valid():
		return ""
	case k.weights != nil:
		return "f32_gemm " + k.gemm.Variant() + ", packed weights"
	}
	return "f32_gemm " + k.gemm.Variant() + ", f32_taps " + k.taps.Variant()
}

// checkAxes reports more spatial axes than kernels take.
func checkAxes(s *bindings.ConvShape) error {
	if len(s.Kernel) > bindings.ConvAxes {
		return graph.Mark(graph.ErrUnsupported, "a kernel %v of %d spatial axes; %d are the most", s.Kernel, len(s.Kernel), bindings.ConvAxes)
	}
	return nil
}

func (k *convKernels) runConv(c *Run, s *bindings.ConvShape, y *tensor.Tensor, finish bindings.Finish) error {
	if err := checkAxes(s); err != nil || y.Len() == 0 {
		return err
	}
	if k.plain.Valid() {
		k.runPlain(c, s, y)
		return nil
	}
	if err := checkAdded(finish, y); err != nil {
		return err
	}
	bias, err := c.floats(given(c, 2))
	if err != nil {
		return err
	}
	v := bindings.Conv{ConvShape: *s, Type: floatTypes[y.DType()], Gemm: k.gemm, Columns: k.columns, Taps: k.taps, Packed: k.weights != nil, Finish: finish}
	scratch, err := c.scratchFloats(v.Scratch(c.Pool))
	if err != nil {
		return err
	}
	w := c.In[1].Pointer()
	if v.Packed {
		w = unsafe.Pointer(unsafe.SliceData(k.weights))
	}
	v.Run(c.Pool, c.In[0].Pointer(), w, bias, y.Pointer(), scratch)
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
	v := bindings.ConvTranspose{ConvShape: *s, Gemm: k.gemm, Packed: k.weights != nil}
	var lists [3][]float32
	for i := range lists {
		if i == 1 && v.Packed {
			lists[i] = asFloats(k.weights)
			continue
		}
		list, err := c.floats(given(c, i))
		if err != nil {
			return err
		}
		lists[i] = list
	}
	out, err := c.floatsFor(y)
	if err != nil {
		return err
	}
	scratch, err := c.scratchFloats(v.Scratch(c.Pool))
	if err != nil {
		return err
	}
	v.Run(c.Pool, lists[0], lists[1], lists[2], out, scratch)
	c.putFloats(y, out)
	return nil
}

func (k *convKernels) runPlain(c *Run, s *bindings.ConvShape, y *tensor.Tensor) {
	var bias unsafe.Pointer
	if c.Has(2) {
		bias = c.In[2].Pointer()
	}
	bindings.PlainConv(k.plain, s, c.Pool, c.In[0].Pointer(), c.In[1].Pointer(), bias, y.Pointer())
}
