#include <math.h>
#include <string.h>

#include "attention/attention.h"

// The operands of a token as floats, unless they are float32.
typedef struct {
    float *q, *k, *v, *out, *decay, *beta, *state;
} linear_room;

typedef struct {
    const nacre_call *c;
    const nacre_linear_attention_words *w;
    const nacre_half *half;
    size_t queries, out_heads;  // of q per head of the state; of the output
    size_t per_thread;
} linear_job;

static size_t linear_queries(const nacre_linear_attention_words *w) {
    return w->heads > w->kv_heads ? (size_t)(w->heads / w->kv_heads) : 1;
}

static size_t linear_per_thread(const nacre_linear_attention_words *w) {
    const size_t dk = (size_t)w->dk, dv = (size_t)w->dv, n = linear_queries(w);
    return nacre_align_floats(n * (dk + dv) + 2 * dk + dv + dk * dv + 1);
}

static linear_room linear_make_room(const linear_job *j, size_t thread) {
    const size_t dk = (size_t)j->w->dk, dv = (size_t)j->w->dv;
    linear_room r;
    r.q = (float *)j->c->scratch + thread * j->per_thread;
    r.k = r.q + j->queries * dk;
    r.v = r.k + dk;
    r.out = r.v + dv;
    r.decay = r.out + j->queries * dv;
    r.state = r.decay + dk;
    r.beta = r.state + dk * dv;
    return r;
}

static const float *linear_floats(const linear_job *j, size_t operand, int64_t type, size_t at, size_t n, float *wide) {
    const void *const x = nacre_element_at(nacre_operand(j->c, operand), type, (int64_t)at);
    if (type == NACRE_DTYPE_f32) return x;
    j->half->widen[type](x, wide, n);
    return wide;
}

static void linear_token(const linear_job *j, size_t b, size_t h, size_t t, const linear_room *r, float *state) {
    const nacre_linear_attention_words *const w = j->w;
    const size_t at = b * (size_t)w->tokens + t, dk = (size_t)w->dk, dv = (size_t)w->dv, kv_heads = (size_t)w->kv_heads,
        heads = (size_t)w->heads;
    const size_t first = heads > kv_heads ? h * j->queries : h / (kv_heads / heads);
    nacre_linear_attention_token token = {
        .dk = dk, .dv = dv, .queries = j->queries, .q_step = dk, .scale = (float)w->scale,
        .k = linear_floats(j, 1, w->type, (at * kv_heads + h) * dk, dk, r->k),
        .v = linear_floats(j, 2, w->type, (at * kv_heads + h) * dv, dv, r->v),
        .q = linear_floats(j, 0, w->type, (at * heads + first) * dk, j->queries * dk, r->q),
    };
    if (nacre_operand(j->c, 4) != NULL) {
        const size_t n = (size_t)w->decay_cols / kv_heads;
        const float *const decay = linear_floats(j, 4, w->decay_type, at * (size_t)w->decay_cols + h * n, n, r->decay);
        for (size_t d = 0; d < n; d++) r->decay[d] = expf(decay[d]);
        token.decay = r->decay;
        token.decay_step = n > 1;
    }
    if (nacre_operand(j->c, 5) != NULL) {
        token.beta = linear_floats(j, 5, w->beta_type, at * (size_t)w->beta_cols + (w->beta_cols > 1 ? h : 0), 1,
                                   r->beta);
    }
    void *const out = (void *)(uintptr_t)nacre_element_at(nacre_operand(j->c, 6), w->type,
                                                          (int64_t)((at * j->out_heads + h * j->queries) * dv));
    float *const to = w->type == NACRE_DTYPE_f32 ? out : r->out;
    ((nacre_f32_linear_attention_fn *)j->c->kernel->fn)(&token, state, to);
    if (to == r->out) j->half->narrow[w->type](to, out, j->queries * dv);
}

// Returns the state of a head in slot number s of past or present.
static void *linear_slot(const linear_job *j, size_t operand, size_t s, size_t head) {
    const nacre_linear_attention_words *const w = j->w;
    return (void *)(uintptr_t)nacre_element_at(nacre_operand(j->c, operand), w->state_type,
                                               (int64_t)(s * (size_t)(w->batch * w->kv_heads) + head) * w->dk * w->dv);
}

// Computes all tokens of one head of the state, in order: each depends on the one before.
static void linear_head(void *job, size_t chunk, size_t thread) {
    const linear_job *const j = job;
    const nacre_linear_attention_words *const w = j->w;
    const size_t b = chunk / (size_t)w->kv_heads, h = chunk % (size_t)w->kv_heads, size = (size_t)(w->dk * w->dv);
    const size_t tokens = (size_t)w->tokens, window = (size_t)w->window, slots = window == 0 ? 1 : window;
    const linear_room r = linear_make_room(j, thread);
    const int shown = nacre_operand(j->c, 7) != NULL;
    float *const state = shown && window == 0 && w->state_type == NACRE_DTYPE_f32 ? linear_slot(j, 7, 0, chunk)
        : r.state;
    if (nacre_operand(j->c, 3) == NULL) {
        memset(state, 0, size * sizeof *state);
    } else if (state != linear_slot(j, 3, slots - 1, chunk)) {
        j->half->widen[w->state_type](linear_slot(j, 3, slots - 1, chunk), state, size);
    }
    for (size_t s = 0; shown && s + tokens < window; s++) {
        memset(linear_slot(j, 7, s, chunk), 0, size * nacre_element_size(w->state_type));
    }
    for (size_t t = 0; t < tokens && !nacre_stopped(j->c->team); t++) {
        linear_token(j, b, h, t, &r, state);
        if (shown && window > 0 && t + window >= tokens) {
            j->half->narrow[w->state_type](state, linear_slot(j, 7, t + window - tokens, chunk), size);
        }
    }
    if (shown && window == 0 && state == r.state) {
        j->half->narrow[w->state_type](state, linear_slot(j, 7, 0, chunk), size);
    }
}

static void linear_run(const nacre_call *c) {
    const nacre_linear_attention_words *const w = (const void *)c->words;
    linear_job j = {.c = c, .w = w, .half = ((nacre_half_fn *)nacre_part_fn(w->half))(), .queries = linear_queries(w),
                    .per_thread = linear_per_thread(w)};
    j.out_heads = (size_t)(w->heads > w->kv_heads ? w->heads : w->kv_heads);
    if (w->dk * w->dv > 0) nacre_parallel(c->team, (size_t)(w->batch * w->kv_heads), linear_head, &j);
}

static size_t linear_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    return threads * linear_per_thread((const void *)words) * sizeof(float);
}

const nacre_entry nacre_linear_attention_entry = {
    .words = sizeof(nacre_linear_attention_words) / 8, .operands = 8, .run = linear_run, .scratch = linear_scratch};
