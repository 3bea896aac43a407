package loom

import "github.com/nacre-ml/nacre/runtime/tensor"

// nibbles maps each four-bit code to another code, or to absent.
type nibbles [16]byte

const absent = 16

// doubled maps FP4 codes to the float4e2m1 codes of twice the numbers, and halved is its inverse.
// Numbers that are not finite are absent.
var doubled, halved = func() (to, from nibbles) {
	for c := range from {
		from[c] = absent
	}
	for c, v := range [...]byte{0, 3, 4, 5, 6, 7, absent, absent} {
		to[c], to[c|8] = v, v
		if v != absent {
			to[c|8] = v | 8
			from[v], from[v|8] = byte(c), byte(c|8)
		}
	}
	return to, from
}()

// of returns packed, two codes in a byte, with every code mapped. It returns false if one is
// absent.
func (t *nibbles) of(packed []byte) ([]byte, bool) {
	var both [256]byte
	var known [256]bool
	for c := range both {
		low, high := t[c&15], t[c>>4]
		both[c], known[c] = low&15|high<<4, low != absent && high != absent
	}
	list := make([]byte, len(packed))
	for i, c := range packed {
		if !known[c] {
			return nil, false
		}
		list[i] = both[c]
	}
	return list, true
}

// halves reports whether half the scale is an exact float32. Products of the halved scale and the
// doubled numbers then equal the original products exactly.
func halves(scale float32) bool { return scale/2*2 == scale }

// restored returns the float32 numbers of codes as a tensor.
func restored(d DType, codes []byte, scale float32, shape tensor.Shape) (*tensor.Tensor, error) {
	w, err := Restore(d, codes, scale, shape.Len())
	if err != nil {
		return nil, err
	}
	return tensor.From(w, shape...)
}

// scaleWith returns the factor for the elements of a tensor of type t that holds the codes of a
// store with this scale.
func (d DType) scaleWith(t tensor.DType, scale float32) float32 {
	if t != tensor.F4E2M1 {
		return scale
	}
	if scale == 0 {
		scale = 1
	}
	return scale / 2
}

// wider returns the elements of a float4e2m1 tensor, doubled, as int8.
func wider(t *tensor.Tensor) *tensor.Tensor {
	w, at := tensor.New(tensor.I8, t.Shape()...), tensor.Numbers(t)
	list := tensor.View[int8](w)
	for i := range list {
		list[i] = int8(2 * at(i))
	}
	return w
}
