package bindings

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// attentionCase is an Attention with operands of random floats.
func attentionCase(r *rand.Rand, heads, kvHeads, queries, keys, d, dv int) *Attention {
	const batch = 2
	rows := func(heads, n, d int) AttentionRows {
		list := randomFloats(r, batch*heads*n*d+1)[1:] // not aligned to more than an element
		return AttentionRows{Data: unsafe.Pointer(unsafe.SliceData(list)), Batch: heads * n * d, Head: n * d, Row: d}
	}
	a := &Attention{
		Batch: batch, Heads: heads, KVHeads: kvHeads, QLen: queries, KVLen: keys, D: d, DV: dv,
		Q: rows(heads, queries, d), K: rows(kvHeads, keys, d), V: rows(kvHeads, keys, dv),
		OutBatch: queries * heads * dv, OutHead: dv, OutRow: heads * dv,
		Scale: 0.3, QKStage: QKNone, First: []int64{0, int64(keys - queries)}, Valid: []int64{int64(keys), int64(keys - keys/3)},
	}
	return a
}

// TestAttentionVariants runs whole attentions with each kernel of each op that
// they are made of.
func TestAttentionVariants(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for _, s := range [][6]int{{4, 2, 1, 9, 8, 5}, {4, 2, 3, 1100, 33, 17}, {2, 2, 40, 70, 16, 33}, {2, 1, 61, 1300, 20, 8}, {1, 1, 5, 1, 1, 1}} {
		for _, causal := range []bool{false, true} {
			for _, limit := range []float32{0, 5} {
				a := attentionCase(r, s[0], s[1], s[2], s[3], s[4], s[5])
				a.Causal, a.Cap = causal, limit
				a.Bias = randomFloats(r, s[2]*s[3])
				a.BiasRow, a.BiasCols = s[3], s[3]
				if causal {
					a.Sink, a.Window = randomFloats(r, s[0]), 1000
				}
				kernels := map[string]*Kernel{"f32_gemm": &a.Gemm, "f32_attend": &a.Attend, "f32_tanh": &a.Tanh}
				for op, to := range kernels {
					for name, k := range kernels {
						*k = scalarOf(t, name)
					}
					// Scores of 40 are sums of products of 3 with an error of an ulp each.
					checkVariants(t, op, fmt.Sprint(s, causal, limit), 2*s[0]*s[2]*s[5], 2e-4, 1e-4, func(k Kernel, p *Pool, out []float32) {
						*to, a.Out = k, out
						scratch := make([]float32, a.Scratch(p))
						a.Run(p, scratch)
					})
				}
			}
		}
	}
}

func TestRotateVariants(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for _, pairs := range []int{1, 3, 8, 17, 64} {
		d := 2*pairs + 3
		x, cos, sin := randomFloats(r, 6*d), randomFloats(r, 4*pairs), randomFloats(r, 4*pairs)
		for _, interleaved := range []bool{false, true} {
			checkVariants(t, "f32_rotate", fmt.Sprint(pairs, interleaved), 6*d, 0, 0, func(k Kernel, p *Pool, out []float32) {
				rot := Rotary{Kernel: k, Batch: 1, Heads: 2, Tokens: 3, D: d, Pairs: pairs, XHead: d, XRow: 2 * d, OutHead: d, OutRow: 2 * d,
					Interleaved: interleaved, Cos: cos, Sin: sin, Index: []int64{3, 0, 2}, IndexRow: 1}
				rot.Run(p, x, out)
			})
		}
	}
}

func TestRecurVariants(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	for _, dv := range []int{1, 7, 16, 35} {
		for _, dk := range []int{1, 4, 9} {
			const tokens, kvHeads, heads = 4, 2, 4
			q, k, v := randomFloats(r, tokens*heads*dk), randomFloats(r, tokens*kvHeads*dk), randomFloats(r, tokens*kvHeads*dv)
			decay, beta, start := randomFloats(r, tokens*kvHeads*dk), randomFloats(r, tokens*kvHeads), randomFloats(r, kvHeads*dk*dv)
			for i := range k {
				k[i] *= 0.2
			}
			for i := range decay {
				decay[i] = -decay[i] * decay[i]
			}
			checkVariants(t, "f32_recur", fmt.Sprint(dk, dv), tokens*heads*dv, 1e-4, 1e-4, func(kernel Kernel, p *Pool, out []float32) {
				a := LinearAttention{Kernel: kernel, Batch: 1, Tokens: tokens, Heads: heads, KVHeads: kvHeads, DK: dk, DV: dv, Q: q, K: k, V: v,
					Decay: decay, DecayCols: kvHeads * dk, Beta: beta, BetaCols: kvHeads, Scale: 0.5, State: append([]float32{}, start...), Out: out}
				a.Run(p, make([]float32, dk*p.Threads()))
			})
		}
	}
}

func TestCausalConvVariants(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	for _, n := range []int{1, 3, 16, 37} {
		for _, taps := range []int{1, 4} {
			const channels, step = 5, 2
			before := (taps - 1) * step
			x, w, bias, past := randomFloats(r, channels*n), randomFloats(r, channels*taps), randomFloats(r, channels), randomFloats(r, channels*before)
			for _, silu := range []bool{false, true} {
				checkVariants(t, "f32_causal_conv", fmt.Sprint(n, taps, silu), channels*n, 1e-5, 1e-5, func(k Kernel, p *Pool, out []float32) {
					c := CausalConv{Kernel: k, Batch: 1, Channels: channels, N: n, Taps: taps, Step: step, X: x, W: w, Bias: bias, Past: past, SiLU: silu, Out: out}
					c.Run(p, make([]float32, 2*before*p.Threads()))
				})
			}
		}
	}
}
