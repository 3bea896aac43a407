//go:build !cgo

package bindings

// ProbeFMA fails.
func ProbeFMA(ISA) (float64, error) { return 0, errNoCgo }

// ProbeRead cannot be called.
func ProbeRead([]byte) float64 { panic(errNoCgo) }
