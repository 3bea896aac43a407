package exec

import (
	"math/rand/v2"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// randomize fills a tensor of zeros: floats from a normal distribution, integers and
// booleans of whole bytes with 0 or 1.
func randomize(r *rand.Rand, t *tensor.Tensor) {
	normal := func() float32 { return float32(r.NormFloat64()) }
	switch d := t.DType(); d {
	case tensor.F32:
		fill(t, normal)
	case tensor.F64:
		fill(t, r.NormFloat64)
	case tensor.F16:
		fill(t, func() packed.F16 { return packed.ToF16(normal()) })
	case tensor.BF16:
		fill(t, func() packed.BF16 { return packed.ToBF16(normal()) })
	default:
		size := d.Bits() / 8
		if size == 0 || d != tensor.Bool && !d.IsInteger() {
			return
		}
		// The lowest bit of an element is in its first byte.
		for i := 0; i < len(t.Bytes()); i += size {
			t.Bytes()[i] = byte(r.IntN(2))
		}
	}
}

func fill[T tensor.Element](t *tensor.Tensor, next func() T) {
	list := tensor.View[T](t)
	for i := range list {
		list[i] = next()
	}
}
