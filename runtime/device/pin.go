package device

import (
	"runtime"
	"unsafe"
)

// Pinner keeps memory of Go's heap where it is while commands have its address.
type Pinner struct{ p runtime.Pinner }

// Pin pins the allocation that p points into. Memory outside Go's heap and nil need
// none.
func (p *Pinner) Pin(at unsafe.Pointer) {
	if at != nil {
		p.p.Pin(at)
	}
}

// Unpin lets go of all that was pinned.
func (p *Pinner) Unpin() { p.p.Unpin() }
