// Normalisation of rows.
#include <math.h>
#include <string.h>

#include "norm/strip.h"

// embed_table is a table with the row numbers to read from it. If there are no numbers, row i is
// read for token i of a sequence.
typedef struct {
    const void *table, *numbers;
    size_t rows, bytes, count;
} embed_table;

enum { EMBED_TABLES = 3 };

typedef struct {
    const nacre_f32_norm_impl *impl;
    size_t rows, n;
    bool centred;
    float epsilon;
    norm_type x_type, out_type, stats_type;
    const void *x, *skip;
    size_t skip_rows;
    const nacre_call *call;  // for f32_embed_norm
    embed_table tables[EMBED_TABLES];
    size_t tokens;
    const float *scale, *beta, *bias;
    void *out, *mean, *inv_std, *sum;
    float *scratch;  // a row per thread, or two if rows are added
    size_t per_chunk;
} row_norm_job;

static void row_norm_moments(const row_norm_job *j, const float *x, float *mean, float *inv_std) {
    const double inverse = 1 / (double)j->n;
    *mean = j->centred ? (float)(j->impl->sum(x, j->n, false, 0.0f) * inverse) : 0.0f;
    const float variance = (float)(j->impl->sum(x, j->n, true, *mean) * inverse);
    *inv_std = 1.0f / sqrtf(variance + j->epsilon);
}

// row_norm_embed returns the sum of one row of each table. If a number is out of range, it fails
// and returns NULL.
static const float *row_norm_embed(const row_norm_job *j, size_t r, float *room) {
    const size_t n = j->n;
    float *const sum = norm_room(j->x_type, j->sum == NULL ? j->out : j->sum, r * n, room);
    for (size_t i = 0; i < EMBED_TABLES; i++) {
        const embed_table *const t = &j->tables[i];
        if (t->table == NULL) continue;
        const size_t at = t->numbers == NULL ? r % j->tokens : r % t->count;
        int64_t k = (int64_t)at;
        if (t->numbers != NULL) {
            k = t->bytes == 4 ? ((const int32_t *)t->numbers)[at] : ((const int64_t *)t->numbers)[at];
        }
        if (k < 0 || (size_t)k >= t->rows) {
            nacre_fail(j->call, NACRE_FAILED_embedding, (int64_t)at, k, (int64_t)t->rows - 1, 0);
            return NULL;
        }
        const float *const row = norm_read(j->x_type, t->table, (size_t)k * n, n, room + nacre_align_floats(n));
        if (i == 0) {
            memcpy(sum, row, n * sizeof *sum);
        } else {
            j->impl->add(sum, row, n, sum);
        }
    }
    if (j->sum != NULL) norm_write(j->x_type, j->sum, r * n, n, sum);
    return sum;
}

// row_norm_sum returns row r before it is normalised, and stores it in sum. It returns NULL if the
// run ends.
static const float *row_norm_sum(const row_norm_job *j, size_t r, float *room) {
    const size_t n = j->n, at = r * n;
    if (j->call != NULL) return row_norm_embed(j, r, room);
    if (j->skip == NULL) return norm_read(j->x_type, j->x, at, n, room);
    const float *const x = norm_read(j->x_type, j->x, at, n, room);
    const float *const skip = norm_read(j->x_type, j->skip, r % j->skip_rows * n, n, room + nacre_align_floats(n));
    float *const sum = norm_room(j->x_type, j->sum == NULL ? j->out : j->sum, at, room);
    j->impl->add(x, skip, n, sum);
    if (j->bias != NULL) j->impl->add(sum, j->bias, n, sum);
    if (j->sum != NULL) norm_write(j->x_type, j->sum, at, n, sum);
    return sum;
}

static void row_norm_chunk(void *job, size_t chunk, size_t thread) {
    const row_norm_job *const j = job;
    const size_t n = j->n, last = nacre_min((chunk + 1) * j->per_chunk, j->rows);
    float *const room = j->scratch + thread * (j->skip == NULL && j->call == NULL ? 1 : 2) * nacre_align_floats(n);
    for (size_t r = chunk * j->per_chunk; r < last; r++) {
        const float *const x = row_norm_sum(j, r, room);
        if (x == NULL) return;
        float mean, inv_std;
        row_norm_moments(j, x, &mean, &inv_std);
        float *const out = norm_room(j->out_type, j->out, r * n, room);
        j->impl->affine_each(x, n, mean, inv_std, j->scale, j->beta, out);
        norm_write(j->out_type, j->out, r * n, n, out);
        if (j->mean != NULL) {
            *norm_room(j->stats_type, j->mean, r, &mean) = mean;
            norm_write(j->stats_type, j->mean, r, 1, &mean);
        }
        if (j->inv_std != NULL) {
            *norm_room(j->stats_type, j->inv_std, r, &inv_std) = inv_std;
            norm_write(j->stats_type, j->inv_std, r, 1, &inv_std);
        }
    }
}

static void row_norm_run(row_norm_job *j, nacre_team *team) {
    j->per_chunk = norm_per_chunk(j->n);
    nacre_parallel(team, nacre_ceil_div(j->rows, j->per_chunk), row_norm_chunk, j);
}

static const nacre_f32_norm_impl *row_norm_impl(const nacre_call *c) { return ((nacre_f32_norm_fn *)c->kernel->fn)(); }

