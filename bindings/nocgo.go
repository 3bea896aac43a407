//go:build !cgo

package bindings

import "errors"

var errNoCgo = errors.New("this program was built without cgo, so it has no kernels; build with CGO_ENABLED=1 and a C compiler")

// Available reports whether kernels can run in this build.
func Available() error { return errNoCgo }

// DetectISA returns no level.
func DetectISA() ISA { return 0 }

// Levels returns no level.
func Levels() LevelList { return nil }

// Kernel is no kernel in this build.
type Kernel struct{}

// Op is what the kernel computes.
func (Kernel) Op() string { return "" }

// Variant is how it does so.
func (Kernel) Variant() string { return "" }

// ISA is the set of levels that the kernel needs.
func (Kernel) ISA() ISA { return 0 }

// Valid reports whether k is a kernel.
func (Kernel) Valid() bool { return false }

// Pool is never made in this build.
type Pool struct{}

// NewPool fails.
func NewPool(threads int) (*Pool, error) { return nil, errNoCgo }

// SharedPool fails.
func SharedPool() (*Pool, error) { return nil, errNoCgo }

// Close does nothing.
func (*Pool) Close() {}

// Threads is one.
func (*Pool) Threads() int { return 1 }

// Alloc returns memory from Go's heap.
func Alloc(n int) []byte { return make([]byte, n) }

// Free does nothing.
func Free([]byte) {}

// PhysicalMemory is not known in this build.
func PhysicalMemory() int { return 0 }

func families() [][]Kernel { return nil }
