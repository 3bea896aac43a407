package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
)

func bindSnake(_ arith.Snake, b *binder) error {
	if b.isEmpty() {
		return nil
	}
	k := b.kernel("f32_snake")
	var parts []bindings.Kernel
	for _, name := range []string{"f32_mul", "f32_add", "f32_sin"} {
		parts = append(parts, b.kernel(name))
	}
	x := b.In[0].Dims
	return b.add(k, parts, snakeWords(parts, x[:2].Len(), x[1], x[2:].Len()), b.in(0), b.in(1), b.in(2), b.out(0))
}

// snakeWords is nacre_snake_words of csrc/eltwise/eltwise.h.
func snakeWords(parts []bindings.Kernel, rows, channels, n graph.Dim) (w words) {
	w.part(parts...)
	w.dim(rows, channels, n)
	return w
}
