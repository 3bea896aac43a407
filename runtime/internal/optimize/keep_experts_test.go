package optimize_test

import (
	"testing"

	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestKeepExperts(t *testing.T) {
	// experts is a pattern of a mixture of two experts with weights that f makes.
	experts := func(name string, f func(b *net, shape ...int) string, want ...string) pattern {
		return pattern{name: name, want: want, types: []tensor.DType{tensor.F32}, build: func(b *net) {
			x := b.in("x", "tokens", 32)
			router := b.op("Gemm", x, b.weight(2, 32), attrInt("transB", 1))
			b.out(b.microsoft("MoE", x, router, f(b, 2, 64, 32), b.weight(2, 64), f(b, 2, 32, 64)))
		}}
	}
	wide := func(d tensor.DType, to int64) func(b *net, shape ...int) string {
		return func(b *net, shape ...int) string {
			w := b.constant(cases.NewSource(d.String()).Any(d, shape...))
			return b.op("Cast", w, attrInt("to", to))
		}
	}
	check(t, []pattern{
		experts("blocks", wide(tensor.Q4_0, 1), "Gemm", "WidenedMoE"),
		experts("halves", wide(tensor.F16, 1), "Gemm", "WidenedMoE"),
		experts("bfloat16", wide(tensor.BF16, 1), "Gemm", "WidenedMoE"),
		experts("float64", wide(tensor.F64, 1), "Gemm", "MoE"),
		experts("float32", func(b *net, shape ...int) string { return b.weight(shape...) }, "Gemm", "MoE"),
		experts("one in blocks", func(b *net, shape ...int) string {
			if shape[1] == 32 {
				return b.weight(shape...)
			}
			return wide(tensor.Q8_0, 1)(b, shape...)
		}, "Gemm", "WidenedMoE"),
	})
}
