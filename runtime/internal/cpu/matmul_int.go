package cpu

import (
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/openinfer"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var intMatMulRows = []row{
	rowFor("gemm", func(_ *openinfer.MatMul, b *binder) error { return bindIntMatMul(b) }),
}

// bindIntMatMul multiplies matrices of integers of at most 16 bits. The kernel decodes them block
// by block.
func bindIntMatMul(b *binder) error {
	d := b.DType(0)
	if !d.IsInteger() || d.Bits() > 16 {
		return device.Refuse("elements are %v", d)
	}
	p := lower.InputProduct(b, [2]arith.AxisOrder{}, 0, 1)
	return b.run("int_gemm", intGemmWords(p, d, b.Out[0].DType), b.in(0), b.in(1), b.out(0))
}

// intGemmWords is nacre_int_gemm_words of csrc/matmul/matmul.h.
func intGemmWords(p *lower.Product, in, out tensor.DType) (w words) {
	w.dim(p.M, p.N, p.K)
	w.int(in.Bits(), kit.Btoi(in.Kind() == tensor.Signed), out.Bits())
	w.batch(p.Batch)
	return w
}
