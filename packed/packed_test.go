package packed

import (
	"bytes"
	"slices"
	"testing"
)

// odd lists layouts with elements that begin in one byte and end in the next.
var odd = []*Layout{
	{Name: "three", Bits: 3}, {Name: "signed three", Bits: 3, Signed: true}, {Name: "five", Bits: 5}, {Name: "signed six", Bits: 6, Signed: true}, {Name: "seven", Bits: 7},
}

// TestLayouts packs and unpacks every length around a byte, with every code.
func TestLayouts(t *testing.T) {
	for _, l := range slices.Concat(Layouts, odd) {
		t.Run(l.Name, func(t *testing.T) {
			lo, hi := 0, 1<<l.Bits
			if l.Signed {
				lo, hi = -hi/2, hi/2
			}
			for n := range 40 {
				src := make([]int8, n)
				for i := range src {
					src[i] = int8(lo + i%(hi-lo))
					if l.Binary {
						src[i] = 2*src[i] - 1
					}
				}
				b := bytes.Repeat([]byte{0xff}, l.Bytes(n))
				l.Pack(b, src)
				if want := (n*l.Bits + 7) / 8; len(b) != want {
					t.Fatalf("%d elements take %d bytes, want %d", n, len(b), want)
				}
				dst := make([]int8, n)
				l.Unpack(dst, b)
				for i := range src {
					if dst[i] != src[i] || l.At(b, i) != src[i] {
						t.Fatalf("element %d of %d: %d and %d, want %d", i, n, dst[i], l.At(b, i), src[i])
					}
				}
				if used := n * l.Bits % 8; used != 0 && b[len(b)-1]>>used != 0 {
					t.Fatalf("%d elements: unused bits of the last byte are %#x", n, b[len(b)-1])
				}
				for i := range src {
					l.Set(b, i, ^src[i])
					if l.At(b, i) != l.wrap(^src[i]) || i > 0 && l.At(b, i-1) != l.wrap(^src[i-1]) || i+1 < n && l.At(b, i+1) != src[i+1] {
						t.Fatalf("setting element %d of %d gives %x", i, n, b)
					}
				}
			}
		})
	}
}

// wrap keeps the low bits of a code.
func (l *Layout) wrap(c int8) int8 {
	one := []byte{0}
	l.Set(one, 0, c)
	return l.At(one, 0)
}

func TestLayoutOrder(t *testing.T) {
	tests := []struct {
		layout *Layout
		bytes  []byte
		want   []int8
	}{
		{Int4, []byte{0x21, 0x8f}, []int8{1, 2, -1, -8}},
		{odd[0], []byte{0b11_001_000, 0b1_100_010_0, 0b110_101_10}, []int8{0, 1, 3, 2, 4, 5, 5, 6}},
		{Uint4, []byte{0x21, 0x8f}, []int8{1, 2, 15, 8}},
		{Int2, []byte{0b11_10_01_00}, []int8{0, 1, -2, -1}},
		{Uint2, []byte{0b11_10_01_00}, []int8{0, 1, 2, 3}},
		{Int1, []byte{0b0000_0101}, []int8{-1, 0, -1, 0}},
		{Uint1, []byte{0b0000_0101}, []int8{1, 0, 1, 0}},
		{T1, []byte{0b0000_0101}, []int8{1, -1, 1, -1}},
		{T2, []byte{0b11_01_00_11}, []int8{-1, 0, 1, -1}},
	}
	for _, tt := range tests {
		for i, want := range tt.want {
			if got := tt.layout.At(tt.bytes, i); got != want {
				t.Errorf("%s: element %d of %x is %d, want %d", tt.layout.Name, i, tt.bytes, got, want)
			}
		}
	}
}
