package bindings

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

var poolings = []Pooling{
	{Planes: 2, Axes: []PoolingAxis{{In: 9, Out: 7, Taps: 3, Stride: 1, Dilation: 1}}},
	{Planes: 3, Axes: []PoolingAxis{{In: 112, Out: 56, Taps: 3, Stride: 2, Dilation: 1, Pad: 1, PadEnd: 1}, {In: 113, Out: 57, Taps: 3, Stride: 2, Dilation: 1, Pad: 1, PadEnd: 1}}},
	{Planes: 2, Axes: []PoolingAxis{{In: 8, Out: 8, Taps: 3, Stride: 1, Dilation: 1, Pad: 1, PadEnd: 1}, {In: 70, Out: 70, Taps: 5, Stride: 1, Dilation: 1, Pad: 2, PadEnd: 2}}},
	{Planes: 1, Axes: []PoolingAxis{{In: 5, Out: 1, Taps: 5, Stride: 1, Dilation: 1}, {In: 40, Out: 11, Taps: 7, Stride: 3, Dilation: 1}}},
	{Planes: 2, Axes: []PoolingAxis{{In: 6, Out: 5, Taps: 2, Stride: 1, Dilation: 1}, {In: 20, Out: 20, Taps: 5, Stride: 1, Dilation: 3, Pad: 6, PadEnd: 6}, {In: 33, Out: 16, Taps: 2, Stride: 2, Dilation: 2, Pad: 1, PadEnd: 0}}},
	{Planes: 1, Axes: []PoolingAxis{{In: 20, Out: 2, Taps: 19, Stride: 1, Dilation: 1}, {In: 18, Out: 1, Taps: 18, Stride: 4, Dilation: 1}}},
	{Planes: 2, Axes: []PoolingAxis{{In: 30, Out: 91, Taps: 140, Stride: 2, Dilation: 1, Pad: 150, PadEnd: 139}}},
	{Planes: 2, Axes: []PoolingAxis{{In: 30, Out: 320, Taps: 2, Stride: 1, Dilation: 9, Pad: 100, PadEnd: 199}}},
	{Planes: 1, Axes: []PoolingAxis{{In: 3, Out: 7, Taps: 2, Stride: 1, Dilation: 1, Pad: 2, PadEnd: 3}, {In: 2, Out: 8, Taps: 3, Stride: 1, Dilation: 1, Pad: 4, PadEnd: 4}}},
}

func TestPoolingVariants(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for i, p := range poolings {
		in, out := p.Planes, p.Planes
		for _, a := range p.Axes {
			in, out = in*a.In, out*a.Out
		}
		x := randomFloats(r, in)
		for _, mode := range []struct{ max, countPad bool }{{true, false}, {false, false}, {false, true}} {
			p.Max, p.CountPad = mode.max, mode.countPad
			run := func(rows, cols Kernel, pool *Pool, to []float32) {
				scratch := make([]float32, p.Scratch(pool))
				for i := range scratch {
					scratch[i] = nan32
				}
				PoolingF32(rows, cols, pool, x, &p, scratch, to)
			}
			rows, cols := scalarOf(t, "f32_pooling_rows"), scalarOf(t, "f32_pooling_cols")
			checkVariants(t, "f32_pooling_rows", fmt.Sprint(i, mode), out, 1e-6, 1e-6, func(k Kernel, pool *Pool, to []float32) {
				run(k, cols, pool, to)
			})
			checkVariants(t, "f32_pooling_cols", fmt.Sprint(i, mode), out, 1e-6, 1e-6, func(k Kernel, pool *Pool, to []float32) {
				run(rows, k, pool, to)
			})
		}
	}
}

func TestPoolingSpecial(t *testing.T) {
	for _, c := range []struct {
		name string
		x    []float32
	}{
		{"NaN is passed over", []float32{nan32, 1, nan32, nan32, 2, 3, 4, 5, nan32, nan32}},
		{"infinities", []float32{inf32, -inf32, -inf32, -inf32, 1, 2, 3, inf32, 4, 5}},
	} {
		p := Pooling{Planes: 1, Axes: []PoolingAxis{{In: len(c.x), Out: len(c.x) - 2, Taps: 3, Stride: 1, Dilation: 1}}, Max: true}
		rows := scalarOf(t, "f32_pooling_rows")
		checkVariants(t, "f32_pooling_cols", c.name, len(c.x)-2, 0, 0, func(k Kernel, pool *Pool, to []float32) {
			PoolingF32(rows, k, pool, c.x, &p, make([]float32, p.Scratch(pool)), to)
		})
		cols := scalarOf(t, "f32_pooling_cols")
		checkVariants(t, "f32_pooling_rows", c.name, len(c.x)-2, 0, 0, func(k Kernel, pool *Pool, to []float32) {
			PoolingF32(k, cols, pool, c.x, &p, make([]float32, p.Scratch(pool)), to)
		})
	}
}
