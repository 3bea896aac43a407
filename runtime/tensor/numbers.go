package tensor

import (
	"sync/atomic"

	"github.com/nacre-ml/nacre/packed"
)

// readers has a function that reads the elements of a type, for every numeric or boolean type of
// whole bytes.
var readers = [dtypeCount]func(t *Tensor) func(i int) float64{
	F32:        plain[float32],
	F64:        plain[float64],
	F16:        narrow[packed.F16],
	BF16:       narrow[packed.BF16],
	I8:         plain[int8],
	I16:        plain[int16],
	I32:        plain[int32],
	I64:        plain[int64],
	U8:         plain[uint8],
	U16:        plain[uint16],
	U32:        plain[uint32],
	U64:        plain[uint64],
	Bool:       truth,
	F8E4M3FN:   narrow[packed.F8E4M3FN],
	F8E4M3FNUZ: narrow[packed.F8E4M3FNUZ],
	F8E5M2:     narrow[packed.F8E5M2],
	F8E5M2FNUZ: narrow[packed.F8E5M2FNUZ],
	F8E8M0:     narrow[packed.F8E8M0],
}

// Numbers returns a function that reads element i of the tensor: integers and floats by
// value, booleans as 0 and 1. It returns nil for strings and complex numbers. Integers
// beyond 2^53 are rounded.
func Numbers(t *Tensor) func(i int) float64 {
	t = t.Aligned()
	if read := readers[t.DType()]; read != nil {
		return read(t)
	}
	if l := t.DType().Layout(); l != nil {
		return codes(t, l)
	}
	if b := t.DType().Blocks(); b != nil {
		return blockwise(t, b)
	}
	return nil
}

func truth(t *Tensor) func(int) float64 {
	s := t.Bytes()
	return func(i int) float64 { return float64(s[i]) }
}

// codes reads elements narrower than a byte.
func codes(t *Tensor, l *packed.Layout) func(int) float64 {
	data := t.Bytes()
	if t.DType().IsFloat() {
		return func(i int) float64 { return float64(packed.F4E2M1(l.At(data, i)).Float32()) }
	}
	return func(i int) float64 { return float64(l.At(data, i)) }
}

func plain[T interface {
	Element
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}](t *Tensor) func(int) float64 {
	s := View[T](t)
	return func(i int) float64 { return float64(s[i]) }
}

func narrow[T interface {
	Element
	Float32() float32
}](t *Tensor) func(int) float64 {
	s := View[T](t)
	return func(i int) float64 { return float64(s[i].Float32()) }
}

// unpacked is the elements of a block.
type unpacked struct {
	block    int
	elements []float32
}

// blockwise reads elements of blocks. It keeps the block that was unpacked last.
func blockwise(t *Tensor, b *packed.Blocks) func(int) float64 {
	data := t.Bytes()
	var last atomic.Pointer[unpacked]
	return func(i int) float64 {
		u := last.Load()
		if block := i / b.Elements; u == nil || u.block != block {
			u = &unpacked{block, make([]float32, b.Elements)}
			b.Unpack(u.elements, data[block*b.Bytes:])
			last.Store(u)
		}
		return float64(u.elements[i%b.Elements])
	}
}
