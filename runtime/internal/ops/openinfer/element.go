package openinfer

import (
	"math"
	"math/bits"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// number lists the types in which elements are computed.
type number interface {
	int64 | uint64 | float32 | float64
}

// block is the number of elements computed at a time. It is a multiple of the elements in a byte.
const block = 1024

// share is the least number of elements for a further thread. It is a multiple of block.
const share = 16 * block

// typeNamed returns the element type that an attribute names.
func typeNamed(n *op.Node, attr string, allowed op.Types) (tensor.DType, error) {
	d, err := tensor.ParseDType(n.Str(attr, ""))
	if err != nil || !allowed.Has(d) {
		return tensor.Invalid, graph.Errorf(graph.ErrFormat, "attribute %s is %q; it must be one of %v", attr, n.Str(attr, ""), allowed)
	}
	return d, nil
}

// load stores the elements of t from element at on in dst.
func load[C number](dst []C, t *tensor.Tensor, at int) {
	switch t.DType() {
	case tensor.I8:
		widen[int8](dst, t, at)
	case tensor.I16:
		widen[int16](dst, t, at)
	case tensor.I32:
		widen[int32](dst, t, at)
	case tensor.I64:
		widen[int64](dst, t, at)
	case tensor.U8:
		widen[uint8](dst, t, at)
	case tensor.U16:
		widen[uint16](dst, t, at)
	case tensor.U32:
		widen[uint32](dst, t, at)
	case tensor.U64:
		widen[uint64](dst, t, at)
	case tensor.F32:
		widen[float32](dst, t, at)
	case tensor.F64:
		widen[float64](dst, t, at)
	case tensor.F16:
		for i, v := range tensor.View[packed.F16](t)[at:][:len(dst)] {
			dst[i] = C(v.Float32())
		}
	case tensor.BF16:
		for i, v := range tensor.View[packed.BF16](t)[at:][:len(dst)] {
			dst[i] = C(v.Float32())
		}
	case tensor.F8E5M2:
		for i, v := range t.Bytes()[at:][:len(dst)] {
			dst[i] = C(packed.E5M2.Float32(v))
		}
	case tensor.Bool:
		for i, v := range t.Bytes()[at:][:len(dst)] {
			dst[i] = C(min(v, 1))
		}
	default:
		unpack(dst, t, at)
	}
}

func widen[T kit.Number, C number](dst []C, t *tensor.Tensor, at int) {
	for i, v := range tensor.View[T](t)[at:][:len(dst)] {
		dst[i] = C(v)
	}
}

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

// unpack is load for elements narrower than a byte.
func unpack[C number](dst []C, t *tensor.Tensor, at int) {
	var values [16]C // by code
	p, b := packingOf(t.DType()), t.Bytes()
	for code := range 1 << p.bits {
		values[code] = C(code)
		if t.DType().Kind() == tensor.Signed && code > int(p.mask>>1) {
			values[code] -= C(int(p.mask) + 1)
		}
	}
	at, dst = unpackBytes(dst, b, at, p, &values)
	for i := range dst {
		from, low := p.place(at + i)
		dst[i] = values[b[from]>>low&p.mask]
	}
}

// unpackBytes unpacks whole bytes if element at begins one. It returns the first element that is
// left and its part of dst.
func unpackBytes[C number](dst []C, b []byte, at int, p packing, values *[16]C) (int, []C) {
	from, low := p.place(at)
	per := 1 << p.shift
	for low == 0 && len(dst) >= per {
		c := b[from]
		for k := range dst[:per] {
			dst[k] = values[c&p.mask]
			c >>= p.bits
		}
		from, at, dst = from+1, at+per, dst[per:]
	}
	return at, dst
}

// store sets the elements of t from element at on. Integers keep their low bits.
func store[C number](t *tensor.Tensor, at int, src []C) {
	switch t.DType() {
	case tensor.I8:
		cut[int8](t, at, src)
	case tensor.I16:
		cut[int16](t, at, src)
	case tensor.I32:
		cut[int32](t, at, src)
	case tensor.I64:
		cut[int64](t, at, src)
	case tensor.U8:
		cut[uint8](t, at, src)
	case tensor.U16:
		cut[uint16](t, at, src)
	case tensor.U32:
		cut[uint32](t, at, src)
	case tensor.U64:
		cut[uint64](t, at, src)
	case tensor.F32:
		cut[float32](t, at, src)
	case tensor.F64:
		cut[float64](t, at, src)
	case tensor.F16:
		for i, dst := 0, tensor.View[packed.F16](t)[at:]; i < len(src); i++ {
			dst[i] = packed.ToF16(single(src[i]))
		}
	case tensor.BF16:
		for i, dst := 0, tensor.View[packed.BF16](t)[at:]; i < len(src); i++ {
			dst[i] = packed.ToBF16(single(src[i]))
		}
	case tensor.F8E5M2:
		for i, dst := 0, t.Bytes()[at:]; i < len(src); i++ {
			dst[i] = eighth(src[i])
		}
	case tensor.Bool:
		for i, dst := 0, t.Bytes()[at:]; i < len(src); i++ {
			dst[i] = 0
			if src[i] != 0 {
				dst[i] = 1
			}
		}
	default:
		pack(t, at, src)
	}
}

// eighth rounds a number to an 8-bit float. All NaNs give one code.
func eighth[C number](v C) byte {
	if v != v {
		return 0x7d
	}
	return packed.E5M2.Code(single(v), false)
}

func cut[T kit.Number, C number](t *tensor.Tensor, at int, src []C) {
	dst := tensor.View[T](t)[at:][:len(src)]
	for i, v := range src {
		dst[i] = T(v)
	}
}

// pack is store for elements narrower than a byte.
func pack[C number](t *tensor.Tensor, at int, src []C) {
	p, b := packingOf(t.DType()), t.Bytes()
	to, low := p.place(at)
	for per := 1 << p.shift; low == 0 && len(src) >= per; to++ {
		var c byte
		for k, v := range src[:per] {
			c |= byte(int64(v)) & p.mask << (k * p.bits)
		}
		b[to] = c
		at, src = at+per, src[per:]
	}
	for i, v := range src {
		to, low := p.place(at + i)
		b[to] = b[to]&^(p.mask<<low) | byte(int64(v))&p.mask<<low
	}
}

// clearTail clears the bits of the last byte that belong to no element.
func clearTail(t *tensor.Tensor) {
	if used := t.Len() * t.DType().Bits() % 8; used > 0 {
		b := t.Bytes()
		b[len(b)-1] &= 1<<used - 1
	}
}

// single rounds a number to a float32 such that rounding the result to half as many bits or fewer
// equals rounding the number directly. It makes the last bit of an inexact result odd.
func single[C number](v C) float32 {
	x := float64(v)
	f := float32(x)
	if float64(f) == x || x != x || math.IsInf(float64(f), 0) || math.Float32bits(f)&1 == 1 {
		return f
	}
	toward := float32(math.Inf(1))
	if float64(f) > x {
		toward = float32(math.Inf(-1))
	}
	return math.Nextafter32(f, toward)
}
