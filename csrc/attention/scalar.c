// The oracles of the family.
#include <math.h>

#include "attention/attention.h"
#include "core/target.h"

void nacre_f32_causal_conv__scalar(const float *x, size_t n, const float *w, size_t taps, size_t step, float bias,
                                   bool silu, float *out) {
    for (size_t t = 0; t < n; t++) {
        float sum = bias;
        for (size_t j = 0; j < taps; j++) sum += w[j] * x[t + j * step];
        out[t] = silu ? sum / (1 + expf(-sum)) : sum;
    }
}

void nacre_f32_linear_attention__scalar(const nacre_linear_attention_token *t, float *state, float *out) {
    for (size_t m = 0; m < t->dv; m++) {
        double found = 0;
        for (size_t d = 0; d < t->dk; d++) {
            if (t->decay != NULL) state[d * t->dv + m] *= t->decay[d * t->decay_step];
            found += (double)state[d * t->dv + m] * t->k[d];
        }
        const float add = t->beta == NULL ? t->v[m] : *t->beta * (t->v[m] - (float)found);
        for (size_t d = 0; d < t->dk; d++) state[d * t->dv + m] += t->k[d] * add;
        for (size_t h = 0; h < t->queries; h++) {
            double sum = 0;
            for (size_t d = 0; d < t->dk; d++) sum += (double)state[d * t->dv + m] * t->q[h * t->q_step + d];
            out[h * t->dv + m] = (float)sum * t->scale;
        }
    }
}

static float online_softmax_scalar(float *x, size_t n, float gain, const float *bias, float *top, float *sum) {
    const float before = *top;
    float now = before;
    for (size_t j = 0; j < n; j++) {
        x[j] = x[j] * gain + (bias == NULL ? 0 : bias[j]);
        if (x[j] > now) now = x[j];
    }
    if (now == -INFINITY) {
        for (size_t j = 0; j < n; j++) {
            x[j] = x[j] == now ? 0 : x[j];  // only NaN is left
            *sum += x[j];
        }
        return 1;
    }
    const float scale = expf(before - now);
    double total = 0;
    for (size_t j = 0; j < n; j++) {
        x[j] = expf(x[j] - now);
        total += x[j];
    }
    *top = now;
    *sum = *sum * scale + (float)total;
    return scale;
}

// Returns score j of row i, or -infinity if it is out of range.
static float column_score(const nacre_softmax_columns *c, size_t j, size_t i) {
    if ((float)j < c->lo[i] || (float)j >= c->hi[i]) return -INFINITY;
    float s = c->x[j * c->width + i] * c->gain;
    if (c->bias == NULL) return s;
    s += c->bias[j * c->width + i];
    return s < NACRE_LEAST_SCORE && s > -INFINITY ? NACRE_LEAST_SCORE : s;
}

static void softmax_columns_scalar(const nacre_softmax_columns *c) {
    const float log2e = 0x1.715476p0f;
    for (size_t i = 0; i < c->width; i++) {
        const float before = c->top[i];
        double total = 0;
        for (size_t j = 0; j < c->n; j++) {
            const float s = column_score(c, j, i) * log2e;
            c->x[j * c->width + i] = s;
            if (s > c->top[i]) c->top[i] = s;
        }
        const float shift = c->top[i] == -INFINITY ? 0 : c->top[i], factor = exp2f(before - shift);
        for (size_t j = 0; j < c->n; j++) {
            float *const x = &c->x[j * c->width + i];
            *x = exp2f(*x - shift);
            total += *x;
        }
        c->sum[i] = c->sum[i] * factor + (float)total;
        for (size_t e = 0; c->sums != NULL && i < c->rows && e < c->ld_sums; e++) c->sums[i * c->ld_sums + e] *= factor;
    }
}

// Returns element e of row j.
static float codes_element(const nacre_attention_codes *c, size_t j, size_t e) {
    const char *const row = c->rows + j * c->step;
    return (float)((const int8_t *)row)[e] * nacre_row_scale(row, NACRE_DTYPE_i8, (int64_t)c->d, (int64_t)e);
}

static void codes_scores_scalar(const nacre_attention_codes *c, const float *q, size_t queries, float *s, size_t ld) {
    for (size_t i = 0; i < queries; i++) {
        for (size_t j = 0; j < c->n; j++) {
            float sum = 0;
            for (size_t e = 0; e < c->d; e++) sum += q[i * c->d + e] * codes_element(c, j, e);
            s[i * ld + j] = sum;
        }
    }
}

static void codes_weigh_scalar(const nacre_attention_codes *c, const float *weights, size_t ld, size_t queries,
                               float *const *sums) {
    for (size_t i = 0; i < queries; i++) {
        for (size_t j = 0; j < c->n; j++) {
            for (size_t e = 0; e < c->d; e++) sums[i][e] += weights[i * ld + j] * codes_element(c, j, e);
        }
    }
}

const nacre_f32_attention_impl *nacre_f32_attention__scalar(void) {
    static const nacre_f32_attention_impl impl = {1, online_softmax_scalar, softmax_columns_scalar, codes_scores_scalar,
                                                  codes_weigh_scalar};
    return &impl;
}

void nacre_f32_rotary__scalar(const float *x, size_t n, const float *cos, const float *sin, bool interleaved,
                              float *out) {
    const size_t apart = interleaved ? 1 : n, step = interleaved ? 2 : 1;
    for (size_t i = 0; i < n; i++) {
        const float a = x[i * step], b = x[i * step + apart];
        out[i * step] = cos[i] * a - sin[i] * b;
        out[i * step + apart] = sin[i] * a + cos[i] * b;
    }
}
