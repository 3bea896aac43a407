package device

import (
	"runtime"
	"unsafe"
)

// Pinner keeps memory of Go's heap where it is while commands have its address, until Unpin
// or until nothing refers to the Pinner any more. It must not be copied after its first use.
type Pinner struct{ p *runtime.Pinner }

// Pin pins the allocation that p points into. Memory outside Go's heap and nil need
// none.
func (p *Pinner) Pin(at unsafe.Pointer) {
	if at == nil {
		return
	}
	if p.p == nil {
		p.p = new(runtime.Pinner)
		runtime.SetFinalizer(p.p, (*runtime.Pinner).Unpin) // it would panic where it is dropped
	}
	p.p.Pin(at)
}

// Unpin lets go of all that was pinned.
func (p *Pinner) Unpin() {
	if p.p != nil {
		p.p.Unpin()
	}
}
