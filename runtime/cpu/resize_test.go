package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/op/vision"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var resamplings = []struct{ outer, n, inner, m, taps int }{
	{1, 1, 1, 1, 1}, {3, 5, 1, 7, 2}, {2, 9, 1, 33, 4}, {40, 64, 1, 128, 2}, {2, 7, 5, 3, 3}, {3, 8, 16, 16, 2}, {1, 10, 77, 5, 4}, {2, 300, 3, 100, 2},
}

func newResample(r *rand.Rand, n, m, taps int) *vision.Resample {
	x := &vision.Resample{Taps: taps, Weights: quarters(r, taps*m), Start: make([]int32, m)}
	x.In, x.Out = n, m
	for i := range x.Start {
		x.Start[i] = int32(r.IntN(n - taps + 1))
	}
	return x
}

// TestResample compares all variants with the formula, of which sums of quarters are
// exact in float32.
func TestResample(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(15, 16))
	floats := []tensor.DType{tensor.F32, tensor.F16, tensor.BF16}
	for _, s := range resamplings {
		table := newResample(r, s.n, s.m, s.taps)
		x, want := quarters(r, s.outer*s.n*s.inner), make([]float64, s.outer*s.m*s.inner)
		for i := range want {
			o, j, c := i/s.inner/s.m, i/s.inner%s.m, i%s.inner
			for tap := range s.taps {
				want[i] += table.Weights[tap*s.m+j] * x[(o*s.n+int(table.Start[j])+tap)*s.inner+c]
			}
		}
		start := slices.Clone(constant(table.Start...).Data)
		for _, k := range runnable(t, "f32_resample") {
			for _, from := range floats {
				for _, to := range floats {
					w := resampleWords(table, s.outer, s.inner, from, to, partOf(t, "half", k.ISA()))
					got := loaded(to, runGuarded(t, k, w, pool, to.Bytes(len(want)), to.Bytes(1), stored(from, x), start, stored(tensor.F32, table.Weights)))
					if i := differ(got, rounded(to, want), 0, 0); i >= 0 {
						t.Fatalf("%+v %s, %v to %v: element %d is %v, not %v", s, k.Variant(), from, to, i, got[i], want[i])
					}
				}
			}
		}
	}
}

func TestResampleNearest(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range resamplings {
		for _, size := range []int{1, 2, 4, 8, 16} {
			table := newResample(r, s.n, s.m, 1)
			x, _ := guardedBytes(s.outer*s.n*s.inner*size, min(size, 8))
			for i := range x {
				x[i] = byte(r.Uint32())
			}
			var want []byte
			for o := range s.outer {
				for _, at := range table.Start {
					want = append(want, x[(o*s.n+int(at))*s.inner*size:][:s.inner*size]...)
				}
			}
			start := slices.Clone(constant(table.Start...).Data)
			for _, k := range runnable(t, "resample_nearest") {
				got := runGuarded(t, k, nearestWords(table, s.outer, s.inner, size), pool, len(want), min(size, 8), x, start)
				if !slices.Equal(got, want) {
					t.Fatalf("%+v %s: elements of %d bytes differ", s, k.Variant(), size)
				}
			}
		}
	}
}

// TestVisionOps checks that every op of these families has a test in this package, and
// variants for vectors where its table has any.
func TestVisionOps(t *testing.T) {
	testPool(t)
	tested := []string{"f32_conv_depthwise", "f32_conv_depthwise_blocked", "f32_conv_blocked", "f32_conv_expand", "f32_conv_winograd", "f32_conv_gemm", "f32_conv_transpose", "f64_conv_gemm", "f64_conv", "f64_conv_transpose", "f32_pooling", "f32_pooling_blocked", "i8_pooling", "f32_resample", "resample_nearest", "max_index"}
	for _, name := range tested {
		if len(bindings.Variants(name)) == 0 {
			t.Errorf("no kernel of %s", name)
		}
	}
	for _, k := range bindings.Variants() {
		var prefix string
		for _, p := range []string{"f32_conv", "f64_conv", "f32_pool", "i8_pool", "f32_resample", "resample", "max_index"} {
			if len(k.Op()) >= len(p) && k.Op()[:len(p)] == p {
				prefix = p
			}
		}
		if prefix != "" && k.IsCommand() && !slices.Contains(tested, k.Op()) {
			t.Error(fmt.Sprint(k.Op(), " has no test"))
		}
	}
}
