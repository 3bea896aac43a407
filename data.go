package nacre

import (
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Data returns the elements of t, in row-major order. The slice shares the memory of
// t: what is written to it becomes the tensor's elements. It stays valid after the
// session and the model that made t are closed. The memory is never that of a mapped
// file, unless the caller made t over one.
//
// The error is ErrShape if t is nil, or if T is not the Go type of the elements
// (Element).
func Data[T Element](t *Tensor) ([]T, error) {
	if t == nil {
		return nil, markf(ErrShape, "Data: the tensor is nil")
	}
	if d := DType(tensor.Of[T]()); d != t.DType() {
		way := ""
		if d == Float32 && t.DType().IsFloat() {
			way = "; Float32s converts them"
		}
		return nil, markf(ErrShape, "Data: elements are %v, not %v%s", t.DType(), d, way)
	}
	return tensor.View[T](&t.t), nil
}

// Float32s returns the elements of a tensor of any floating-point type as float32,
// in row-major order and in a new slice. Elements of Float64 are rounded to the
// nearest float32; all other types fit exactly. The error is ErrShape if t is nil or
// its elements are no floating-point numbers.
func Float32s(t *Tensor) ([]float32, error) {
	if t == nil {
		return nil, markf(ErrShape, "Float32s: the tensor is nil")
	}
	out := make([]float32, t.Len())
	switch t.DType() {
	case Float32:
		copy(out, tensor.View[float32](&t.t))
	case Float64:
		for i, v := range tensor.View[float64](&t.t) {
			out[i] = float32(v)
		}
	case Float16:
		narrow[packed.F16](out, t)
	case BFloat16:
		narrow[packed.BF16](out, t)
	case Float8E4M3FN:
		narrow[packed.F8E4M3FN](out, t)
	case Float8E4M3FNUZ:
		narrow[packed.F8E4M3FNUZ](out, t)
	case Float8E5M2:
		narrow[packed.F8E5M2](out, t)
	case Float8E5M2FNUZ:
		narrow[packed.F8E5M2FNUZ](out, t)
	case Float8E8M0:
		narrow[packed.F8E8M0](out, t)
	case Float4E2M1:
		for i := range out {
			out[i] = packed.F4E2M1(packed.Fp4.At(t.Bytes(), i)).Float32()
		}
	default:
		return nil, markf(ErrShape, "Float32s: elements are %v, which is no floating-point type", t.DType())
	}
	return out, nil
}

// narrow widens elements of a Go type that package packed has.
func narrow[T interface {
	Element
	Float32() float32
}](dst []float32, t *Tensor) {
	for i, v := range tensor.View[T](&t.t) {
		dst[i] = v.Float32()
	}
}
