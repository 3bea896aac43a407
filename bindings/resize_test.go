package bindings

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestResampleVariants(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for _, s := range []struct{ outer, n, inner, m, taps int }{
		{1, 1, 1, 1, 1}, {3, 5, 1, 7, 2}, {2, 9, 1, 33, 4}, {40, 64, 1, 128, 2}, {2, 7, 5, 3, 3}, {3, 8, 16, 16, 2}, {1, 10, 77, 5, 4}, {2, 300, 3, 100, 2},
	} {
		x, weights := randomFloats(r, s.outer*s.n*s.inner), randomFloats(r, s.taps*s.m)
		start := make([]int32, s.m+1)[1:]
		for i := range start {
			start[i] = int32(r.IntN(s.n - s.taps + 1))
		}
		cols, row := scalarOf(t, "f32_resample_cols"), scalarOf(t, "f32_resample_row")
		checkVariants(t, "f32_resample_cols", fmt.Sprint(s), s.outer*s.m*s.inner, 1e-5, 1e-5, func(k Kernel, p *Pool, out []float32) {
			ResampleF32(k, row, p, x, s.outer, s.n, s.inner, start, weights, out)
		})
		checkVariants(t, "f32_resample_row", fmt.Sprint(s), s.outer*s.m*s.inner, 1e-5, 1e-5, func(k Kernel, p *Pool, out []float32) {
			ResampleF32(cols, k, p, x, s.outer, s.n, s.inner, start, weights, out)
		})
	}
}
