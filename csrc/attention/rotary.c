#include <string.h>

#include "attention/attention.h"

enum { ROTARY_GRAIN = 1 << 13 };  // elements of a piece of work, about

typedef struct {
    const nacre_rotary *r;
    const float *x;
    float *out;
    size_t per_chunk;  // tokens
} rotary_job;

static void rotary_token(const rotary_job *j, size_t batch, size_t token) {
    const nacre_rotary *const r = j->r;
    const size_t row = r->index == NULL ? batch * r->tokens + token : (size_t)r->index[batch * r->index_batch + token * r->index_row];
    const float *x = j->x + batch * r->x_batch + token * r->x_row;
    float *out = j->out + batch * r->out_batch + token * r->out_row;
    for (size_t h = 0; h < r->heads; h++, x += r->x_head, out += r->out_head) {
        r->rotate(x, r->pairs, r->cos + row * r->pairs, r->sin + row * r->pairs, r->interleaved, out);
        if (out != x) memcpy(out + 2 * r->pairs, x + 2 * r->pairs, (r->d - 2 * r->pairs) * sizeof *out);
    }
}

static void rotary_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const rotary_job *const j = job;
    const size_t all = j->r->batch * j->r->tokens, first = chunk * j->per_chunk;
    for (size_t i = first; i < all && i < first + j->per_chunk; i++) rotary_token(j, i / j->r->tokens, i % j->r->tokens);
}

void nacre_rotary_run(const nacre_rotary *r, nacre_team *team, const float *x, float *out) {
    const size_t width = r->heads * r->d;
    rotary_job j = {r, x, out, width >= ROTARY_GRAIN ? 1 : ROTARY_GRAIN / (width + 1)};
    nacre_parallel(team, (r->batch * r->tokens + j.per_chunk - 1) / j.per_chunk, rotary_chunk, &j);
}
