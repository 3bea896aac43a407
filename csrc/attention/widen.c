#include "attention/attention.h"

enum { WIDEN_GRAIN = 1 << 14 };  // elements of a piece of work, about

typedef struct {
    const nacre_codes_widen_words *w;
    const nacre_half *half;
    const char *codes;
    char *out;
    int64_t pieces, per_piece;  // of the rows of a head; rows of a piece
    float *scratch;
} widen_job;

static size_t widen_per_thread(const nacre_codes_widen_words *w) {
    return w->type == NACRE_DTYPE_f32 ? 0 : nacre_align_floats((size_t)w->d);
}

static void widen_chunk(void *job, size_t chunk, size_t thread) {
    const widen_job *const j = job;
    const nacre_codes_widen_words *const w = j->w;
    const size_t d = (size_t)w->d, width = nacre_codes_width(d), bytes = d * nacre_element_size(w->type);
    const int64_t head = (int64_t)chunk / j->pieces, r0 = (int64_t)chunk % j->pieces * j->per_piece,
        r1 = nacre_min_i64(r0 + j->per_piece, w->rows);
    const char *row = j->codes + head * w->head + r0 * (int64_t)width;
    char *out = j->out + (size_t)(head * w->rows + r0) * bytes;
    float *const wide = j->scratch + thread * widen_per_thread(w);
    for (int64_t r = r0; r < r1; r++, row += width, out += bytes) {
        float *const to = w->type == NACRE_DTYPE_f32 ? (float *)(void *)out : wide;
        j->half->decode(row, row + d, to, d);
        if (to == wide) j->half->narrow[w->type](wide, out, d);
    }
}

static void widen_run(const nacre_call *c) {
    const nacre_codes_widen_words *const w = (const void *)c->words;
    widen_job j = {
        .w = w, .half = ((nacre_half_fn *)nacre_part_fn(w->half))(), .codes = nacre_operand(c, 0),
        .out = nacre_operand(c, 1), .scratch = c->scratch,
    };
    j.per_piece = w->d >= WIDEN_GRAIN ? 1 : WIDEN_GRAIN / (w->d + 1);
    j.pieces = (w->rows + j.per_piece - 1) / j.per_piece;
    if (w->d > 0) nacre_parallel(c->team, (size_t)(w->heads * j.pieces), widen_chunk, &j);
}

static size_t widen_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    return threads * widen_per_thread((const void *)words) * sizeof(float);
}

const nacre_entry nacre_codes_widen_entry = {
    .words = sizeof(nacre_codes_widen_words) / 8, .operands = 2, .run = widen_run, .scratch = widen_scratch};
