package openinfer

import (
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// tolerance holds an absolute and a relative difference. A value within either passes.
type tolerance struct{ abs, rel float64 }

var exact tolerance

// tolerances holds the samples' tolerances by type of the result.
var tolerances = map[dtype]tolerance{dtF16: {0.6, 0.08}, dtBF16: {0.1, 0.02}, dtF8: {0.6, 0.25}, dtF32: {1e-4, 1e-4}, dtF64: {1e-7, 1e-7}}

// differs describes the first difference of two tensors of type d, or returns "". Two NaNs are
// equal. Integers and bools are compared byte for byte.
func differs(d dtype, got, want *tensor.Tensor, by tolerance) string {
	if !d.isFloat() {
		for i, b := range got.Bytes() {
			if b != want.Bytes()[i] {
				return fmt.Sprintf("byte %d is %#x, want %#x: %v, want %v", i, b, want.Bytes()[i], got.Bytes(), want.Bytes())
			}
		}
		return ""
	}
	for i := range got.Len() {
		a, b := floatAt(got, i), floatAt(want, i)
		off := math.Abs(a - b)
		if a == b || a != a && b != b || off <= by.abs || off <= by.rel*math.Abs(b) {
			continue
		}
		return fmt.Sprintf("element %d is %v, want %v", i, a, b)
	}
	return ""
}

// floatAt returns element i of a tensor of floats.
func floatAt(t *tensor.Tensor, i int) float64 {
	t = t.Aligned()
	switch t.DType() {
	case tensor.F64:
		return tensor.View[float64](t)[i]
	case tensor.F32:
		return float64(tensor.View[float32](t)[i])
	case tensor.F16:
		return float64(tensor.View[packed.F16](t)[i].Float32())
	case tensor.BF16:
		return float64(tensor.View[packed.BF16](t)[i].Float32())
	}
	return float64(packed.E5M2.Float32(t.Bytes()[i]))
}
