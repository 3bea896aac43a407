package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// rotaryCase is a rotation of heads in a batch of 2.
type rotaryCase struct {
	heads, tokens, d, pairs int
	dtype                   tensor.DType
	interleaved, normalised bool
	positions               lower.Positions
}

func (c *rotaryCase) words(t *testing.T, base float64) words {
	t.Helper()
	b := testBinder(t, bindings.DetectISA(), nil, nil)
	h := attention.HeadsSideBySide(graph.DimsOf(tensor.Shape{2, c.tokens, c.heads * c.d}), graph.Known(0), c.heads,
		graph.Known(c.d))
	x := lower.Heads{HeadRows: h, DType: c.dtype}
	tables := lower.Value{DType: c.dtype, Dims: graph.Dims{graph.Known(2*c.tokens + 5), graph.Known(c.pairs)}}
	r := &lower.Rotation{X: &x, Cos: tables, Sin: tables, Pairs: graph.Known(c.pairs), Interleaved: c.interleaved,
		Norm: lower.Value{DType: c.dtype}, Epsilon: 1e-3, Positions: c.positions, Index: lower.Value{DType: tensor.I64},
		Base: base, Past: graph.Known(2)}
	return wordsOf(t, b, func() error { return b.rotate(r, x) })
}

// position returns the position of a token.
func (c *rotaryCase) position(b, token int, index []int64) int {
	switch c.positions {
	case lower.PositionsOfTokens:
		return b*c.tokens + token
	case lower.PositionsGiven:
		return int(index[b*c.tokens+token])
	case lower.PositionsFrom:
		return int(index[0]) + token
	}
	if index == nil {
		return 2 + token
	}
	return int(index[b]) + token
}

// want returns the rotated heads of x.
func (c *rotaryCase) want(x, cos, sin, norm []float64, index []int64) []float64 {
	out := make([]float64, len(x))
	for row := range 2 * c.tokens * c.heads {
		b, token := row/c.heads/c.tokens, row/c.heads%c.tokens
		head, to := append([]float64(nil), x[row*c.d:][:c.d]...), out[row*c.d:][:c.d]
		if norm != nil {
			sum := 0.0
			for _, v := range head {
				sum += v * v
			}
			for i := range head {
				head[i] *= norm[i] / math.Sqrt(sum/float64(c.d)+1e-3)
			}
		}
		copy(to, head)
		at := c.position(b, token, index) * c.pairs
		for i := range c.pairs {
			p, q := i, c.pairs+i
			if c.interleaved {
				p, q = 2*i, 2*i+1
			}
			to[p] = cos[at+i]*head[p] - sin[at+i]*head[q]
			to[q] = sin[at+i]*head[p] + cos[at+i]*head[q]
		}
	}
	return out
}

func TestRotary(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(41, 42))
	for i, pairs := range []int{1, 3, 8, 17, 64} {
		for _, kind := range floatKinds {
			c := rotaryCase{heads: 3, tokens: 4, d: 2*pairs + 3, pairs: pairs, dtype: kind.t, positions: lower.Positions(i % 4),
				interleaved: i%2 == 1, normalised: i > 2}
			rows := 2*c.tokens + 5
			x, cos, sin := quarters(r, 2*c.tokens*c.heads*c.d), quarters(r, rows*pairs), quarters(r, rows*pairs)
			index := make([]int64, 2*c.tokens)
			for j := range index {
				index[j] = int64(r.IntN(rows - c.tokens))
			}
			operands := [][]byte{stored(kind.t, x), stored(kind.t, cos), stored(kind.t, sin), int64Bytes(index...), nil, nil}
			var norm []float64
			if c.normalised {
				norm = quarters(r, c.d)
				operands[4] = stored(kind.t, norm)
			}
			w, what := c.words(t, 0), fmt.Sprintf("%+v", c)
			outs := []output{{at: 5, dtype: kind.t, n: len(x), over: true}}
			checkVariants(t, "f32_rotary", what, w, pool, 0, 0, outs, operands...)
			want := c.want(x, cos, sin, norm, index)
			got := runOutputs(t, runnable(t, "f32_rotary")[0], w, pool, []output{{at: 5, dtype: kind.t, n: len(x)}}, operands...)
			if at := differ(got, want, 1e-4, 1e-5+2*kind.relative); at >= 0 {
				t.Fatalf("%s: element %d is %v, not %v", what, at, got[at], want[at])
			}
		}
	}
}

