package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sumTypes are the types of sums by element type. Narrow integers wrap around in 32 bits as in 64.
var sumTypes = map[tensor.DType]tensor.DType{
	tensor.F32: tensor.F32, tensor.F16: tensor.F32, tensor.BF16: tensor.F32,
	tensor.I8: tensor.I32, tensor.I32: tensor.I32, tensor.I64: tensor.I64,
	tensor.U8: tensor.U32, tensor.U32: tensor.U32, tensor.U64: tensor.U64,
}

// SumType returns the type of sums. They are reductions of rows.
func (b *binder) SumType(d tensor.DType) (sum tensor.DType, rows bool, err error) {
	if sum = sumTypes[d]; sum == tensor.Invalid {
		return sum, false, device.Refuse("no shader adds up %v elements", d)
	}
	return sum, true, nil
}

// Products adds the dispatches of a batch of products.
func (b *binder) Products(d tensor.DType, p *lower.Product, left, right, y device.Operand) error {
	return b.products(&multiplying{product: productFrom(p), dtype: d, left: left, right: right, out: y, alpha: 1})
}

// Convert adds a dispatch.
func (b *binder) Convert(from, to tensor.DType, n graph.Dim, x, y device.Operand) error {
	list := b.known(n)
	return b.convert(from, to, list[0], x, y)
}
