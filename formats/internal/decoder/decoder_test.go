package decoder_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/decoder"
	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// weights makes constants of random numbers.
type weights struct {
	*rand.Rand
	count int
	inOut bool
}

func (w *weights) init(dims ...int) *graph.Initializer {
	t := tensor.New(tensor.F32, dims...)
	for i := range tensor.View[float32](t) {
		tensor.View[float32](t)[i] = float32(w.NormFloat64()) / 4
	}
	w.count++
	return &graph.Initializer{Name: fmt.Sprintf("w%d", w.count), Tensor: t}
}

func (w *weights) norm(n int) decoder.Norm { return decoder.Norm{Weight: w.init(n)} }

func (w *weights) matrix(in, out int) decoder.Matrix {
	if w.inOut {
		return decoder.Matrix{Weight: w.init(in, out), InOut: true}
	}
	return decoder.Matrix{Weight: w.init(out, in), Bias: w.init(out)}
}

// rope returns a rotation of pairs pairs.
func rope(pairs int) *decoder.Rope {
	r := &decoder.Rope{}
	for i := range pairs {
		r.Frequencies = append(r.Frequencies, float32(math.Pow(100, -float64(i)/float64(pairs))))
	}
	return r
}

// small returns a decoder of two layers. With inOut its matrices are [in,out].
func small(inOut bool) *decoder.Config {
	w := &weights{Rand: rand.New(rand.NewPCG(1, 2)), inOut: inOut}
	c := &decoder.Config{Hidden: 12, Vocab: 11, Heads: 4, KVHeads: 2, HeadDim: 8, Epsilon: 1e-5, Embedding: w.init(11, 12), Final: w.norm(12), Head: w.matrix(12, 11)}
	r := rope(4)
	for range 2 {
		c.Layers = append(c.Layers, decoder.Layer{
			BeforeAttention: w.norm(12), BeforeMLP: w.norm(12), Q: w.matrix(12, 32), K: w.matrix(12, 16), V: w.matrix(12, 16), O: w.matrix(32, 12),
			Gate: w.matrix(12, 20), Up: w.matrix(12, 20), Down: w.matrix(20, 12), Rope: r,
		})
	}
	return c
}

var variants = []struct {
	name   string
	change func(c *decoder.Config)
}{
	{"plain", func(*decoder.Config) {}},
	{"window", func(c *decoder.Config) { c.Layers[1].Window = 3 }},
	{"no rope", func(c *decoder.Config) { c.Layers[0].Rope = nil }},
	{"part of a head", func(c *decoder.Config) { c.Layers[0].Rope = rope(2); c.Layers[0].Rope.Interleaved = true }},
	{"caps and factors", func(c *decoder.Config) {
		c.AttentionCap, c.LogitCap, c.EmbeddingScale, c.ResidualScale, c.LogitScale, c.Scale = 5, 3, 2, 0.5, 0.25, 0.3
	}},
	{"head norms", func(c *decoder.Config) {
		w := &weights{Rand: rand.New(rand.NewPCG(3, 4)), count: 100}
		c.Layers[0].Query, c.Layers[0].Key = w.norm(8), w.norm(8)
		c.Layers[1].Query, c.Layers[1].Key, c.Layers[1].WideNorms = w.norm(32), w.norm(16), true
		c.Layers[0].AfterAttention, c.Layers[0].AfterMLP, c.UnitOffset = w.norm(12), w.norm(12), true
		c.Layers[1].WithinAttention, c.Layers[1].WithinMLP = w.norm(32), w.norm(20)
	}},
	{"layer norms", func(c *decoder.Config) { c.LayerNorm, c.Activation = true, decoder.GELU }},
	{"no gate", func(c *decoder.Config) { c.Layers[0].Gate, c.Activation = decoder.Matrix{}, decoder.ReLU2 }},
	{"fused", func(c *decoder.Config) {
		w := &weights{Rand: rand.New(rand.NewPCG(5, 6)), count: 100}
		l := &c.Layers[0]
		l.QKV, l.Q, l.K, l.V = w.matrix(12, 64), decoder.Matrix{}, decoder.Matrix{}, decoder.Matrix{}
		l.GateUp, l.Gate, l.Up = w.matrix(12, 40), decoder.Matrix{}, decoder.Matrix{}
		c.Activation = decoder.GELUTanh
	}},
	{"short convolutions", func(c *decoder.Config) {
		w := &weights{Rand: rand.New(rand.NewPCG(9, 10)), count: 100}
		c.Layers[0].Conv = &decoder.ShortConv{In: w.matrix(12, 36), Out: w.matrix(12, 12), Taps: w.init(12, 1, 3)}
		c.Layers = append(c.Layers, c.Layers[0])
		c.Layers[2].Conv = &decoder.ShortConv{In: w.matrix(12, 36), Out: w.matrix(12, 12), Taps: w.init(12, 1)}
	}},
	{"quick", func(c *decoder.Config) { c.Activation = decoder.QuickGELU }},
	{"tied", func(c *decoder.Config) { c.Head = decoder.Matrix{Weight: c.Embedding}; c.Activation = decoder.ReLU }},
}

