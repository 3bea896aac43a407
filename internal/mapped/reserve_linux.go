package mapped

import "syscall"

// CanForget reports whether pages can be released.
const CanForget = true

// Reserve returns n zero bytes. They take no memory until they are written. Unreserve frees them.
func Reserve(n int) ([]byte, error) {
	return syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
}

// Forget releases the memory of bytes of Reserve. They become zeros.
func Forget(data []byte) { release(data) }

// Unreserve frees bytes of Reserve.
func Unreserve(data []byte) { _ = syscall.Munmap(data) }
