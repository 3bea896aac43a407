//go:build !cgo && !js

package bindings

import "errors"

var errNoCgo = errors.New("this program was built without cgo, so it has no kernels; build with CGO_ENABLED=1 and " +
	"a C compiler")

// kernels returns an error: nothing here runs the module.
func kernels() (host, error) { return nil, errNoCgo }

// alloc returns memory from Go's heap.
func alloc(n int) []byte { return alignedBytes(n) }

func free([]byte) {}

// PhysicalMemory returns 0.
func PhysicalMemory() int { return 0 }
