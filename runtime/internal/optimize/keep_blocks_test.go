package optimize_test

import (
	"testing"

	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestKeepBlocks(t *testing.T) {
	toFloat32 := attrInt("to", 1)
	// blocks is a pattern of a constant of 8 rows of 64 elements.
	blocks := func(name string, f func(b *net, w string) string, want ...string) pattern {
		return pattern{name: name, want: want, types: []tensor.DType{tensor.F32}, build: func(b *net) {
			b.out(f(b, b.constant(cases.NewSource(name).Any(tensor.Q4_1, 8, 64))))
		}}
	}
	check(t, []pattern{
		blocks("product", func(b *net, w string) string {
			return b.op("Gemm", b.in("x", "tokens", 64), b.op("Cast", w, toFloat32), attrInt("transB", 1))
		}, "WidenedGemm"),
		blocks("product with a bias", func(b *net, w string) string {
			return b.op("Gemm", b.in("x", "tokens", 64), b.op("Cast", w, toFloat32), b.weight(8), attrInt("transB", 1))
		}, "WidenedGemm"),
		blocks("product of columns", func(b *net, w string) string {
			return b.op("Gemm", b.in("x", "tokens", 8), b.op("Cast", w, toFloat32))
		}, "Gemm"),
		blocks("table", func(b *net, w string) string {
			return b.op("Gather", b.op("Cast", w, toFloat32), b.given("i", integers(3, 0, 7, 3), 2, 2))
		}, "Gather", "Cast"),
		blocks("table of columns", func(b *net, w string) string {
			return b.op("Gather", b.op("Cast", w, toFloat32), b.given("i", integers(3, 0, 7, 3), 2, 2), attrInt("axis", 1))
		}, "Gather"),
		blocks("table that is read twice", func(b *net, w string) string {
			wide := b.op("Cast", w, toFloat32)
			rows := b.op("Gather", wide, b.given("i", integers(3, 0, 7, 3), 2, 2))
			return b.op("Gemm", b.op("Reshape", rows, b.ints(4, 64)), wide, attrInt("transB", 1))
		}, "Gather", "Cast", "Reshape", "WidenedGemm"),
	})
}
