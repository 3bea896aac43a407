#include "core/target.h"
#include "eltwise/eltwise.h"

enum { FUSED_CHUNK = 1 << 14, FUSED_BLOCK = 1 << 10, FUSED_WIDTH = 8 };

typedef struct {
    const nacre_fused *f;
    const char *x, *b;
    char *y;
    size_t n;
} fused_job;

static const void *fused_in(const nacre_storage *from, const char *x, void *to, size_t n) {
    if (from->via == NULL) return x;
    from->via(x, to, n);
    return to;
}

static void fused_block(const fused_job *j, size_t i, size_t n) {
    const nacre_fused *const f = j->f;
    _Alignas(64) char one[FUSED_BLOCK * FUSED_WIDTH], two[FUSED_BLOCK * FUSED_WIDTH];
    const void *x = fused_in(&f->in, j->x + i * f->in.bytes, one, n);
    const void *const b = fused_in(&f->in, j->b + i % f->period * f->in.bytes, two, n);
    if (f->unary_first) {
        f->unary(x, one, n, f->params);
        x = one;
    }
    char *const y = j->y + i * f->out.bytes;
    void *const to = f->out.via == NULL ? (void *)y : one;
    f->binary(x, 1, b, 1, to, n);
    if (!f->unary_first) f->unary(to, to, n, f->params);
    if (f->out.via != NULL) f->out.via(to, y, n);
}

static void fused_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const fused_job *const j = job;
    const size_t first = chunk * FUSED_CHUNK, end = nacre_chunk_end(first, FUSED_CHUNK, j->n);
    for (size_t i = first, n; i < end; i += n) {
        n = end - i < FUSED_BLOCK ? end - i : FUSED_BLOCK;
        const size_t rest = j->f->period - i % j->f->period;
        if (n > rest) n = rest;
        fused_block(j, i, n);
    }
}

void nacre_eltwise_fused(nacre_team *team, const nacre_fused *f, const void *x, const void *b, void *y, size_t n) {
    fused_job job = {f, x, b, y, n};
    nacre_parallel(team, nacre_ceil_div(n, FUSED_CHUNK), fused_chunk, &job);
}
