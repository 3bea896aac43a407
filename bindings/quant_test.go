package bindings

import (
	"bytes"
	"testing"
	"unsafe"
)

func byteOf(b byte, signed bool) int32 {
	if signed {
		return int32(int8(b))
	}
	return int32(b)
}

// guardedBytes returns the n bytes that write fills, and reports writing outside.
func guardedBytes(t *testing.T, n int, write func(out unsafe.Pointer)) []byte {
	const guard = 64
	buffer := bytes.Repeat([]byte{0xa5}, n+2*guard+4)
	start := guard + int(-uintptr(bytesAt(buffer))%4)
	write(bytesAt(buffer[start:]))
	for i, b := range buffer {
		if (i < start || i >= start+n) && b != 0xa5 {
			t.Fatalf("wrote %d bytes beside %d", i-start, n)
		}
	}
	return buffer[start : start+n]
}
