package optimize_test

import (
	"testing"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestFuseWidening(t *testing.T) {
	toFloat32 := attrInt("to", 1)
	// halves is a pattern of x, widened, and a constant of 16 bits.
	halves := func(name string, f func(b *net, x, w string) string, want ...string) pattern {
		return pattern{name: name, want: want, types: []tensor.DType{tensor.F16, tensor.BF16}, build: func(b *net) {
			b.out(f(b, b.op("Cast", b.in("x", "tokens", 6), toFloat32), b.weight(7, 6)))
		}}
	}
	check(t, []pattern{
		halves("transposed", func(b *net, x, w string) string {
			return b.op("Gemm", x, b.op("Cast", w, toFloat32), attrInt("transB", 1))
		}, "Cast", "WidenedGemm"),
		halves("with a bias", func(b *net, x, w string) string {
			return b.op("Gemm", x, b.op("Cast", w, toFloat32), b.op("Cast", b.weight(7), toFloat32), attrInt("transB", 1))
		}, "Cast", "WidenedGemm"),
		halves("widened once for two", func(b *net, x, w string) string {
			wide := b.op("Cast", w, toFloat32)
			return b.op("Add", b.op("Gemm", x, wide, attrInt("transB", 1)), b.op("Gemm", b.op("Neg", x), wide, attrInt("transB", 1)))
		}, "Cast", "Gemm", "Neg", "Gemm", "Add"),
		{name: "no constant", want: []string{"Cast", "Cast", "Gemm"}, types: []tensor.DType{tensor.F16}, build: func(b *net) {
			b.out(b.op("Gemm", b.op("Cast", b.in("x", "tokens", 6), toFloat32), b.op("Cast", b.in("w", 6, 7), toFloat32)))
		}},
	})
}
