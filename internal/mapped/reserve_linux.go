package mapped

import "syscall"

// CanForget reports whether pages can be given back.
const CanForget = true

// Reserve returns n bytes, which are zeros and take no memory before they are written.
// Unreserve ends it.
func Reserve(n int) ([]byte, error) {
	return syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
}

// Forget gives back the memory that bytes from Reserve take. They are zeros again.
func Forget(data []byte) { release(data) }

// Unreserve ends Reserve.
func Unreserve(data []byte) { _ = syscall.Munmap(data) }
