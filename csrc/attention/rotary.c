#include <math.h>
#include <string.h>

#include "attention/attention.h"
#include "core/simd.h"

enum { ROTARY_GRAIN = 1 << 13 };  // elements of a piece of work, about

typedef struct {
    const nacre_call *c;
    const nacre_rotary_words *w;
    const nacre_half *half;
    size_t per_chunk;  // tokens
    size_t per_thread;
} rotary_job;

// Returns the elements of scratch: cosines, sines, the factors of the normalisation, a head.
static size_t rotary_per_thread(const nacre_rotary_words *w) {
    return nacre_align_floats((size_t)(2 * w->pairs + 2 * w->d));
}

// Returns the position of a token, or its row of the caches, or -1 after a failure.
static int64_t rotary_position(const rotary_job *j, int64_t batch, int64_t token) {
    const nacre_rotary_words *const w = j->w;
    const void *const index = nacre_operand(j->c, 3);
    int64_t p = 0;
    switch (w->index) {
    case NACRE_ROTARY_TOKENS: p = batch * w->tokens + token; break;
    case NACRE_ROTARY_POSITIONS: p = nacre_element_int(index, w->index_type, batch * w->tokens + token); break;
    case NACRE_ROTARY_OFFSET: p = nacre_element_int(index, w->index_type, 0) + token; break;
    case NACRE_ROTARY_BATCHES:
        p = (index == NULL ? w->past : nacre_element_int(index, w->index_type, batch)) + token;
        break;
    }
    if (p >= 0 && (nacre_operand(j->c, 1) == NULL || p < w->angle_rows)) return p;
    nacre_fail(j->c, NACRE_FAILED_rotary_position, token, batch, p, w->angle_rows);
    return -1;
}

// Returns n floats of an operand from element `at` on. It uses wide unless they are float32 in
// memory.
static const float *rotary_floats(const rotary_job *j, size_t operand, int64_t type, int64_t at, int64_t n,
                                  float *wide) {
    const void *const x = nacre_element_at(nacre_operand(j->c, operand), type, at);
    if (type == NACRE_DTYPE_f32) return x;
    j->half->widen[type](x, wide, (size_t)n);
    return wide;
}

// Scales a head to a root mean square of 1, and multiplies each element by a factor.
static void rotary_normalise(const float *x, size_t n, float epsilon, const float *factors, float *out) {
    double sums[4] = {0};
    for (size_t i = 0; i < n; i++) sums[i % 4] += (double)x[i] * x[i];
    const float mean = (float)((sums[0] + sums[1] + sums[2] + sums[3]) / (double)n), scale = 1 / sqrtf(mean + epsilon);
    NACRE_SIMD for (size_t i = 0; i < n; i++) out[i] = x[i] * scale * factors[i];
}

static void rotary_head(const rotary_job *j, const void *from, const float *cos, const float *sin, const float *factors,
                        void *to, float *head) {
    const nacre_rotary_words *const w = j->w;
    const size_t d = (size_t)w->d, rotated = 2 * (size_t)w->pairs;
    const float *x = from;
    if (w->x.type != NACRE_DTYPE_f32) {
        j->half->widen[w->x.type](from, head, d);
        x = head;
    }
    float *const out = w->out.type == NACRE_DTYPE_f32 ? to : head;
    if (factors != NULL) {
        rotary_normalise(x, d, (float)w->epsilon, factors, out);
        x = out;
    }
    if (rotated > 0) ((nacre_f32_rotary_fn *)j->c->kernel->fn)(x, rotated / 2, cos, sin, w->interleaved != 0, out);
    if (out != x) memcpy(out + rotated, x + rotated, (d - rotated) * sizeof *out);
    if (out == head) j->half->narrow[w->out.type](head, to, d);
}

// Computes the cosines and sines of a position.
static void rotary_angles(const nacre_rotary_words *w, int64_t position, float *cosines, float *sines) {
    for (int64_t i = 0; i < w->pairs; i++) {
        const double angle = (double)position / pow(w->base, (double)i / (double)w->pairs);
        cosines[i] = (float)cos(angle);
        sines[i] = (float)sin(angle);
    }
}

static void rotary_token(const rotary_job *j, int64_t batch, int64_t token, float *scratch) {
    const nacre_rotary_words *const w = j->w;
    const int64_t position = w->pairs == 0 ? 0 : rotary_position(j, batch, token);
    if (position < 0) return;
    float *const cos_room = scratch, *const sin_room = cos_room + w->pairs, *const factor_room = sin_room + w->pairs,
        *const head = factor_room + w->d;
    const float *cosines = cos_room, *sines = sin_room, *factors = NULL;
    if (w->pairs > 0 && nacre_operand(j->c, 1) == NULL) {
        rotary_angles(w, position, cos_room, sin_room);
    } else if (w->pairs > 0) {
        cosines = rotary_floats(j, 1, w->angle_type, position * w->pairs, w->pairs, cos_room);
        sines = rotary_floats(j, 2, w->angle_type, position * w->pairs, w->pairs, sin_room);
    }
    if (nacre_operand(j->c, 4) != NULL) factors = rotary_floats(j, 4, w->norm_type, 0, w->d, factor_room);
    const void *const x = nacre_element_at(nacre_operand(j->c, 0), w->x.type, batch * w->x.batch + token * w->x.row);
    char *const out = (char *)nacre_operand(j->c, 5) +
        (batch * w->out.batch + token * w->out.row) * (int64_t)nacre_element_size(w->out.type);
    for (int64_t h = 0; h < w->heads; h++) {
        rotary_head(j, nacre_element_at(x, w->x.type, h * w->x.head), cosines, sines, factors,
                    out + h * w->out.head * (int64_t)nacre_element_size(w->out.type), head);
    }
}

static void rotary_chunk(void *job, size_t chunk, size_t thread) {
    const rotary_job *const j = job;
    const size_t all = (size_t)(j->w->batch * j->w->tokens), first = chunk * j->per_chunk;
    float *const scratch = (float *)j->c->scratch + thread * j->per_thread;
    for (size_t i = first; i < all && i < first + j->per_chunk; i++) {
        rotary_token(j, (int64_t)i / j->w->tokens, (int64_t)i % j->w->tokens, scratch);
    }
}

static void rotary_run(const nacre_call *c) {
    const nacre_rotary_words *const w = (const void *)c->words;
    const size_t width = (size_t)(w->heads * w->d);
    rotary_job j = {c, w, ((nacre_half_fn *)nacre_part_fn(w->half))(),
                    width >= ROTARY_GRAIN ? 1 : ROTARY_GRAIN / (width + 1), rotary_per_thread(w)};
    if (width == 0) return;
    nacre_parallel(c->team, nacre_ceil_div((size_t)(w->batch * w->tokens), j.per_chunk), rotary_chunk, &j);
}

static size_t rotary_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    return threads * rotary_per_thread((const void *)words) * sizeof(float);
}

const nacre_entry nacre_rotary_entry = {
    .words = sizeof(nacre_rotary_words) / 8, .operands = 6, .run = rotary_run, .scratch = rotary_scratch};
