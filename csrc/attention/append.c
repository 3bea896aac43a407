#include <string.h>

#include "attention/attention.h"
#include "core/simd.h"

enum { APPEND_GRAIN = 1 << 14 };  // elements of a piece of work, about

typedef struct {
    const nacre_attention_append_words *w;
    const nacre_half *half;
    const char *past, *x;
    const void *bias;
    const int64_t *lengths;
    char *cache;
    int in_place;
    size_t size, row;  // bytes of an element, and of a row of the cache
    int64_t rows, pieces, per_piece;  // rows of a head that are written, pieces of them, and rows of a piece
    float *scratch;
    size_t per_thread;
} append_job;

static size_t append_per_thread(const nacre_attention_append_words *w) { return nacre_align_floats((size_t)w->d * 2); }

// Writes n new rows of a head, from row r on.
static void append_new(const append_job *j, int64_t b, int64_t h, int64_t r, int64_t n, char *dst, float *wide) {
    const nacre_attention_append_words *const w = j->w;
    const size_t d = (size_t)w->d;
    const char *x = nacre_element_at(j->x, w->x_type, b * w->x_batch + h * w->x_head + r * w->x_row);
    if (w->x_type == w->type && j->bias == NULL) {
        if (w->x_row == w->d) {
            memcpy(dst, x, (size_t)n * j->row);
            return;
        }
        for (int64_t i = 0; i < n; i++) {
            memcpy(dst + (size_t)i * j->row, x + (size_t)(i * w->x_row) * j->size, j->row);
        }
        return;
    }
    float *const bias = wide + d;
    if (j->bias != NULL) {
        j->half->widen[w->bias_type](nacre_element_at(j->bias, w->bias_type, h * w->bias_head), bias, d);
    }
    for (int64_t i = 0; i < n; i++) {
        float *const to = w->type == NACRE_DTYPE_f32 ? (float *)(void *)dst + (size_t)i * d : wide;
        j->half->widen[w->x_type](nacre_element_at(x, w->x_type, i * w->x_row), to, d);
        if (j->bias != NULL) {
            NACRE_SIMD for (size_t e = 0; e < d; e++) to[e] += bias[e];
        }
        char *const row = dst + (size_t)i * j->row;
        if (w->type == NACRE_DTYPE_i8) {
            j->half->code(wide, row, d);
        } else if (to == wide) {
            j->half->narrow[w->type](wide, row, d);
        }
    }
}

static void append_chunk(void *job, size_t chunk, size_t thread) {
    const append_job *const j = job;
    const nacre_attention_append_words *const w = j->w;
    const int64_t head = (int64_t)chunk / j->pieces, b = head / w->heads, h = head % w->heads;
    const int64_t n = j->lengths == NULL ? w->past : j->lengths[b], from = j->in_place ? n : 0;
    const int64_t r0 = from + (int64_t)chunk % j->pieces * j->per_piece,
        r1 = nacre_min_i64(r0 + j->per_piece, from + j->rows);
    const size_t row = j->row;
    char *const cache = j->cache + (size_t)(b * w->cache_batch + h * w->cache_head) * j->size;
    int64_t r = r0;
    if (r < n && r < r1) {
        const int64_t end = nacre_min_i64(n, r1);
        memcpy(cache + (size_t)r * row,
               j->past + (size_t)(b * w->past_batch + h * w->past_head) * j->size + (size_t)r * row,
               (size_t)(end - r) * row);
        r = end;
    }
    if (r < n + w->rows && r < r1) {
        const int64_t end = nacre_min_i64(n + w->rows, r1);
        append_new(j, b, h, r - n, end - r, cache + (size_t)r * row, j->scratch + thread * j->per_thread);
        r = end;
    }
    if (r < r1) memset(cache + (size_t)r * row, 0, (size_t)(r1 - r) * row);
}

static void append_run(const nacre_call *c) {
    const nacre_attention_append_words *const w = (const void *)c->words;
    append_job j = {
        .w = w, .half = ((nacre_half_fn *)nacre_part_fn(w->half))(), .past = nacre_operand(c, 0),
        .x = nacre_operand(c, 1),
        .bias = nacre_operand(c, 2), .lengths = nacre_operand(c, 3), .cache = nacre_operand(c, 4),
        .size = nacre_element_size(w->type), .scratch = c->scratch, .per_thread = append_per_thread(w),
    };
    j.row = (size_t)nacre_cache_width(w->type, w->d) * j.size;
    j.in_place = j.past == j.cache;
    j.rows = j.in_place ? w->rows : w->room;
    j.per_piece = w->d >= APPEND_GRAIN ? 1 : APPEND_GRAIN / (w->d + 1);
    j.pieces = (j.rows + j.per_piece - 1) / j.per_piece;
    if (w->d > 0) nacre_parallel(c->team, (size_t)(w->batch * w->heads * j.pieces), append_chunk, &j);
}

static size_t append_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    return threads * append_per_thread((const void *)words) * sizeof(float);
}

const nacre_entry nacre_attention_append_entry = {
    .words = sizeof(nacre_attention_append_words) / 8, .operands = 5, .run = append_run, .scratch = append_scratch};
