package tensor

import (
	"bytes"
	"runtime"
	"sync"
	"testing"
	"unsafe"
)

// TestDerive uses derived elements from several goroutines, forgets them, and uses them again, with
// and without a slice of them in use.
func TestDerive(t *testing.T) {
	const n = 1 << 16
	fills := 0
	x := Derive(U8, Shape{2, n / 2}, func(data []byte) {
		fills++
		for i := range data {
			data[i] = byte(i*7) ^ byte(i>>8)
		}
	})
	y, err := x.Reshape(Shape{n})
	if err != nil {
		t.Fatal(err)
	}
	if x.Size() != n || y.Size() != n || !x.IsAligned() || !y.IsDerived() || x.Identity() != y.Identity() || fills != 0 {
		t.Fatalf("%d bytes, filled %d times", x.Size(), fills)
	}
	var want [n]byte
	x.derived.fill(want[:])
	fills = 0
	check := func(times int) []byte {
		t.Helper()
		data := x.Bytes()
		if !bytes.Equal(data, want[:]) || fills != times || uintptr(unsafe.Pointer(&data[0]))%Align != 0 {
			t.Fatalf("filled %d times, not %d, or wrongly", fills, times)
		}
		return data
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if View[uint8](y)[9] != want[9] {
				t.Error("another element")
			}
		})
	}
	all.Wait()
	held := check(1)
	x.Forget()
	runtime.GC()
	if again := check(1); &again[0] != &held[0] {
		t.Error("a copy of elements in use")
	}
	y.Forget()
	runtime.KeepAlive(held)
	runtime.GC()
	held = check(2)
	if c := x.Clone(); c.IsDerived() || !bytes.Equal(c.Bytes(), held) || c.Identity() != c.Pointer() {
		t.Error("the clone shares elements")
	}
	x.Release()
	if x.Size() != 0 || len(x.Bytes()) != 0 || len(y.Bytes()) != n {
		t.Error("released elements")
	}
	if s, err := DeriveFrom("source", U8, Shape{6}, func([]byte) {}).Reshape(Shape{2, 3}); err != nil || s.Source() != "source" || x.Source() != nil || s.Clone().Source() != nil {
		t.Error("another source")
	}
	empty := Derive(F32, Shape{0, 3}, func([]byte) { t.Error("nothing to fill") })
	if empty.Bytes() != nil || empty.Pointer() != nil || empty.Size() != 0 {
		t.Error("elements of an empty tensor")
	}
	held = New(U8, 100).Bytes()
	z, err := FromBytes(U8, Shape{100}, held)
	if err != nil {
		t.Fatal(err)
	}
	if z.Forget(); &z.Bytes()[0] != &held[0] || z.Size() != 100 {
		t.Error("forgotten elements that are nowhere else")
	}
}
