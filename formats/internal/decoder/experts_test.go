package decoder_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/decoder"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestSigmoid compares experts that are weighted by sigmoids with loops.
func TestSigmoid(t *testing.T) {
	const n, vocab, experts, width = 6, 11, 3, 4
	w := &weights{Rand: rand.New(rand.NewPCG(1, 5))}
	matrix := func(dims ...int) decoder.Matrix { return decoder.Matrix{Weight: w.init(dims...)} }
	conv := &decoder.ShortConv{In: matrix(3*n, n), Out: matrix(n, n), Taps: w.init(n, 2)}
	clear(tensor.View[float32](conv.Out.Weight.Tensor))
	e := &decoder.Experts{Router: matrix(experts, n), Chosen: experts, Normalized: true, Sigmoid: true,
		Gate: matrix(experts, width, n), Up: matrix(experts, width, n), Down: matrix(experts, n, width)}
	c := &decoder.Config{Hidden: n, Vocab: vocab, Heads: 1, KVHeads: 1, HeadDim: n, Epsilon: 1e-5, Embedding: w.init(vocab, n), Final: w.norm(n), Head: matrix(vocab, n),
		Layers: []decoder.Layer{{BeforeAttention: w.norm(n), Conv: conv, BeforeMLP: w.norm(n), Experts: e}}}
	of := func(m decoder.Matrix, i int) *graph.Initializer {
		size := m.Weight.Tensor.Len() / experts
		part := tensor.New(tensor.F32, size)
		copy(tensor.View[float32](part), tensor.View[float32](m.Weight.Tensor)[i*size:])
		return &graph.Initializer{Tensor: part}
	}
	ids := []int64{3, 1, 4, 1, 5, 9, 2, 6}
	var want []float32
	for _, id := range ids {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(tensor.View[float32](c.Embedding.Tensor)[int(id)*n+i])
		}
		in := rms(c.Layers[0].BeforeMLP, x)
		share, sum := product(e.Router.Weight, in), 0.0
		for i, v := range share {
			share[i] = 1 / (1 + math.Exp(-v))
			sum += share[i]
		}
		for i := range experts {
			gate, up := product(of(e.Gate, i), in), product(of(e.Up, i), in)
			for k, g := range gate {
				up[k] *= g / (1 + math.Exp(-g))
			}
			for k, v := range product(of(e.Down, i), up) {
				x[k] += v * share[i] / sum
			}
		}
		for _, v := range product(c.Head.Weight, rms(c.Final, x)) {
			want = append(want, float32(v))
		}
	}
	if got := run(t, session(t, model(c), runtime.Options{Threads: 1}), 1, ids...); !closeTo(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
