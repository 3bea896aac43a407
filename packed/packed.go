// Package packed holds the storage layouts of elements narrower than a byte, and the codecs of
// floating-point formats narrower than float32. It works on bytes and codes, without tensors. The
// package is for programs that make or read tensors of such elements.
package packed

// Layout is the storage of integer or float codes narrower than a byte. Element i takes the bits
// from i*Bits on, counted from the lowest bit of the first byte. An element may begin in one byte
// and end in the next. Unused high bits of the last byte are zero (ONNX TensorProto.raw_data).
type Layout struct {
	Name   string
	Bits   int  // per element: 1 to 7
	Signed bool // codes are two's complement
	Binary bool // the bits 0 and 1 mean the codes -1 and +1
}

// The layouts of ONNX's sub-byte types.
var (
	Int4  = &Layout{Name: "int4", Bits: 4, Signed: true}
	Uint4 = &Layout{Name: "uint4", Bits: 4}
	Int2  = &Layout{Name: "int2", Bits: 2, Signed: true}
	Uint2 = &Layout{Name: "uint2", Bits: 2}
	Fp4   = &Layout{Name: "float4e2m1", Bits: 4}
)

// The layouts that OINF adds. T2 is -1, 0 and +1 in two's complement; its fourth code, -2, is not
// used.
var (
	Int1  = &Layout{Name: "int1", Bits: 1, Signed: true}
	Uint1 = &Layout{Name: "uint1", Bits: 1}
	T1    = &Layout{Name: "t1", Bits: 1, Binary: true}
	T2    = &Layout{Name: "t2", Bits: 2, Signed: true}
)

// Layouts is the table of layouts.
var Layouts = []*Layout{Int4, Uint4, Int2, Uint2, Fp4, Int1, Uint1, T1, T2}

// Bytes returns the bytes of n elements.
func (l *Layout) Bytes(n int) int { return n/8*l.Bits + (n%8*l.Bits+7)/8 }

// At returns the code of element i.
func (l *Layout) At(b []byte, i int) int8 {
	at, shift := l.place(i)
	c := b[at] >> shift
	if shift+l.Bits > 8 {
		c |= b[at+1] << (8 - shift)
	}
	c &= 1<<l.Bits - 1
	switch {
	case l.Signed:
		return int8(c<<(8-l.Bits)) >> (8 - l.Bits)
	case l.Binary:
		return int8(2*c) - 1
	}
	return int8(c)
}

// place returns the byte in which element i begins, and its first bit there.
func (l *Layout) place(i int) (at, shift int) {
	bit := i % 8 * l.Bits
	return i/8*l.Bits + bit/8, bit % 8
}

// bits returns the bits of a code in a byte.
func (l *Layout) bits(code int8) byte {
	if l.Binary {
		code = (code + 1) >> 1
	}
	return byte(code) & (1<<l.Bits - 1)
}

// Set stores the low bits of code as element i. In a binary layout it stores the sign.
func (l *Layout) Set(b []byte, i int, code int8) {
	at, shift := l.place(i)
	mask, bits := byte(1<<l.Bits-1), l.bits(code)
	b[at] = b[at]&^(mask<<shift) | bits<<shift
	if shift+l.Bits > 8 {
		b[at+1] = b[at+1]&^(mask>>(8-shift)) | bits>>(8-shift)
	}
}

// Unpack writes the codes of elements 0..len(dst)-1 of src to dst.
func (l *Layout) Unpack(dst []int8, src []byte) {
	if l.Bits == 4 {
		// Shifting left and then right extends the sign.
		for i, b := range src[:len(dst)/2] {
			if l.Signed {
				dst[2*i], dst[2*i+1] = int8(b<<4)>>4, int8(b)>>4
			} else {
				dst[2*i], dst[2*i+1] = int8(b&15), int8(b>>4)
			}
		}
		if last := len(dst) - 1; last%2 == 0 {
			dst[last] = l.At(src, last)
		}
		return
	}
	for i := range dst {
		dst[i] = l.At(src, i)
	}
}

// Pack stores the low bits of each code of src in dst. The length of dst is l.Bytes(len(src)).
// Unused bits become zero.
func (l *Layout) Pack(dst []byte, src []int8) {
	if l.Bits == 4 {
		for i := range dst[:len(src)/2] {
			dst[i] = byte(src[2*i])&15 | byte(src[2*i+1])<<4
		}
		if last := len(src) - 1; last%2 == 0 {
			dst[last/2] = byte(src[last]) & 15
		}
		return
	}
	clear(dst)
	for i, c := range src {
		l.Set(dst, i, c)
	}
}
