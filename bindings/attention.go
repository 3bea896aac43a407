//go:build cgo

package bindings

/*
#include "attention/attention.h"

// Go memory may not hold pointers to Go memory that C looks at, so the pointers
// come as arguments and meet the sizes here.
static inline size_t attention_scratch(nacre_attention *a, int has_qk, size_t threads) {
    nacre_attention job = *a;
    float qk;
    job.qk = has_qk ? &qk : NULL;
    return nacre_attention_scratch(&job, threads);
}

static inline void attention_run(nacre_attention *a, nacre_team *pool, const void *q, const void *k, const void *v, float *out,
                                 const float *bias, const int64_t *first, const int64_t *valid, const float *sink, float *qk,
                                 float *scratch) {
    nacre_attention job = *a;
    job.q.data = q;
    job.k.data = k;
    job.v.data = v;
    job.out = out;
    job.bias = bias;
    job.first = first;
    job.valid = valid;
    job.sink = sink;
    job.qk = qk;
    nacre_attention_run(&job, pool, scratch);
}

static inline void rotary_run(nacre_rotary *r, nacre_team *pool, const float *cos, const float *sin, const int64_t *index,
                              const float *x, float *out) {
    nacre_rotary job = *r;
    job.cos = cos;
    job.sin = sin;
    job.index = index;
    nacre_rotary_run(&job, pool, x, out);
}

static inline void linear_attention_run(nacre_linear_attention *a, nacre_team *pool, const float *q, const float *k, const float *v,
                                        const float *decay, const float *beta, float *state, float *slots, float *out,
                                        float *scratch) {
    nacre_linear_attention job = *a;
    job.q = q;
    job.k = k;
    job.v = v;
    job.decay = decay;
    job.beta = beta;
    job.state = state;
    job.slots = slots;
    job.out = out;
    nacre_linear_attention_run(&job, pool, scratch);
}

static inline void causal_conv_run(nacre_causal_conv *c, nacre_team *pool, const float *x, const float *w, const float *bias,
                                   const float *past, float *out, float *present, float *scratch) {
    nacre_causal_conv job = *c;
    job.x = x;
    job.w = w;
    job.bias = bias;
    job.past = past;
    job.out = out;
    job.present = present;
    nacre_causal_conv_run(&job, pool, scratch);
}

static inline void attention_kernels(nacre_attention *a, nacre_fn gemm, nacre_fn attend, nacre_fn tanh) {
    a->gemm = ((nacre_f32_gemm_fn *)gemm)();
    a->attend = (nacre_f32_attend_fn *)attend;
    a->tanh = (nacre_unary_fn)tanh;
}

#cgo noescape attention_scratch
#cgo nocallback attention_scratch
#cgo noescape attention_kernels
#cgo nocallback attention_kernels
#cgo noescape attention_run
#cgo nocallback attention_run
#cgo noescape rotary_run
#cgo nocallback rotary_run
#cgo noescape linear_attention_run
#cgo nocallback linear_attention_run
#cgo noescape causal_conv_run
#cgo nocallback causal_conv_run
*/
import "C"

import "unsafe"

func attentionFamily() []Kernel {
	var n C.size_t
	return family(C.nacre_attention_kernels(&n), n)
}

func (r AttentionRows) c() C.nacre_attention_rows {
	return C.nacre_attention_rows{_type: C.nacre_float_type(r.Type), batch: C.size_t(r.Batch), head: C.size_t(r.Head), row: C.size_t(r.Row)}
}

func (a *Attention) c() C.nacre_attention {
	c := C.nacre_attention{
		batch: C.size_t(a.Batch), heads: C.size_t(a.Heads), kv_heads: C.size_t(a.KVHeads),
		q_len: C.size_t(a.QLen), kv_len: C.size_t(a.KVLen), d: C.size_t(a.D), dv: C.size_t(a.DV),
		q: a.Q.c(), k: a.K.c(), v: a.V.c(),
		out_batch: C.size_t(a.OutBatch), out_head: C.size_t(a.OutHead), out_row: C.size_t(a.OutRow),
		scale: C.float(a.Scale), cap: C.float(a.Cap),
		bias_batch: C.size_t(a.BiasBatch), bias_head: C.size_t(a.BiasHead), bias_row: C.size_t(a.BiasRow), bias_cols: C.size_t(a.BiasCols),
		causal: C.bool(a.Causal), window: C.size_t(a.Window), qk_stage: C.int(a.QKStage),
	}
	var tanh C.nacre_fn
	if a.Tanh.Valid() {
		tanh = a.Tanh.fn()
	}
	C.attention_kernels(&c, a.Gemm.fn(), a.Attend.fn(), tanh)
	return c
}

