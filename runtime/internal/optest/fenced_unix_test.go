//go:build unix

package optest_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// fenced returns a copy of x that ends right before memory that cannot be read, and a function that
// frees it. A kernel that reads past the elements ends the test with a signal.
func fenced(t testing.TB, x *tensor.Tensor) (*tensor.Tensor, func()) {
	data := x.Bytes()
	if len(data) == 0 {
		return x, func() {}
	}
	page := os.Getpagesize()
	room := (len(data) + page - 1) / page * page
	memory, err := syscall.Mmap(-1, 0, room+page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err == nil {
		err = syscall.Mprotect(memory[room:], syscall.PROT_NONE)
	}
	if err != nil {
		t.Fatal(err)
	}
	copied := memory[room-len(data):][:len(data):len(data)]
	copy(copied, data)
	y, err := tensor.FromBytes(x.DType(), x.Shape(), copied)
	if err != nil {
		t.Fatal(err)
	}
	return y, func() {
		if err := syscall.Munmap(memory); err != nil {
			t.Fatal(err)
		}
	}
}
