package exec

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// randomize fills a tensor of zeros: float32 and float64 from a normal distribution, 16-bit floats
// with 1/2 to 1 of either sign, integers and booleans of whole bytes with 0 or 1. Other types stay
// zero.
func randomize(r *rand.Rand, t *tensor.Tensor) {
	switch d := t.DType(); d {
	case tensor.F32:
		for i, list := 0, tensor.View[float32](t); i < len(list); i++ {
			list[i] = float32(r.NormFloat64())
		}
	case tensor.F64:
		for i, list := 0, tensor.View[float64](t); i < len(list); i++ {
			list[i] = r.NormFloat64()
		}
	case tensor.F16:
		halfFloats(r, t.Bytes(), 0x3800, 0x83ff)
	case tensor.BF16:
		halfFloats(r, t.Bytes(), 0x3f00, 0x807f)
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

// halfFloats fills b with 16-bit floats of one exponent, with random signs and fractions.
func halfFloats(r *rand.Rand, b []byte, exponent, rest uint16) {
	for i := 0; i+1 < len(b); i += 2 {
		binary.LittleEndian.PutUint16(b[i:], exponent|uint16(r.Uint32())&rest)
	}
}
