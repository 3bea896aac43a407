package exec

import (
	"testing"
	"unsafe"
)

func TestScratch(t *testing.T) {
	var s scratch
	defer s.free()
	for step := range 4 {
		var taken [][]byte
		for i, n := range []int{10, 0, 64, 1000, 65, 100000} {
			b, err := s.take(n)
			if err != nil {
				t.Fatal(err)
			}
			if len(b) != n || n > 0 && uintptr(unsafe.Pointer(&b[0]))%64 != 0 {
				t.Fatalf("%d bytes where %d were asked for, or not aligned", len(b), n)
			}
			for j := range b {
				b[j] = byte(i)
			}
			taken = append(taken, b)
		}
		for i, b := range taken {
			for j, v := range b {
				if v != byte(i) {
					t.Fatalf("step %d: byte %d of piece %d was given out twice", step, j, i)
				}
			}
		}
		s.rewind()
		if step > 1 && len(s.blocks) != 1 {
			t.Errorf("step %d ends with %d blocks; they were to become one", step, len(s.blocks))
		}
	}
}