func model(c *decoder.Config) *graph.Model {
	b := graph.NewBuilder("decoder")
	decoder.Build(b, c)
	return b.Model(&graph.Model{IR: 11, Producer: "test"})
}

// session returns a stream of a new session.
func session(t *testing.T, m *graph.Model, o runtime.Options) byname.Stream {
	t.Helper()
	if err := graph.Validate(m); err != nil {
		t.Fatal(err)
	}
	s, err := byname.New(m, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	st, err := s.NewStream(m.States, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	return st
}

// run runs a stream on tokens and returns the logits.
func run(t *testing.T, st byname.Stream, batch int, ids ...int64) []float32 {
	t.Helper()
	in, err := tensor.From(ids, batch, len(ids)/batch)
	if err != nil {
		t.Fatal(err)
	}
	out, err := st.Run(context.Background(), map[string]tensor.Value{"input_ids": in})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(tensor.View[float32](out["logits"].(*tensor.Tensor)))
}

func closeTo(a, b []float32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if d := math.Abs(float64(a[i] - b[i])); !(d < 1e-4) {
			return false
		}
	}
	return true
}

// TestSteps runs decoders on a prompt at once and in parts.
func TestSteps(t *testing.T) {
	for _, v := range variants {
		for _, inOut := range []bool{false, true} {
			t.Run(fmt.Sprint(v.name, inOut), func(t *testing.T) {
				c := small(inOut)
				v.change(c)
				m := model(c)
				whole := run(t, session(t, m, runtime.Options{Threads: 1}), 1, 3, 1, 4, 1, 5, 9, 2, 6)
				for _, o := range []runtime.Options{{Threads: 1, NoOptimize: true}, {Threads: 2}} {
					st := session(t, m, o)
					parts := run(t, st, 1, 3, 1, 4)
					for _, id := range []int64{1, 5, 9, 2, 6} {
						parts = append(parts, run(t, st, 1, id)...)
					}
					if !closeTo(whole, parts) {
						t.Errorf("%+v: at once %v, in parts %v", o, whole, parts)
					}
				}
			})
		}
	}
}

// TestContext compares a rope whose frequencies follow the tokens of a run with contexts below and
// above the bound, where all runs have the same.
func TestContext(t *testing.T) {
	long := rope(4)
	for i := range long.Frequencies {
		long.Frequencies[i] /= float32(i + 2)
	}
	logits := func(n int, r *decoder.Rope) []float32 {
		c := small(false)
		c.Context = n
		for i := range c.Layers {
			c.Layers[i].Rope = r
		}
		return run(t, session(t, model(c), runtime.Options{Threads: 1}), 1, 3, 1, 4, 1, 5)
	}
	both := rope(4)
	both.Beyond = &decoder.Beyond{Tokens: 8, Frequencies: long.Frequencies}
	plain, changed := logits(0, rope(4)), logits(0, long)
	for n, want := range map[int][]float32{0: plain, 5: plain, 8: plain, 9: changed, 100: changed} {
		if !closeTo(logits(n, both), want) {
			t.Errorf("context %d: other frequencies", n)
		}
	}
	c := small(false)
	c.Context = 5
	st := session(t, model(c), runtime.Options{Threads: 1})
	run(t, st, 1, 3, 1, 4, 1, 5)
	in, err := tensor.From([]int64{1}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Run(context.Background(), map[string]tensor.Value{"input_ids": in}); err == nil {
		t.Error("a run beyond the context has no error")
	}
}
