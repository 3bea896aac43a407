package cpu

import (
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
)

var castRows = []row{
	rowFor("cast", bindCast),
}

// bindCast refuses types that kernels do not compute on; they are cast in Go.
func bindCast(_ *arith.Cast, b *binder) error {
	from, to, n := b.DType(0), b.Out[0].DType, b.In[0].Dims.Len()
	if from.Short() == "" || to.Short() == "" {
		return device.Refuse("%v elements become %v in Go", from, to)
	}
	if from == to {
		return b.copyAll(b.in(0), b.out(0), from, n)
	}
	return b.convert(from, to, n, b.in(0), b.out(0))
}
