#include <string.h>

#include "attention/attention.h"

enum { CAUSAL_GRAIN = 1 << 14, CAUSAL_PIECE = 1 << 12 };

typedef struct {
    const nacre_call *c;
    const nacre_causal_conv_words *w;
    const nacre_half *half;
    size_t before;  // elements before its own that an output needs
    size_t size;    // of an element
    size_t per_chunk, per_thread;
} causal_job;

static size_t causal_before(const nacre_causal_conv_words *w) { return (size_t)((w->taps - 1) * w->step); }

// Returns the elements of scratch: inputs of a piece, its outputs, weights and a bias.
static size_t causal_per_thread(const nacre_causal_conv_words *w) {
    const size_t n = (size_t)w->n < CAUSAL_PIECE ? (size_t)w->n : CAUSAL_PIECE;
    return nacre_align_floats(causal_before(w) + 2 * n + (size_t)w->taps + 1);
}

static char *causal_at(const causal_job *j, size_t operand, size_t at) {
    return (char *)nacre_operand(j->c, operand) + at * j->size;
}

static const float *causal_floats(const causal_job *j, const void *x, size_t n, float *wide) {
    if (j->w->type == NACRE_DTYPE_f32) return x;
    j->half->widen[j->w->type](x, wide, n);
    return wide;
}

// Returns the inputs from t - before on, for n outputs.
static const float *causal_inputs(const causal_job *j, size_t row, size_t t, size_t n, float *line) {
    const size_t before = j->before, length = (size_t)j->w->n;
    if (t >= before) return causal_floats(j, causal_at(j, 0, row * length + t - before), before + n, line);
    const size_t left = before - t;
    if (nacre_operand(j->c, 3) == NULL) {
        memset(line, 0, left * sizeof *line);
    } else {
        j->half->widen[j->w->type](causal_at(j, 3, row * before + t), line, left);
    }
    j->half->widen[j->w->type](causal_at(j, 0, row * length), line + left, t + n);
    return line;
}

static void causal_row(const causal_job *j, size_t row, float *scratch) {
    const nacre_causal_conv_words *const w = j->w;
    const size_t n = (size_t)w->n, before = j->before, taps = (size_t)w->taps, channel = row % (size_t)w->channels;
    float *const wide = scratch, *const bias_room = wide + taps, *const line = bias_room + 1;
    float *const outputs = line + before + nacre_min(n, CAUSAL_PIECE);
    const float *const weights = causal_floats(j, causal_at(j, 1, channel * taps), taps, wide);
    const float bias = nacre_operand(j->c, 2) == NULL ? 0 : *causal_floats(j, causal_at(j, 2, channel), 1, bias_room);
    for (size_t t = 0; t < n && !nacre_stopped(j->c->team); t += CAUSAL_PIECE) {
        const size_t m = n - t < CAUSAL_PIECE ? n - t : CAUSAL_PIECE;
        void *const out = causal_at(j, 4, row * n + t);
        float *const to = w->type == NACRE_DTYPE_f32 ? out : outputs;
        ((nacre_f32_causal_conv_fn *)j->c->kernel->fn)(causal_inputs(j, row, t, m, line), m, weights, taps,
                                                       (size_t)w->step, bias, w->silu != 0, to);
        if (to == outputs) j->half->narrow[w->type](outputs, out, m);
    }
    if (nacre_operand(j->c, 5) == NULL) return;
    // Copies the part of the past that is still needed, then the last inputs.
    const size_t left = n < before ? before - n : 0;
    char *const present = causal_at(j, 5, row * before);
    if (nacre_operand(j->c, 3) == NULL) {
        memset(present, 0, left * j->size);
    } else {
        memmove(present, causal_at(j, 3, row * before + before - left), left * j->size);
    }
    memcpy(present + left * j->size, causal_at(j, 0, row * n + n - (before - left)), (before - left) * j->size);
}

static void causal_chunk(void *job, size_t chunk, size_t thread) {
    const causal_job *const j = job;
    const size_t first = chunk * j->per_chunk, all = (size_t)(j->w->batch * j->w->channels);
    float *const scratch = (float *)j->c->scratch + thread * j->per_thread;
    for (size_t row = first; row < all && row < first + j->per_chunk; row++) causal_row(j, row, scratch);
}

static void causal_run(const nacre_call *c) {
    const nacre_causal_conv_words *const w = (const void *)c->words;
    const size_t work = (size_t)(w->n * w->taps) + 1;
    const causal_job j = {
        .c = c, .w = w, .half = ((nacre_half_fn *)nacre_part_fn(w->half))(), .before = causal_before(w),
        .size = nacre_element_size(w->type),
        .per_chunk = work >= CAUSAL_GRAIN ? 1 : CAUSAL_GRAIN / work, .per_thread = causal_per_thread(w),
    };
    nacre_parallel(c->team, nacre_ceil_div((size_t)(w->batch * w->channels), j.per_chunk), causal_chunk,
                   (void *)(uintptr_t)&j);
}

static size_t causal_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    return threads * causal_per_thread((const void *)words) * sizeof(float);
}

const nacre_entry nacre_causal_conv_entry = {
    .words = sizeof(nacre_causal_conv_words) / 8, .operands = 6, .run = causal_run, .scratch = causal_scratch};
