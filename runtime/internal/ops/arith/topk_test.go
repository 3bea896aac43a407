package arith

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// heap is scratch memory without a limit.
type heap struct{ op.Memory }

func (heap) Scratch(n int) ([]byte, error) { return make([]byte, n), nil }

// TestFindTop compares the indices found, for small and large k, with sorted lanes that contain
// equal elements, NaNs and infinities.
func TestFindTop(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n, inner = 90, 3
	odd := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, float32(math.Copysign(0, -1))}
	x := make([]float32, n*inner)
	for i := range x {
		if x[i] = float32(r.IntN(20)); i%7 == 0 {
			x[i] = odd[r.IntN(len(odd))]
		}
	}
	for _, smallest := range []bool{false, true} {
		for _, k := range []int{0, 1, 2, 17, fewBest, fewBest + 1, n} {
			got := make([]int64, k*inner)
			run := &op.Run{Mem: heap{}}
			lanes := kit.AxisView{Outer: 1, N: n, Inner: inner}
			if err := findTop(&TopK{Smallest: smallest}, run, x, lanes, k, got, float32Key); err != nil {
				t.Fatal(err)
			}
			for lane := range inner {
				want := make([]int64, n)
				for i := range want {
					want[i] = int64(i)
				}
				slices.SortStableFunc(want, func(a, b int64) int {
					c := ascending(x[b*inner+int64(lane)], x[a*inner+int64(lane)])
					if smallest {
						c = -c
					}
					return cmp.Or(c, int(a-b))
				})
				for j := range k {
					if got[j*inner+lane] != want[j] {
						t.Fatalf("smallest %t, k %d, lane %d: place %d is %d, not %d", smallest, k, lane, j, got[j*inner+lane], want[j])
					}
				}
			}
		}
	}
}

// TestArgBest compares lanes searched one by one with lanes searched together.
func TestArgBest(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const n, inner = 9, argColumns + 5
	x := make([]float32, n*inner)
	for i := range x {
		if x[i] = float32(r.IntN(4)); r.IntN(8) == 0 {
			x[i] = float32(math.NaN())
		}
	}
	for mode := range 4 {
		o := &ArgReduce{Largest: mode&1 != 0, Last: mode&2 != 0}
		got := make([]int64, inner)
		argBest(new(op.Run).Pace(), o, x, kit.AxisView{Outer: 1, N: n, Inner: inner}, got)
		for i := range inner {
			want := 0
			for k := 1; k < n; k++ {
				v, best := x[k*inner+i], x[want*inner+i]
				better, worse := Beyond(v, best), Beyond(best, v)
				if !o.Largest {
					better, worse = v < best || v != v && best == best, best < v || best != best && v == v
				}
				if better || o.Last && !worse {
					want = k
				}
			}
			lane := make([]float32, n)
			for k := range lane {
				lane[k] = x[k*inner+i]
			}
			if one := argLane(o, lane); one != int64(want) || got[i] != int64(want) {
				t.Fatalf("%+v, lane %d %v: places %d and %d, not %d", *o, i, lane, one, got[i], want)
			}
		}
	}
}
