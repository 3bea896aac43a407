//go:build !cgo

package bindings

// ProbeFMA returns an error.
func ProbeFMA(ISA) (float64, error) { return 0, errNoCgo }

// ProbeDot returns an error.
func ProbeDot(ISA) (float64, error) { return 0, errNoCgo }

// ProbeRead panics.
func ProbeRead([]byte) float64 { panic(errNoCgo) }