// Scratch is the number of float32 elements that Run needs as scratch.
func (a *Attention) Scratch(pool *Pool) int {
	c := a.c()
	return int(C.attention_scratch(&c, C.int(cbool(a.QK != nil)), C.size_t(pool.Threads())))
}

// Run computes Out and QK. Scratch lies at a multiple of 64 bytes.
func (a *Attention) Run(pool *Pool, scratch []float32) {
	c := a.c()
	C.attention_run(&c, pool.ptr(), a.Q.Data, a.K.Data, a.V.Data, floats(a.Out), floats(a.Bias), int64s(a.First), int64s(a.Valid),
		floats(a.Sink), floats(a.QK), floats(scratch))
}

func int64s(s []int64) *C.int64_t { return (*C.int64_t)(unsafe.SliceData(s)) }

// Run turns x into out, which may be x.
func (r *Rotary) Run(pool *Pool, x, out []float32) {
	c := C.nacre_rotary{
		rotate: (*C.nacre_f32_rotate_fn)(unsafe.Pointer(r.Kernel.fn())),
		batch:  C.size_t(r.Batch), heads: C.size_t(r.Heads), tokens: C.size_t(r.Tokens), d: C.size_t(r.D), pairs: C.size_t(r.Pairs),
		x_batch: C.size_t(r.XBatch), x_head: C.size_t(r.XHead), x_row: C.size_t(r.XRow),
		out_batch: C.size_t(r.OutBatch), out_head: C.size_t(r.OutHead), out_row: C.size_t(r.OutRow),
		interleaved: C.bool(r.Interleaved), index_batch: C.size_t(r.IndexBatch), index_row: C.size_t(r.IndexRow),
	}
	C.rotary_run(&c, pool.ptr(), floats(r.Cos), floats(r.Sin), int64s(r.Index), floats(x), floats(out))
}

// Run computes Out and updates State. Scratch has DK elements per thread.
func (a *LinearAttention) Run(pool *Pool, scratch []float32) {
	c := C.nacre_linear_attention{
		recur: (*C.nacre_f32_recur_fn)(unsafe.Pointer(a.Kernel.fn())),
		batch: C.size_t(a.Batch), tokens: C.size_t(a.Tokens), heads: C.size_t(a.Heads), kv_heads: C.size_t(a.KVHeads),
		dk: C.size_t(a.DK), dv: C.size_t(a.DV), decay_cols: C.size_t(a.DecayCols), beta_cols: C.size_t(a.BetaCols),
		scale: C.float(a.Scale), window: C.size_t(a.Window),
	}
	C.linear_attention_run(&c, pool.ptr(), floats(a.Q), floats(a.K), floats(a.V), floats(a.Decay), floats(a.Beta), floats(a.State),
		floats(a.Slots), floats(a.Out), floats(scratch))
}

// Run computes Out and Present. Scratch has 2*(Taps-1)*Step elements per thread.
func (c *CausalConv) Run(pool *Pool, scratch []float32) {
	job := C.nacre_causal_conv{
		conv:  (*C.nacre_f32_causal_conv_fn)(unsafe.Pointer(c.Kernel.fn())),
		batch: C.size_t(c.Batch), channels: C.size_t(c.Channels), n: C.size_t(c.N), taps: C.size_t(c.Taps), step: C.size_t(c.Step),
		silu: C.bool(c.SiLU),
	}
	C.causal_conv_run(&job, pool.ptr(), floats(c.X), floats(c.W), floats(c.Bias), floats(c.Past), floats(c.Out), floats(c.Present), floats(scratch))
}
