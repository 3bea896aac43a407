package optimize_test

import (
	"testing"

	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestTransposedCodes checks products of quantised rows with codes that a Transpose turns.
func TestTransposedCodes(t *testing.T) {
	rows := func(b *net) string {
		zero := b.constant(cases.NewSource("zero").Between(tensor.U8, 128, 128))
		codes := b.op("QuantizeLinear", b.in("x", "tokens", 24), b.c(0.0625), zero)
		return b.op("DequantizeLinear", codes, b.c(0.0625), zero)
	}
	one := []tensor.DType{tensor.F32}
	check(t, []pattern{
		{name: "columns", types: one, want: []string{"QuantizeLinear", "MatMulIntegerToFloat"}, build: func(b *net) {
			w := b.codes(tensor.I8, false, []int{10}, []int{10, 24}, attrInt("axis", 0))
			b.out(b.op("MatMul", rows(b), b.op("Transpose", w)))
		}},
		{name: "Gemm", types: one, want: []string{"QuantizeLinear", "MatMulIntegerToFloat"}, build: func(b *net) {
			w := b.codes(tensor.I8, false, []int{10}, []int{24, 10}, attrInt("axis", 1))
			b.out(b.op("Gemm", rows(b), b.op("Transpose", w), b.weight(10), attrInt("transB", 1)))
		}},
	})
}
