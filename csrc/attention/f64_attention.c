// Attention in float64, of operands of any float types.
#include "attention/scores.h"

typedef struct {
    attention_args a;
    const nacre_half *half;
    double *scratch;
    size_t per_thread;
} wide_plan;

static size_t wide_per_thread(const nacre_attention_words *w) { return (size_t)(w->kv_len + w->d + w->dv); }

static void wide_put(const wide_plan *p, const double *x, int64_t n, int64_t type, void *dst) {
    for (int64_t i = 0; i < n; i++) {
        const float f = (float)x[i];
        switch (type) {
        case NACRE_DTYPE_f64: ((double *)dst)[i] = x[i]; break;
        case NACRE_DTYPE_f32: ((float *)dst)[i] = f; break;
        default: p->half->narrow[type](&f, (uint16_t *)dst + i, 1);
        }
    }
}

// Writes the scores to qk if they are of the stage that is asked for.
static void wide_show(const wide_plan *p, int64_t stage, int64_t b, int64_t h, int64_t i, const double *s) {
    const attention_args *const a = &p->a;
    if (a->qk != NULL && a->w->qk_stage == stage) wide_put(p, s, a->keys, a->w->qk_type, attention_qk(a, b, h, i));
}

// Turns scores into weights.
static void wide_weights(const wide_plan *p, int64_t b, int64_t h, int64_t i, double *s) {
    const attention_args *const a = &p->a;
    const nacre_attention_words *const w = a->w;
    wide_show(p, NACRE_QK_PRODUCT, b, h, i, s);
    for (int64_t j = 0; w->cap != 0 && j < a->keys; j++) s[j] = w->cap * tanh(s[j] / w->cap);
    wide_show(p, NACRE_QK_CAPPED, b, h, i, s);
    int64_t lo, hi;
    attention_range(a, b, i, &lo, &hi);
    const int64_t bias = attention_bias_row(w, b, h, i);
    const attention_mask mask = a->mask == NULL ? (attention_mask){0} : attention_mask_of(a, b, i);
    double top = -INFINITY, sum = 0;
    if (w->sink != NACRE_SINK_NONE) {
        top = w->sink == NACRE_SINK_ZEROS ? 0 : nacre_element_number(a->sink, w->sink_type, h);
    }
    const double sink = top;
    for (int64_t j = 0; j < a->keys; j++) {
        if (j < lo || j >= hi) {
            s[j] = -INFINITY;
            continue;
        }
        if (a->mask != NULL) {
            s[j] += w->causal && j > attention_position(a, b, i) ? ATTENTION_LOWEST : attention_there(a, &mask, j) ? 0
                : w->filter;
        }
        if (a->bias != NULL) s[j] += nacre_element_bias(a->bias, w->bias_type, bias + j * w->bias_col);
        if (s[j] > top) top = s[j];
    }
    wide_show(p, NACRE_QK_BIASED, b, h, i, s);
    for (int64_t j = 0; j < a->keys; j++) {
        s[j] = top == -INFINITY && !isnan(s[j]) ? 0 : exp(s[j] - top);
        sum += s[j];
    }
    if (w->sink != NACRE_SINK_NONE) sum += exp(sink - top);
    const int none = sum == 0 || (w->nan == NACRE_NAN_ZEROED && isnan(sum));
    for (int64_t j = 0; j < a->keys; j++) s[j] = !none ? s[j] / sum : w->nan == NACRE_NAN_KEPT ? NAN : 0;
    wide_show(p, NACRE_QK_WEIGHTS, b, h, i, s);
}

// Returns element i of the row of d that begins at element `at` of keys or values.
static double wide_number(const void *x, int64_t type, int64_t at, int64_t d, int64_t i) {
    return nacre_element_number(x, type, at + i) * nacre_row_scale(nacre_element_at(x, type, at), type, d, i);
}

static void wide_chunk(void *job, size_t chunk, size_t thread) {
    const wide_plan *const p = job;
    const attention_args *const a = &p->a;
    const nacre_attention_words *const w = a->w;
    const int64_t i = (int64_t)chunk % w->q_len, bh = (int64_t)chunk / w->q_len, b = bh / w->heads, h = bh % w->heads;
    const int64_t kv = h / (w->heads / w->kv_heads);
    double *const s = p->scratch + thread * p->per_thread, *const q = s + w->kv_len, *const sums = q + w->d;
    for (int64_t e = 0; e < w->d; e++) {
        q[e] = nacre_element_number(a->q, w->q.type, b * w->q.batch + h * w->q.head + i * w->q.row + e);
    }
    for (int64_t j = 0; j < a->keys; j++) {
        const int64_t key = b * w->k.batch + kv * w->k.head + j * w->k.row;
        double sum = 0;
        for (int64_t e = 0; e < w->d; e++) sum += q[e] * wide_number(a->k, w->k.type, key, w->d, e);
        s[j] = w->scale * sum;
    }
    wide_weights(p, b, h, i, s);
    memset(sums, 0, (size_t)w->dv * sizeof *sums);
    for (int64_t j = 0; j < a->keys; j++) {
        if (s[j] == 0) continue;
        const int64_t value = b * w->v.batch + kv * w->v.head + j * w->v.row;
        for (int64_t e = 0; e < w->dv; e++) sums[e] += s[j] * wide_number(a->v, w->v.type, value, w->dv, e);
    }
    const int64_t out = b * w->out.batch + h * w->out.head + i * w->out.row;
    wide_put(p, sums, w->dv, w->out.type, (void *)(uintptr_t)nacre_element_at(a->out, w->out.type, out));
}

static void wide_run(const nacre_call *c) {
    wide_plan p = {0};
    if (!attention_open(c, &p.a)) return;
    const nacre_attention_words *const w = p.a.w;
    p.half = nacre_f32_gemm_part(w->gemm)->half();
    p.scratch = c->scratch;
    p.per_thread = wide_per_thread(w);
    nacre_parallel(c->team, (size_t)(w->batch * w->heads * w->q_len), wide_chunk, &p);
}

static size_t wide_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    return threads * wide_per_thread((const void *)words) * sizeof(double);
}

const nacre_entry nacre_f64_attention_entry = {
    .words = sizeof(nacre_attention_words) / 8, .operands = 9, .run = wide_run, .scratch = wide_scratch};