// TestRotaryBase computes angles from a base, and checks that positions beyond the caches fail.
func TestRotaryBase(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(43, 44))
	c := rotaryCase{heads: 2, tokens: 5, d: 8, pairs: 4, dtype: tensor.F32, positions: lower.PositionsOfBatches}
	x := quarters(r, 2*c.tokens*c.heads*c.d)
	var cos, sin []float64
	for p := range 2*c.tokens + 5 {
		for i := range c.pairs {
			angle := float64(p) / math.Pow(10000, float64(i)/float64(c.pairs))
			cos, sin = append(cos, math.Cos(angle)), append(sin, math.Sin(angle))
		}
	}
	k := runnable(t, "f32_rotary")[0]
	got := runOutputs(t, k, c.words(t, 10000), pool, []output{{at: 5, dtype: tensor.F32, n: len(x)}},
		stored(tensor.F32, x), nil, nil, nil, nil, nil)
	if i := differ(got, c.want(x, cos, sin, nil, nil), 1e-5, 1e-5); i >= 0 {
		t.Errorf("element %d is %v", i, got[i])
	}
	c.positions = lower.PositionsFrom
	for _, first := range []int64{-1, 11} {
		y := stored(tensor.F32, x)
		if _, failed := runCommand(t, k, c.words(t, 0), pool, y, stored(tensor.F32, cos), stored(tensor.F32, sin),
			int64Bytes(first), nil, y); !failed {
			t.Errorf("positions from %d on do not fail", first)
		}
	}
}

func TestLinearAttention(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(45, 46))
	for _, heads := range [][2]int{{4, 2}, {2, 4}, {1, 1}} {
		for _, size := range [][2]int{{1, 1}, {4, 7}, {9, 16}, {5, 35}} {
			for _, kind := range floatKinds {
				for _, window := range []int{0, 3, 6} {
					c := linearCase{heads: heads[0], kvHeads: heads[1], dk: size[0], dv: size[1], dtype: kind.t, window: window}
					c.check(t, r, pool)
				}
			}
		}
	}
}

// linearCase is linear attention over a batch of 2 and 4 tokens.
type linearCase struct {
	heads, kvHeads, dk, dv, window int
	dtype                          tensor.DType
}

func (c *linearCase) check(t *testing.T, r *rand.Rand, pool *bindings.Pool) {
	t.Helper()
	const batch, tokens = 2, 4
	attrs := []*graph.Attr{{Name: "q_num_heads", Kind: graph.AttrInt, Int: int64(c.heads)}, {Name: "kv_num_heads", Kind: graph.AttrInt, Int: int64(c.kvHeads)},
		{Name: "state_window", Kind: graph.AttrInt, Int: int64(c.window)}}
	n := &graph.Node{Domain: "com.microsoft", Op: "LinearAttention", Version: 1, Attrs: attrs,
		Inputs: []string{"q", "k", "v", "past", "decay", "beta"}, Outputs: []string{"y", "present"}}
	o, _, err := standard.Registry().New(n)
	if err != nil {
		t.Fatal(err)
	}
	state := []int{batch, c.kvHeads, c.dk, c.dv}
	if c.window > 0 {
		state = append([]int{c.window}, state...)
	}
	shapes := [][]int{{batch, tokens, c.heads * c.dk}, {batch, tokens, c.kvHeads * c.dk}, {batch, tokens, c.kvHeads * c.dv}, state,
		{batch, tokens, c.kvHeads * c.dk}, {batch, tokens, c.kvHeads}}
	var in []*op.Value
	var operands [][]byte
	for i, s := range shapes {
		in = append(in, valueOf(c.dtype, s...))
		list := attentionNormals(r, volume(s))
		for j := range list {
			if list[j] *= 0.3; i == 4 {
				list[j] = -math.Abs(list[j])
			}
		}
		operands = append(operands, stored(c.dtype, list))
	}
	y := []int{batch, tokens, max(c.heads, c.kvHeads) * c.dv}
	b := testBinder(t, bindings.DetectISA(), in, []*op.Value{valueOf(c.dtype, y...), valueOf(c.dtype, state...)})
	w := wordsOf(t, b, func() error { return bindLinearAttention(o.(*attention.LinearAttention), b) })
	relative := 1e-4
	if c.dtype != tensor.F32 {
		relative = 1.0 / 32
	}
	outs := []output{{at: 6, dtype: c.dtype, n: volume(y)}, {at: 7, dtype: c.dtype, n: volume(state)}}
	checkVariants(t, "f32_linear_attention", fmt.Sprintf("%+v", *c), w, pool, relative, relative, outs,
		append(operands, nil, nil)...)
	// The state is updated in place.
	k := runnable(t, "f32_linear_attention")[0]
	apart := runOutputs(t, k, w, pool, outs, append(operands, nil, nil)...)
	out := make([]byte, c.dtype.Bytes(volume(y)))
	present := stored(c.dtype, loaded(c.dtype, operands[3]))
	if f, failed := runCommand(t, k, w, pool, operands[0], operands[1], operands[2], present, operands[4], operands[5],
		out, present); failed {
		t.Fatal(failure(f))
	}
	if i := differ(append(loaded(c.dtype, out), loaded(c.dtype, present)...), apart, 0, 0); i >= 0 {
		t.Fatalf("%+v in place: element %d is not %v", *c, i, apart[i])
	}
}

