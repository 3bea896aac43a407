package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestNarrowProducts compares all variants of products with few columns to the formula: rows of
// several chunks, batches of small matrices, vectors that reach beyond the last row.
func TestNarrowProducts(t *testing.T) {
	t.Parallel()
	pool, r := testPool(t), rand.New(rand.NewPCG(41, 2))
	clamp := kit.Epilogue{Func: "clip", P: -1.5, Q: 2}
	for _, s := range [][3]int{
		{2, 2, 1}, {3, 3, 3}, {4, 4, 4}, {5, 4, 0}, {50, 3, 7}, {37, 8, 8}, {33, 5, 32}, {29, 16, 16}, {31, 11, 3}, {5000, 9, 13},
		{2, 1, 0}, {3, 1, 3}, {19, 1, 8}, {50, 1, 37}, {2100, 1, 64}, {45, 10, 16},
	} {
		for _, d := range []tensor.DType{tensor.F32, tensor.F64} {
			for i, c := range []gemmCase{
				{}, {bT: true, col: true}, {epilogue: clamp}, {batch: []int{7}}, {batch: []int{2, 3}, aFixed: true, bT: true},
				{batch: []int{3}, bFixed: true, col: true, epilogue: clamp},
			} {
				if s[0] > 1000 && len(c.batch) > 1 || d == tensor.F64 && (s[1] > 8 || s[1] == 1) {
					continue
				}
				c.name = fmt.Sprintf("%v, case %d", s, i)
				c.m, c.n, c.k, c.alpha, c.dtype = s[0], s[1], s[2], 1, d
				data := c.data(r)
				for _, k := range runnable(t, d.Short()+"_narrow") {
					if !k.Fits(numbersOf(t, data.gemm(t, k).words())) {
						t.Errorf("%s/%s does not take %s", k.Op(), k.Variant(), c.name)
					}
					data.check(t, k, pool)
				}
			}
		}
	}
}
