#include <math.h>
#include <string.h>

#include "attention/attention.h"

typedef struct {
    const nacre_linear_attention *a;
    float *scratch;
} linear_job;

// One head of the state goes through all tokens, for each depends on the one
// before.
static void linear_head(void *job, size_t chunk, size_t thread) {
    const linear_job *const j = job;
    const nacre_linear_attention *const a = j->a;
    const size_t b = chunk / a->kv_heads, h = chunk % a->kv_heads, size = a->dk * a->dv;
    const size_t queries = a->heads > a->kv_heads ? a->heads / a->kv_heads : 1;
    const size_t first = a->heads > a->kv_heads ? h * queries : h / (a->kv_heads / a->heads);
    const size_t out_heads = a->heads > a->kv_heads ? a->heads : a->kv_heads;
    float *const state = a->state + chunk * size, *const decay = j->scratch + thread * a->dk;
    const size_t per_head = a->decay == NULL ? 0 : a->decay_cols / a->kv_heads;
    for (size_t w = 0; w + a->tokens < a->window; w++) {
        memset(a->slots + (w * a->batch * a->kv_heads + chunk) * size, 0, size * sizeof *state);
    }
    for (size_t t = 0; t < a->tokens; t++) {
        const size_t at = b * a->tokens + t;
        nacre_recur_token token = {
            .dk = a->dk, .dv = a->dv,
            .k = a->k + (at * a->kv_heads + h) * a->dk, .v = a->v + (at * a->kv_heads + h) * a->dv,
            .queries = queries, .q = a->q + (at * a->heads + first) * a->dk, .q_step = a->dk, .scale = a->scale,
        };
        if (a->decay != NULL) {
            for (size_t d = 0; d < per_head; d++) decay[d] = expf(a->decay[at * a->decay_cols + h * per_head + d]);
            token.decay = decay;
            token.decay_step = per_head > 1;
        }
        if (a->beta != NULL) token.beta = a->beta + at * a->beta_cols + (a->beta_cols > 1 ? h : 0);
        a->recur(&token, state, a->out + (at * out_heads + h * queries) * a->dv);
        if (t + a->window >= a->tokens && a->window > 0) {
            const size_t slot = t + a->window - a->tokens;
            memcpy(a->slots + (slot * a->batch * a->kv_heads + chunk) * size, state, size * sizeof *state);
        }
    }
}

void nacre_linear_attention_run(const nacre_linear_attention *a, nacre_team *team, float *scratch) {
    linear_job j = {a, scratch};
    nacre_parallel(team, a->batch * a->kv_heads, linear_head, &j);
}
