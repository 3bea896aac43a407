package cpu

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// SumType returns float32 for floats of at most 32 bits, float64, or int64. Sums of the other two
// are products with 1.
func (b *binder) SumType(d tensor.DType) (sum tensor.DType, rows bool, err error) {
	switch {
	case wide(d) == tensor.F32:
		return tensor.F32, true, nil
	case d == tensor.F64:
		return tensor.F64, false, nil
	}
	return tensor.I64, false, nil
}

// Products adds a command.
func (b *binder) Products(d tensor.DType, p *lower.Product, left, right, y device.Operand) error {
	return b.multiply(d, p, left, right, y)
}

// Convert is convert.
func (b *binder) Convert(from, to tensor.DType, n graph.Dim, x, y device.Operand) error {
	return b.convert(from, to, n, x, y)
}
