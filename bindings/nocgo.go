//go:build !cgo

package bindings

import "errors"

var errNoCgo = errors.New("this program was built without cgo, so it has no kernels; build with CGO_ENABLED=1 and " +
	"a C compiler")

// Available returns an error: kernels cannot run in this build.
func Available() error { return errNoCgo }

// DetectISA returns no level.
func DetectISA() ISA { return 0 }

// Levels returns no level.
func Levels() LevelList { return nil }

// Kernel is no kernel in this build.
type Kernel struct{}

// Op returns "".
func (Kernel) Op() string { return "" }

// Variant returns "".
func (Kernel) Variant() string { return "" }

// ISA returns 0.
func (Kernel) ISA() ISA { return 0 }

// Valid returns false.
func (Kernel) Valid() bool { return false }

// Pool is never made in this build.
type Pool struct{}

// NewPool returns an error.
func NewPool(threads int) (*Pool, error) { return nil, errNoCgo }

// SharedPool returns an error.
func SharedPool() (*Pool, error) { return nil, errNoCgo }

// Close does nothing.
func (*Pool) Close() {}

// Threads returns 1.
func (*Pool) Threads() int { return 1 }

// alloc returns memory from Go's heap.
func alloc(n int) []byte { return make([]byte, max(n, 1))[:n] }

func free([]byte) {}

// PhysicalMemory returns 0.
func PhysicalMemory() int { return 0 }

func families() [][]Kernel { return nil }
