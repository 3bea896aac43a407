package device

import (
	"runtime"
	"unsafe"
)

// Pinner keeps memory of Go's heap at its address while commands use it, until Unpin or until the
// Pinner is unreachable. It must not be copied after its first use.
type Pinner struct{ p *runtime.Pinner }

// Pin pins the allocation that contains address at. It does nothing for nil; memory outside Go's
// heap needs no pin.
func (p *Pinner) Pin(at unsafe.Pointer) {
	if at == nil {
		return
	}
	if p.p == nil {
		p.p = new(runtime.Pinner)
		runtime.SetFinalizer(p.p, (*runtime.Pinner).Unpin) // or it panics once unreachable
	}
	p.p.Pin(at)
}

// Unpin releases everything pinned.
func (p *Pinner) Unpin() {
	if p.p != nil {
		p.p.Unpin()
	}
}
