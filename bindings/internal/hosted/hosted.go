// Package hosted is where a package that runs WebAssembly registers itself with package bindings.
package hosted

// Layout describes the memory and the table of an instance of a position-independent module. The
// module's stack grows down from address Data, and its data begins there.
type Layout struct {
	Data      int      // a multiple of the module's alignment
	Table     int      // entries of the module's function table
	Functions []string // the exported functions that Call calls
}

// Instance is a running module with a linear memory of its own. Its methods, besides Commit and
// Release, must not be called concurrently.
type Instance interface {
	// Memory returns the whole memory, which never moves. Bytes in use were given to Commit.
	Memory() []byte
	// Commit makes bytes of the memory usable. It returns false if the system has no memory.
	Commit(part []byte) bool
	// Release gives the memory of whole pages back to the system until they are next used. Their
	// contents are lost.
	Release(part []byte)
	// Call calls one of the functions of the Layout. It returns the result, 0 if there is none.
	// An argument is a whole number, an address or a float32. Call panics if the module traps.
	Call(function int, arguments []float64) uint32
}

// Start makes an instance of a module, and commits the memory below address Data and size bytes
// from it on. A nil Start means that no package is registered.
var Start func(module []byte, layout Layout, size int) (Instance, error)
