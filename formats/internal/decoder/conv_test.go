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

// product returns w·x for a matrix of the rows len(x).
func product(w *graph.Initializer, x []float64) []float64 {
	list := tensor.View[float32](w.Tensor)
	out := make([]float64, len(list)/len(x))
	for i := range out {
		for k, v := range x {
			out[i] += float64(list[i*len(x)+k]) * v
		}
	}
	return out
}

// rms returns the norm of x.
func rms(n decoder.Norm, x []float64) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v / math.Sqrt(sum/float64(len(x))+1e-5) * float64(tensor.View[float32](n.Weight.Tensor)[i])
	}
	return out
}

// TestShortConv compares convolutions of several taps with loops, at once and token by token.
func TestShortConv(t *testing.T) {
	const n, vocab = 6, 11
	ids := []int64{3, 1, 4, 1, 5, 9, 2, 6}
	for _, taps := range []int{2, 3, 5, 9} {
		w := &weights{Rand: rand.New(rand.NewPCG(1, uint64(taps)))}
		matrix := func(in, out int) decoder.Matrix { return decoder.Matrix{Weight: w.init(out, in)} }
		conv := &decoder.ShortConv{In: matrix(n, 3*n), Out: matrix(n, n), Taps: w.init(n, taps), Bias: w.init(n)}
		l := decoder.Layer{BeforeAttention: w.norm(n), Conv: conv, BeforeMLP: w.norm(n), Gate: matrix(n, 4), Up: matrix(n, 4), Down: matrix(4, n)}
		clear(tensor.View[float32](l.Down.Weight.Tensor))
		c := &decoder.Config{Hidden: n, Vocab: vocab, Heads: 1, KVHeads: 1, HeadDim: n, Epsilon: 1e-5, Embedding: w.init(vocab, n), Final: w.norm(n), Head: matrix(n, vocab),
			Layers: []decoder.Layer{l}}
		var want []float32
		var gated [][]float64
		for _, id := range ids {
			x := make([]float64, n)
			for i := range x {
				x[i] = float64(tensor.View[float32](c.Embedding.Tensor)[int(id)*n+i])
			}
			parts := product(conv.In.Weight, rms(l.BeforeAttention, x))
			b, gate, v := parts[:n], parts[n:2*n], parts[2*n:]
			row := make([]float64, n)
			for i := range row {
				row[i] = b[i] * v[i]
			}
			gated = append(gated, row)
			y := make([]float64, n)
			for i := range y {
				y[i] = float64(tensor.View[float32](conv.Bias.Tensor)[i])
				for k := range taps {
					if at := len(gated) - taps + k; at >= 0 {
						y[i] += float64(tensor.View[float32](conv.Taps.Tensor)[i*taps+k]) * gated[at][i]
					}
				}
				y[i] *= gate[i]
			}
			for i, v := range product(conv.Out.Weight, y) {
				x[i] += v
			}
			for _, v := range product(c.Head.Weight, rms(c.Final, x)) {
				want = append(want, float32(v))
			}
		}
		m := model(c)
		for _, o := range []runtime.Options{{Threads: 1}, {Threads: 1, NoOptimize: true}} {
			if got := run(t, session(t, m, o), 1, ids...); !closeTo(got, want) {
				t.Errorf("%d taps: %v, want %v", taps, got, want)
			}
			st := session(t, m, o)
			var got []float32
			for _, id := range ids {
				got = append(got, run(t, st, 1, id)...)
			}
			if !closeTo(got, want) {
				t.Errorf("%d taps, token by token: %v, want %v", taps, got, want)
			}
		}
	}
}

// TestOwnNorms gives every head a norm of its own. Factors of queries and their inverses on keys
// leave the logits as they are.
func TestOwnNorms(t *testing.T) {
	for _, layerNorm := range []bool{false, true} {
		var logits [2][]float32
		for own := range logits {
			c := small(false)
			c.KVHeads, c.LayerNorm = c.Heads, layerNorm
			w, spare := &weights{Rand: rand.New(rand.NewPCG(7, 8)), count: 100}, &weights{Rand: rand.New(rand.NewPCG(1, 2)), count: 200}
			for i := range c.Layers {
				l := &c.Layers[i]
				l.K, l.V = w.matrix(12, 32), w.matrix(12, 32)
				l.Query, l.Key = w.norm(8), w.norm(8)
				if own == 1 {
					l.Query, l.Key = rows(spare, l.Query, func(h float32) float32 { return h + 0.5 }), rows(spare, l.Key, func(h float32) float32 { return 1 / (h + 0.5) })
				}
			}
			logits[own] = run(t, session(t, model(c), runtime.Options{Threads: 1}), 1, 3, 1, 4, 1, 5)
		}
		if !closeTo(logits[0], logits[1]) {
			t.Errorf("layerNorm %v: %v, want %v", layerNorm, logits[1], logits[0])
		}
	}
}

// rows returns a norm of four heads: the weight n times the factor of each head.
func rows(w *weights, n decoder.Norm, factor func(head float32) float32) decoder.Norm {
	list := tensor.View[float32](n.Weight.Tensor)
	of := decoder.Norm{Weight: w.init(4, len(list))}
	for i := range tensor.View[float32](of.Weight.Tensor) {
		tensor.View[float32](of.Weight.Tensor)[i] = list[i%len(list)] * factor(float32(i/len(list)))
	}
	return of
}