func TestCausalConv(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(47, 48))
	for _, n := range []int{1, 3, 16, 37, 5000} {
		for _, taps := range []int{1, 4} {
			for i, kind := range floatKinds {
				const batch, channels, step = 2, 3, 2
				before := (taps - 1) * step
				in := []*op.Value{valueOf(kind.t, batch, channels, n), valueOf(kind.t, channels, 1, taps)}
				b := testBinder(t, bindings.DetectISA(), in, []*op.Value{valueOf(kind.t, batch, channels, n)})
				o := &attention.CausalConv{Dilation: step, SiLU: i > 0}
				w := wordsOf(t, b, func() error { return bindCausalConv(o, b) })
				x, weights, bias, past := quarters(r, batch*channels*n), quarters(r, channels*taps), quarters(r, channels),
					quarters(r, batch*channels*before)
				operands := [][]byte{stored(kind.t, x), stored(kind.t, weights), stored(kind.t, bias), stored(kind.t, past), nil,
					nil}
				outs := []output{{at: 4, dtype: kind.t, n: len(x)}, {at: 5, dtype: kind.t, n: len(past)}}
				what := fmt.Sprint(kind.t, " n ", n, " taps ", taps)
				checkVariants(t, "f32_causal_conv", what, w, pool, 1e-5, 1e-5+2*kind.relative, outs, operands...)
				got := runOutputs(t, runnable(t, "f32_causal_conv")[0], w, pool, outs, operands...)
				y, present := causalWant(x, weights, bias, past, batch*channels, channels, n, taps, step, o.SiLU)
				if at := differ(got, append(y, present...), 1e-4, 1e-4+2*kind.relative); at >= 0 {
					t.Fatalf("%s: element %d is %v", what, at, got[at])
				}
				k, state := runnable(t, "f32_causal_conv")[0], stored(kind.t, past)
				out := make([]byte, kind.t.Bytes(len(x)))
				if f, failed := runCommand(t, k, w, pool, operands[0], operands[1], operands[2], state, out, state); failed {
					t.Fatal(failure(f))
				}
				if at := differ(append(loaded(kind.t, out), loaded(kind.t, state)...), got, 0, 0); at >= 0 {
					t.Fatalf("%s in place: element %d is not %v", what, at, got[at])
				}
			}
		}
	}
}

// causalWant returns the outputs of a causal convolution of rows of n elements.
func causalWant(x, w, bias, past []float64, rows, channels, n, taps, step int, silu bool) (y, present []float64) {
	before := (taps - 1) * step
	for row := range rows {
		line := append(append([]float64(nil), past[row*before:][:before]...), x[row*n:][:n]...)
		for t := range n {
			sum := bias[row%channels]
			for j := range taps {
				sum += w[row%channels*taps+j] * line[t+j*step]
			}
			if silu {
				sum /= 1 + math.Exp(-sum)
			}
			y = append(y, sum)
		}
		present = append(present, line[n:]...)
	}
	return y, present
}
