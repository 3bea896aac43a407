package elements

import (
	"math/bits"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// packing describes elements narrower than a byte, 1<<shift in each byte.
type packing struct {
	bits, shift int
	mask        byte
}

func packingOf(d tensor.DType) packing {
	n := d.Bits()
	return packing{bits: n, shift: 3 - bits.TrailingZeros(uint(n)), mask: 1<<n - 1}
}

// place returns the byte of element i and its first bit within the byte.
func (p packing) place(i int) (at, low int) { return i >> p.shift, i & (1<<p.shift - 1) * p.bits }

// unpack is Get for elements narrower than a byte.
func unpack[N Number](list []N, t *tensor.Tensor, at int) {
	var values [16]N // by code
	d, b := t.DType(), t.Bytes()
	p := packingOf(d)
	for code := range 1 << p.bits {
		if d == tensor.F4E2M1 {
			values[code] = N(packed.F4E2M1(code).Float32())
		} else {
			values[code] = N(d.Layout().At([]byte{byte(code)}, 0))
		}
	}
	for from, low := p.place(at); low == 0 && len(list) >= 1<<p.shift; from++ {
		c, per := b[from], 1<<p.shift
		for k := range list[:per] {
			list[k] = values[c&p.mask]
			c >>= p.bits
		}
		at, list = at+per, list[per:]
	}
	for i := range list {
		from, low := p.place(at + i)
		list[i] = values[b[from]>>low&p.mask]
	}
}

// pack is Put for integers narrower than a byte.
func pack[N Number](t *tensor.Tensor, at int, list []N) {
	l, p, b := t.DType().Layout(), packingOf(t.DType()), t.Bytes()
	to, low := p.place(at)
	for per := 1 << p.shift; low == 0 && len(list) >= per && !l.Binary; to++ {
		var c byte
		for k, v := range list[:per] {
			c |= byte(int64(v)) & p.mask << (k * p.bits)
		}
		b[to] = c
		at, list = at+per, list[per:]
	}
	for i, v := range list {
		l.Set(b, at+i, int8(int64(v)))
	}
}