static void layer_norm_command(const nacre_call *c) {
    const nacre_f32_layer_norm_words *const w = (const void *)c->words;
    const size_t n = (size_t)w->n, step = nacre_align_floats(n);
    float *const scratch = c->scratch;
    row_norm_job j = {
        .impl = row_norm_impl(c),
        .rows = (size_t)w->rows,
        .n = n,
        .centred = w->centred != 0,
        .epsilon = (float)w->epsilon,
        .x_type = norm_type_of(w->x_type, w->half),
        .out_type = norm_type_of(w->out_type, w->half),
        .stats_type = norm_type_of(w->stats_type, w->half),
        .x = nacre_operand(c, 0),
        .scale = norm_read_all(norm_type_of(w->scale_type, w->half), nacre_operand(c, 1), n, scratch),
        .beta = norm_read_all(norm_type_of(w->bias_type, w->half), nacre_operand(c, 2), n, scratch + step),
        .out = nacre_operand(c, 3),
        .mean = nacre_operand(c, 4),
        .inv_std = nacre_operand(c, 5),
        .scratch = scratch + 2 * step,
    };
    row_norm_run(&j, c->team);
}

static size_t layer_norm_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    const nacre_f32_layer_norm_words *const w = (const void *)words;
    return w->half == 0 ? 0 : (2 + threads) * nacre_align_floats((size_t)w->n) * sizeof(float);
}

const nacre_entry nacre_f32_layer_norm_entry = {
    .words = sizeof(nacre_f32_layer_norm_words) / 8, .operands = 6, .run = layer_norm_command,
    .scratch = layer_norm_scratch,
};

static void skip_norm_command(const nacre_call *c) {
    const nacre_f32_skip_norm_words *const w = (const void *)c->words;
    const norm_type type = norm_type_of(w->type, w->half);
    const size_t n = (size_t)w->n, step = nacre_align_floats(n);
    float *const scratch = c->scratch;
    row_norm_job j = {
        .impl = row_norm_impl(c),
        .rows = (size_t)w->rows,
        .n = n,
        .centred = w->centred != 0,
        .epsilon = (float)w->epsilon,
        .x_type = type,
        .out_type = type,
        .stats_type = {NACRE_DTYPE_f32, NULL},
        .x = nacre_operand(c, 0),
        .skip = nacre_operand(c, 1),
        .skip_rows = (size_t)w->skip_rows,
        .scale = norm_read_all(type, nacre_operand(c, 2), n, scratch),
        .beta = norm_read_all(type, nacre_operand(c, 3), n, scratch + step),
        .bias = norm_read_all(type, nacre_operand(c, 4), n, scratch + 2 * step),
        .out = nacre_operand(c, 5),
        .mean = nacre_operand(c, 6),
        .inv_std = nacre_operand(c, 7),
        .sum = nacre_operand(c, 8),
        .scratch = scratch + 3 * step,
    };
    row_norm_run(&j, c->team);
}

static size_t skip_norm_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    const nacre_f32_skip_norm_words *const w = (const void *)words;
    return w->half == 0 ? 0 : (3 + 2 * threads) * nacre_align_floats((size_t)w->n) * sizeof(float);
}

const nacre_entry nacre_f32_skip_norm_entry = {
    .words = sizeof(nacre_f32_skip_norm_words) / 8, .operands = 9, .run = skip_norm_command,
    .scratch = skip_norm_scratch,
};

static void embed_count(const nacre_f32_embed_norm_words *w, const void *mask, int32_t *counts) {
    for (size_t b = 0; b < (size_t)w->batch; b++) {
        counts[b] = 0;
        for (size_t i = b * (size_t)w->tokens; mask != NULL && i < (b + 1) * (size_t)w->tokens; i++) {
            counts[b] += (w->mask_bytes == 4 ? ((const int32_t *)mask)[i] : ((const int64_t *)mask)[i]) == 1;
        }
    }
}

static void embed_norm_command(const nacre_call *c) {
    const nacre_f32_embed_norm_words *const w = (const void *)c->words;
    const norm_type type = norm_type_of(w->type, w->half);
    const size_t n = (size_t)w->n, step = nacre_align_floats(n);
    float *const scratch = c->scratch;
    row_norm_job j = {
        .impl = row_norm_impl(c),
        .rows = (size_t)w->batch * (size_t)w->tokens,
        .n = n,
        .centred = true,
        .epsilon = (float)w->epsilon,
        .x_type = type,
        .out_type = type,
        .stats_type = {NACRE_DTYPE_f32, NULL},
        .call = c,
        .tokens = (size_t)w->tokens,
        .scale = norm_read_all(type, nacre_operand(c, 5), n, scratch),
        .beta = norm_read_all(type, nacre_operand(c, 6), n, scratch + step),
        .out = nacre_operand(c, 9),
        .sum = nacre_operand(c, 11),
        .scratch = scratch + 2 * step,
    };
    const size_t tables[EMBED_TABLES] = {2, 3, 4}, numbers[EMBED_TABLES] = {0, 8, 1};
    for (size_t i = 0; i < EMBED_TABLES; i++) {
        j.tables[i] = (embed_table){
            nacre_operand(c, tables[i]), nacre_operand(c, numbers[i]), (size_t)w->rows[i], (size_t)w->number_bytes[i],
                (size_t)w->numbers[i],
        };
    }
    row_norm_run(&j, c->team);
    if (nacre_operand(c, 10) != NULL) embed_count(w, nacre_operand(c, 7), nacre_operand(c, 10));
}

static size_t embed_norm_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    const nacre_f32_embed_norm_words *const w = (const void *)words;
    return w->half == 0 ? 0 : (2 + 2 * threads) * nacre_align_floats((size_t)w->n) * sizeof(float);
}

const nacre_entry nacre_f32_embed_norm_entry = {
    .words = sizeof(nacre_f32_embed_norm_words) / 8, .operands = 12, .run = embed_norm_command,
    .scratch = embed_norm_scratch,
};
