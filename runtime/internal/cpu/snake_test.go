package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestSnake compares the kernel to its steps, on rows longer and shorter than a block and on rows of one
// element.
func TestSnake(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(67, 68))
	k := runnable(t, "f32_snake")[0]
	for _, sin := range runnable(t, "f32_sin") {
		parts := []bindings.Kernel{partOf(t, "f32_mul", sin.ISA()), partOf(t, "f32_add", sin.ISA()), sin}
		for _, s := range [][3]int{{1, 1, 1}, {2, 3, 7}, {1, 5, 1024}, {3, 2, 2051}, {2, 20003, 1}, {1, 1, 33000}} {
			rows, channels, n := s[0]*s[1], s[1], s[2]
			x := rounded(tensor.F32, normals(r, rows*n, 0, 2))
			alpha, ratio := rounded(tensor.F32, normals(r, channels, 0, 2)), rounded(tensor.F32, normals(r, channels, 0, 2))
			angles := make([]float64, len(x))
			for i, v := range x {
				angles[i] = float64(float32(v) * float32(alpha[i/n%channels]))
			}
			sines := loaded(tensor.F32, runUnary(t, sin, unaryWords(graph.Known(len(x)), plainF32, plainF32,
				params(tensor.F32, 0, 0), tensor.F32), nil, 4*len(x), 4, stored(tensor.F32, angles)))
			got := loaded(tensor.F32, runGuarded(t, k, snakeWords(parts, graph.Known(rows), graph.Known(channels), graph.Known(n)),
				pool, 4*len(x), 4, stored(tensor.F32, x), stored(tensor.F32, alpha), stored(tensor.F32, ratio)))
			for i, v := range got {
				square := float32(sines[i]) * float32(sines[i])
				more := float32(square) * float32(ratio[i/n%channels])
				if want := float64(float32(x[i]) + float32(more)); v != want {
					t.Fatalf("%s %v: element %d is %v, want %v", sin.Variant(), s, i, v, want)
				}
			}
		}
	}
}
