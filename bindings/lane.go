package bindings

import "unsafe"

// Lane is the elements of an operand as an elementwise kernel reaches them.
type Lane struct {
	Data  unsafe.Pointer
	Bytes int // per element
	// Via converts between Data and the type that the kernel computes in; the
	// zero Kernel where these are the same.
	Via Kernel
}

// Params are the two numbers that a unary kernel may need, each of the type that
// the kernel computes in, one after the other.
type Params [2]uint64

// ParamsOf returns the params p and q.
func ParamsOf[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64](p, q T) *Params {
	b := &Params{}
	*(*[2]T)(unsafe.Pointer(b)) = [2]T{p, q}
	return b
}
