package optimize_test

import (
	"testing"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestFuseSnake(t *testing.T) {
	one := []tensor.DType{tensor.F32}
	snake := func(name string, f func(b *net, x string) string, want ...string) pattern {
		return pattern{name: name, types: one, want: want, build: func(b *net) { b.out(f(b, b.in("x", "batch", 6, "tokens"))) }}
	}
	sine := func(b *net, x string) string { return b.op("Sin", b.op("Mul", b.weight(1, 6, 1), x)) }
	check(t, []pattern{
		snake("power", func(b *net, x string) string {
			return b.op("Add", x, b.op("Mul", b.weight(1, 6, 1), b.op("Pow", sine(b, x), b.c(2))))
		}, "ChannelSnake"),
		snake("square", func(b *net, x string) string {
			s := sine(b, x)
			return b.op("Add", b.op("Mul", b.op("Mul", s, s), b.weight(6, 1)), x)
		}, "ChannelSnake"),
		snake("of a sum", func(b *net, x string) string {
			x = b.op("Add", x, b.weight(1, 6, 1))
			return b.op("Add", x, b.op("Mul", b.weight(1, 6, 1), b.op("Pow", sine(b, x), b.c(2))))
		}, "Add", "ChannelSnake"),
		snake("cube", func(b *net, x string) string {
			return b.op("Add", x, b.op("Mul", b.weight(1, 6, 1), b.op("Pow", sine(b, x), b.c(3))))
		}, "Mul", "Sin", "Pow", "Mul", "Add"),
		snake("numbers of a batch", func(b *net, x string) string {
			return b.op("Add", x, b.op("Mul", b.weight(2, 6, 1), b.op("Pow", sine(b, x), b.c(2))))
		}, "Mul", "Sin", "Pow", "Mul", "Add"),
		snake("sine read twice", func(b *net, x string) string {
			s := sine(b, x)
			b.out(s)
			return b.op("Add", x, b.op("Mul", b.weight(1, 6, 1), b.op("Pow", s, b.c(2))))
		}, "Mul", "Sin", "Pow", "Mul", "Add"),
	})
}
