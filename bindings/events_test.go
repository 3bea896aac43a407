//go:build js

package bindings

import (
	"syscall/js"
	"testing"
)

// TestEvents works for a while without a break but pauses. An event that came before is handled by
// then, as a message to a worker that stops the work.
func TestEvents(t *testing.T) {
	handled := false
	f := js.FuncOf(func(js.Value, []js.Value) any {
		handled = true
		return nil
	})
	defer f.Release()
	js.Global().Call("setTimeout", f, 0)
	for !handled {
		pause()
	}
}
