package nacre

import (
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Data returns the memory of the elements of t, in row-major order: a write to the slice
// changes the tensor. The slice stays valid after the session and the model that made t are
// closed. It is never in a mapped file, unless the caller made t over one.
//
// The error is ErrShape if t is nil, or if T is not the Go type of the elements
// (Element).
func Data[T Element](t *Tensor) ([]T, error) {
	if t == nil {
		return nil, markf(ErrShape, "Data: the tensor is nil")
	}
	if d := DType(tensor.Of[T]()); d != t.DType() {
		way := ""
		switch {
		case d == Float32 && readsAsFloats(t.DType()):
			way = "; Float32s converts them"
		case casts(d) && casts(t.DType()):
			way = "; Tensor.Convert converts them"
		}
		return nil, markf(ErrShape, "Data: elements are %v, not %v%s", t.DType(), d, way)
	}
	return tensor.View[T](&t.t), nil
}

// Float32s returns the elements of a tensor of any floating-point type or type of blocks as
// float32, in row-major order and in a new slice. Elements of Float64 are rounded to the
// nearest float32; all other types fit exactly. The error is ErrShape if t is nil or
// its elements are no floating-point numbers.
func Float32s(t *Tensor) ([]float32, error) {
	if t == nil {
		return nil, markf(ErrShape, "Float32s: the tensor is nil")
	}
	if !readsAsFloats(t.DType()) {
		return nil, markf(ErrShape, "Float32s: elements are %v, which is no floating-point type", t.DType())
	}
	out := make([]float32, t.Len())
	if t.DType() == Float32 {
		copy(out, tensor.View[float32](&t.t))
		return out, nil
	}
	if b := t.t.DType().Blocks(); b != nil {
		b.Unpack(out, t.t.Bytes())
		return out, nil
	}
	at := tensor.Numbers(&t.t)
	for i := range out {
		out[i] = float32(at(i))
	}
	return out, nil
}

// Convert returns a tensor of the same shape with elements of another type, in memory of its own, as
// the newest version of ONNX's operator Cast makes them. Floats round to the nearest float, of two
// the one with an even last bit. Floats become integers by leaving out the fraction; numbers out of
// range become the nearest integer, and NaN 0. Integers keep their low bits. Only 0 becomes false.
// Strings are parsed, and numbers become their text.
//
// The error is ErrShape if t is nil or a string is no number, ErrUnsupported for complex numbers and
// for a type that models of ONNX lack, unless it is the type of t, and ErrMemory as for Zeros.
func (t *Tensor) Convert(d DType) (_ *Tensor, err error) {
	defer enter("").end(&err)
	switch {
	case t.DType() == Invalid:
		return nil, markf(ErrShape, "Convert: there is no tensor")
	case !d.Valid():
		return nil, markf(ErrUnsupported, "Convert: %v is no element type", d)
	case d == t.DType():
		return t.Clone(), nil
	}
	if err := fits(d, t.t.Shape()); err != nil {
		return nil, err
	}
	x, err := runtime.Cast(&t.t, tensor.DType(d))
	if err != nil {
		return nil, err
	}
	return &Tensor{*x}, nil
}

// casts reports whether Convert takes elements of type d and makes them.
func casts(d DType) bool {
	return d.Valid() && tensor.DType(d).Code() != 0 && tensor.DType(d).Kind() != tensor.Complex
}

// readsAsFloats reports whether Float32s takes elements of type d.
func readsAsFloats(d DType) bool {
	return d.IsFloat() || d.Valid() && tensor.DType(d).Blocks() != nil
}
