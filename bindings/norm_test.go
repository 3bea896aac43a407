package bindings

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// checkVariants compares compute with every kernel of op against its oracle,
// alone and with threads.
func checkVariants(t *testing.T, op, what string, n int, absolute, relative float64, compute func(k Kernel, p *Pool, out []float32)) {
	t.Helper()
	pool := newTestPool(t)
	want := make([]float32, n)
	compute(scalarOf(t, op), nil, want)
	for _, k := range Variants(op) {
		if k.ISA()&^DetectISA() != 0 {
			continue
		}
		got, intact := guardedFloats(n)
		compute(k, nil, got)
		if i := firstFar(got, want, absolute, relative); i >= 0 {
			t.Fatalf("%s/%s %s: element %d is %v, not %v", op, k.Variant(), what, i, got[i], want[i])
		}
		if !intact() {
			t.Fatalf("%s/%s %s: wrote outside", op, k.Variant(), what)
		}
		again := make([]float32, n)
		compute(k, pool, again)
		if firstFar(again, got, 0, 0) >= 0 {
			t.Fatalf("%s/%s %s: depends on the number of threads", op, k.Variant(), what)
		}
	}
}

func TestSoftmaxVariants(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, s := range append([][3]int{{90, 400, 1}, {2, 6000, 3}}, reduceShapes...) {
		x := randomFloats(r, s[0]*s[1]*s[2])
		for i := range x {
			x[i] *= 5
		}
		for _, log := range []bool{false, true} {
			absolute := 1e-9
			if log {
				absolute = 4e-6 // two ulps of a difference of 40
			}
			what := fmt.Sprint(s, log)
			checkVariants(t, "f32_softmax", what, len(x), absolute, 4e-6, func(k Kernel, p *Pool, out []float32) {
				SoftmaxF32(k, p, x, s[0], s[1], s[2], log, out)
			})
			checkVariants(t, "f32_softmax", what+" in place", len(x), absolute, 4e-6, func(k Kernel, p *Pool, out []float32) {
				copy(out, x)
				SoftmaxF32(k, p, out, s[0], s[1], s[2], log, out)
			})
		}
	}
}

func TestSoftmaxSpecial(t *testing.T) {
	for _, c := range []struct {
		name string
		x    []float32
	}{
		{"large", []float32{1e30, -1e30, 1e30}},
		{"minus infinity", []float32{-inf32, 1, 2}},
		{"only minus infinity", []float32{-inf32, -inf32}},
		{"infinity", []float32{inf32, 1}},
		{"NaN", []float32{1, nan32, 2}},
	} {
		for _, pad := range []int{0, 20, 60} {
			x := append(slices.Repeat([]float32{-3}, pad), c.x...)
			checkVariants(t, "f32_softmax", c.name, len(x), 1e-9, 1e-6, func(k Kernel, p *Pool, out []float32) {
				SoftmaxF32(k, p, x, 1, len(x), 1, false, out)
			})
			both := slices.Concat(x, x)
			for i, v := range x {
				both[2*i], both[2*i+1] = v, v
			}
			checkVariants(t, "f32_softmax", c.name+" columns", len(both), 1e-9, 1e-6, func(k Kernel, p *Pool, out []float32) {
				SoftmaxF32(k, p, both, 1, len(x), 2, true, out)
			})
		}
	}
}

func TestLayerNormVariants(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	affine := scalarOf(t, "f32_affine_each")
	for _, n := range []int{1, 5, 16, 63, 64, 100, 4097, 9000} {
		const rows = 9
		x, scale, bias := randomFloats(r, rows*n), randomFloats(r, n), randomFloats(r, n)
		for i := range x {
			x[i] += 50 // a mean that is large beside the deviation
		}
		for _, centred := range []bool{true, false} {
			what := fmt.Sprint(n, centred)
			checkVariants(t, "f32_moments", what, rows*n+2*rows, 1e-4, 1e-4, func(k Kernel, p *Pool, out []float32) {
				LayerNormF32(k, affine, p, x, rows, n, scale, bias, 1e-3, centred, out[2*rows:], out[:rows], out[rows:2*rows])
			})
			moments := scalarOf(t, "f32_moments")
			checkVariants(t, "f32_affine_each", what, rows*n, 1e-5, 1e-5, func(k Kernel, p *Pool, out []float32) {
				LayerNormF32(moments, k, p, x, rows, n, scale, nil, 1e-3, centred, out, nil, nil)
			})
		}
		checkVariants(t, "f32_affine_each", fmt.Sprint("rows of ", n), rows*n, 1e-4, 1e-5, func(k Kernel, p *Pool, out []float32) {
			RowAffineF32(k, p, x, rows, n, scale, bias, out)
		})
	}
}

func TestGroupNormVariants(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	const batch, channels = 2, 6
	scale, bias, sub := randomFloats(r, channels), randomFloats(r, channels), randomFloats(r, channels)
	for _, inner := range []int{1, 7, 16, 100, 5001} {
		x := randomFloats(r, batch*channels*inner)
		for _, groups := range []int{1, 3, 6} {
			affine := scalarOf(t, "f32_affine")
			checkVariants(t, "f32_moments", fmt.Sprint(inner, groups), len(x), 1e-5, 1e-4, func(k Kernel, p *Pool, out []float32) {
				GroupNormF32(k, affine, p, x, batch, channels, groups, inner, scale, bias, 1e-5, out)
			})
		}
		checkVariants(t, "f32_affine", fmt.Sprint(inner), len(x), 1e-5, 1e-5, func(k Kernel, p *Pool, out []float32) {
			ChannelAffineF32(k, p, x, batch, channels, inner, sub, scale, bias, out)
		})
	}
}

func TestLRNVariants(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, size := range []int{1, 2, 5, 9} {
		for _, beta := range []float32{0.75, 0.5} {
			for _, s := range [][3]int{{1, 1, 1}, {2, 7, 5}, {1, 12, 70}, {3, 3, 130}} {
				x := randomFloats(r, s[0]*s[1]*s[2])
				checkVariants(t, "f32_lrn", fmt.Sprint(size, beta, s), len(x), 0, 4e-6, func(k Kernel, p *Pool, out []float32) {
					LRNF32(k, p, x, s[0], s[1], s[2], size, 0.1, beta, 1.5, out)
				})
			}
		}
	}
}
