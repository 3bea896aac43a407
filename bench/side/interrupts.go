//go:build !js

package side

import (
	"os"
	"os/signal"
)

// IgnoreInterrupts ignores interrupts: they are meant for the program that asks, which closes the
// input.
func IgnoreInterrupts() { signal.Ignore(os.Interrupt) }
