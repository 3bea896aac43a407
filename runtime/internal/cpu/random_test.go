package cpu

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// streamLengths are lengths of random streams: none, part of a block, several chunks.
var streamLengths = []int{0, 1, 2, 255, 256, 257, 40001}

// TestRandomFill compares streams to Go: uniform numbers bit by bit, normal ones up to the rounding
// of functions. All variants make the same bits.
func TestRandomFill(t *testing.T) {
	t.Parallel()
	pool := testPool(t)
	for _, o := range []*array.RandomFill{{A: 0, B: 1}, {A: -3, B: 5}, {Normal: true, A: 0, B: 1},
		{Normal: true, A: 2, B: 0.5}} {
		o.RandomSource = array.RandomSource{Seed: 0x9d2c5680_41c64e6d, Seeded: true}
		for _, n := range streamLengths {
			want := tensor.New(tensor.F64, n)
			if err := o.Run(&op.Run{Out: []*tensor.Tensor{want}}); err != nil {
				t.Fatal(err)
			}
			var first []byte
			for _, k := range runnable(t, "random_fill") {
				got := runGuarded(t, k, randomFillWords(graph.Known(n), o.Seed, o, randomStorage{bytes: 8}), pool, 8*n, 8)
				if first == nil {
					first = got
				}
				if !bytes.Equal(got, first) {
					t.Errorf("%s/%s: other bits than the best variant", k.Op(), k.Variant())
				}
				near := 0.0
				if o.Normal {
					near = 1e-14
				}
				if i := differ(viewAs[float64](got), tensor.View[float64](want), near, near); i >= 0 {
					t.Errorf("%s/%s: number %d of %d is %v, want %v", k.Op(), k.Variant(), i, n, viewAs[float64](got)[i],
						tensor.View[float64](want)[i])
				}
			}
		}
	}
}

// TestRandomTypes draws elements of every type that kernels write, with a seed and chances at the
// ends, and compares them to Go.
func TestRandomTypes(t *testing.T) {
	t.Parallel()
	pool, r := testPool(t), rand.New(rand.NewPCG(5, 9))
	b := &binder{dev: &Device{isa: runnable(t, "random_fill")[0].ISA()}}
	const n = 20000 // some are halfway between two 16-bit elements once they are float32
	for _, d := range kernelTypes() {
		y := b.fromDoubles(d)
		if b.failed != nil {
			t.Fatal(b.failed)
		}
		want := tensor.New(d, n)
		if d.IsFloat() {
			o := &array.RandomFill{RandomSource: array.RandomSource{Seed: 77, Seeded: true}, A: -1, B: 1}
			if err := o.Run(&op.Run{Out: []*tensor.Tensor{want}}); err != nil {
				t.Fatal(err)
			}
			for _, k := range runnable(t, "random_fill") {
				if got := runGuarded(t, k, randomFillWords(graph.Known(n), o.Seed, o, y), pool, d.Bytes(n),
					d.Bytes(1)); !bytes.Equal(got, want.Bytes()) {
					t.Errorf("%s/%s: %v elements differ from those in Go", k.Op(), k.Variant(), d)
				}
			}
		}
		for _, from := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16} {
			list := make([]float64, n)
			for i := range list {
				list[i] = r.Float64()
			}
			copy(list, []float64{0, 1, math.NaN(), -1, 2, math.Inf(1)})
			p, err := tensor.FromBytes(from, tensor.Shape{n}, stored(from, list))
			if err != nil {
				t.Fatal(err)
			}
			x := b.toDoubles(from)
			if b.failed != nil {
				t.Fatal(b.failed)
			}
			o := &array.Bernoulli{RandomSource: array.RandomSource{Seed: 78, Seeded: true}}
			if err := o.Run(&op.Run{In: []*tensor.Tensor{p}, Out: []*tensor.Tensor{want}}); err != nil {
				t.Fatal(err)
			}
			for _, k := range runnable(t, "random_bernoulli") {
				if got := runGuarded(t, k, bernoulliWords(graph.Known(n), o.Seed, x, y), pool, d.Bytes(n), d.Bytes(1),
					p.Bytes()); !bytes.Equal(got, want.Bytes()) {
					t.Errorf("%s/%s: %v by chances of %v differ from those in Go", k.Op(), k.Variant(), d, from)
				}
			}
		}
	}
}
