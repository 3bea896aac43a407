package bindings

import (
	"math/rand/v2"
	"slices"
	"testing"
)

var reduceShapes = [][3]int{
	{1, 1, 1}, {1, 7, 1}, {3, 16, 1}, {2, 63, 1}, {5, 129, 1}, {1, 4097, 1}, {1, 9001, 1},
	{1, 1, 100}, {1, 3, 5}, {2, 17, 16}, {1, 5, 63}, {2, 4, 64}, {1, 130, 65}, {2, 300, 129}, {700, 9, 7},
}

func TestReduceVariants(t *testing.T) {
	pool, oracle := newTestPool(t), scalarOf(t, "f32_reduce")
	eachVariant(t, "f32_reduce", func(t *testing.T, k Kernel) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, s := range reduceShapes {
			outer, n, inner := s[0], s[1], s[2]
			x := randomFloats(r, outer*n*inner)
			for op := ReduceSum; op <= ReduceMin; op++ {
				if op == ReduceProd {
					for i := range x {
						x[i] = 1 + x[i]/64
					}
				}
				want := make([]float32, outer*inner)
				ReduceF32(oracle, nil, x, outer, n, inner, op, 0.5, want)
				got, intact := guardedFloats(outer * inner)
				ReduceF32(k, nil, x, outer, n, inner, op, 0.5, got)
				// Each accumulator adds a few hundred numbers of size 4 at most.
				if i := firstFar(got, want, 1e-6*float64(n), 1e-5*float64(min(n, 100))); i >= 0 {
					t.Fatalf("op %d %v: element %d is %v, not %v", op, s, i, got[i], want[i])
				}
				if !intact() {
					t.Fatalf("op %d %v: wrote outside", op, s)
				}
				again := make([]float32, outer*inner)
				ReduceF32(k, pool, x, outer, n, inner, op, 0.5, again)
				if !slices.Equal(got, again) {
					t.Fatalf("op %d %v: depends on the number of threads", op, s)
				}
			}
		}
	})
}

func TestReduceSpecial(t *testing.T) {
	eachVariant(t, "f32_reduce", func(t *testing.T, k Kernel) {
		for _, c := range []struct {
			name  string
			value float32
			op    Reduction
			want  float32
		}{
			{"largest with NaN", nan32, ReduceMax, nan32},
			{"smallest with NaN", nan32, ReduceMin, nan32},
			{"largest with inf", inf32, ReduceMax, inf32},
			{"smallest with -inf", -inf32, ReduceMin, -inf32},
			{"sum with NaN", nan32, ReduceSum, nan32},
			{"sum with inf", inf32, ReduceSum, inf32},
			{"absolute -inf", -inf32, ReduceSumAbs, inf32},
		} {
			t.Run(c.name, func(t *testing.T) {
				for at := range 70 {
					x := make([]float32, 70)
					x[at] = c.value
					row, col := make([]float32, 1), make([]float32, 70)
					ReduceF32(k, nil, x, 1, 70, 1, c.op, 1, row)
					if firstFar(row, []float32{c.want}, 0, 0) >= 0 {
						t.Fatalf("at %d of a row: %v", at, row)
					}
					rows := slices.Concat(x, x[:70], make([]float32, 70))
					ReduceF32(k, nil, rows, 1, 3, 70, c.op, 1, col)
					if firstFar(col[at:at+1], []float32{c.want}, 0, 0) >= 0 {
						t.Fatalf("in column %d: %v", at, col[at])
					}
				}
			})
		}
		for _, op := range []Reduction{ReduceMax, ReduceMin} {
			x := slices.Repeat([]float32{inf32}, 37)
			if op == ReduceMax {
				x = slices.Repeat([]float32{-inf32}, 37)
			}
			out := make([]float32, 1)
			ReduceF32(k, nil, x, 1, 37, 1, op, 1, out)
			if out[0] != x[0] {
				t.Errorf("op %d of infinities is %v", op, out[0])
			}
		}
	})
}
