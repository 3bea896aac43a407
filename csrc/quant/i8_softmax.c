// Softmax of codes, with weights from a table.
#include "core/simd.h"
#include "quant/numbers.h"

enum { I8_SOFTMAX_COLUMNS = 64, I8_SOFTMAX_GRAIN = 1 << 14 };

typedef struct {
    nacre_i8_lookup_fn *lookup;
    const nacre_i8_softmax *s;
    size_t outer, n, inner;
    size_t parts, per_chunk;  // blocks of columns of a slice; slices of a chunk, if there is one block
    const uint8_t *x;
    uint8_t *y;
} i8_softmax_job;

// Returns the bits that turn signed codes into unsigned ones in the same order.
static uint8_t i8_softmax_flip(const i8_softmax_job *j) { return j->s->is_signed ? 0x80 : 0; }

static uint8_t i8_softmax_code(const i8_softmax_job *j, float weight, float sum) {
    const int low = j->s->is_signed ? -128 : 0, zero = j->s->zero;
    float q = rintf(weight * j->s->ratio / sum);
    q = q > (float)(low - zero) ? q : (float)(low - zero);
    q = q < (float)(low + 255 - zero) ? q : (float)(low + 255 - zero);
    return (uint8_t)((int)q + zero);
}

static void i8_softmax_row(const i8_softmax_job *j, const uint8_t *x, uint8_t *y) {
    const float *const weights = j->s->weights;
    const uint8_t flip = i8_softmax_flip(j);
    uint8_t top = 0;
    NACRE_SIMD_MAX(top) for (size_t k = 0; k < j->n; k++) top = top > (x[k] ^ flip) ? top : (uint8_t)(x[k] ^ flip);
    double sums[4] = {0};
    size_t k = 0;
    for (; k + 4 <= j->n; k += 4) {
        for (size_t l = 0; l < 4; l++) sums[l] += (double)weights[top - (x[k + l] ^ flip)];
    }
    for (; k < j->n; k++) sums[0] += (double)weights[top - (x[k] ^ flip)];
    const float sum = (float)((sums[0] + sums[1]) + (sums[2] + sums[3]));
    if (j->n < 256) {
        for (k = 0; k < j->n; k++) y[k] = i8_softmax_code(j, weights[top - (x[k] ^ flip)], sum);
        return;
    }
    uint8_t table[256];
    for (size_t code = 0; code < 256; code++) {
        const size_t order = code ^ flip;
        table[code] = order > top ? 0 : i8_softmax_code(j, weights[top - order], sum);
    }
    j->lookup(j->n, x, table, y);
}

// Computes `count` adjacent columns.
static void i8_softmax_columns(const i8_softmax_job *j, size_t count, const uint8_t *x, uint8_t *y) {
    const float *const weights = j->s->weights;
    const uint8_t flip = i8_softmax_flip(j);
    uint8_t top[I8_SOFTMAX_COLUMNS] = {0};
    double sums[I8_SOFTMAX_COLUMNS] = {0};
    for (size_t k = 0; k < j->n; k++) {
        const uint8_t *const at = x + k * j->inner;
        NACRE_SIMD for (size_t c = 0; c < count; c++) top[c] =
            top[c] > (at[c] ^ flip) ? top[c] : (uint8_t)(at[c] ^ flip);
    }
    for (size_t k = 0; k < j->n; k++) {
        NACRE_SIMD for (size_t c = 0; c < count; c++) sums[c] += (double)weights[top[c] - (x[k * j->inner + c] ^ flip)];
    }
    for (size_t k = 0; k < j->n; k++) {
        for (size_t c = 0; c < count; c++) {
            const size_t at = k * j->inner + c;
            y[at] = i8_softmax_code(j, weights[top[c] - (x[at] ^ flip)], (float)sums[c]);
        }
    }
}

static void i8_softmax_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const i8_softmax_job *const j = job;
    if (j->inner == 1) {
        const size_t begin = chunk * j->per_chunk, rest = j->outer - begin;
        for (size_t r = begin; r < begin + nacre_min(rest, j->per_chunk); r++) {
            i8_softmax_row(j, j->x + r * j->n, j->y + r * j->n);
        }
        return;
    }
    const size_t first = chunk % j->parts * I8_SOFTMAX_COLUMNS, at = chunk / j->parts * j->n * j->inner + first;
    const size_t count = j->inner - first < I8_SOFTMAX_COLUMNS ? j->inner - first : I8_SOFTMAX_COLUMNS;
    i8_softmax_columns(j, count, j->x + at, j->y + at);
}

void nacre_i8_softmax_run(nacre_i8_lookup_fn *lookup, const nacre_i8_softmax *s, nacre_team *team, size_t outer,
                          size_t n, size_t inner, const uint8_t *x, uint8_t *y) {
    if (n == 0 || inner == 0) return;
    i8_softmax_job j = {lookup, s, outer, n, inner, nacre_ceil_div(inner, I8_SOFTMAX_COLUMNS), 1, x, y};
    if (inner > 1) {
        nacre_parallel(team, outer * j.parts, i8_softmax_chunk, &j);
        return;
    }
    if (n < I8_SOFTMAX_GRAIN) j.per_chunk = I8_SOFTMAX_GRAIN / n;
    nacre_parallel(team, nacre_ceil_div(outer, j.per_chunk), i8_softmax_chunk, &j);
}

// ---- commands ----

// ONNX Runtime rounds down the number of steps of the result up to 1, and so does this.
static void i8_softmax_table_command(const nacre_call *c) {
    const nacre_i8_softmax_table_words *const w = (const void *)c->words;
    const double x = (double)quant_float((nacre_dtype)w->x_scale, nacre_operand(c, 0), 0);
    float *const table = nacre_operand(c, 2);
    for (int d = 0; d < 256; d++) table[d] = (float)exp(-(double)d * x);
    table[256] = floorf(1 / quant_float((nacre_dtype)w->y_scale, nacre_operand(c, 1), 0));
}

static void i8_softmax_command(const nacre_call *c) {
    const nacre_i8_softmax_words *const w = (const void *)c->words;
    const float *const table = nacre_operand(c, 1);
    const void *const zero = nacre_operand(c, 2);
    const nacre_dtype code = w->is_signed ? NACRE_DTYPE_i8 : NACRE_DTYPE_u8;
    const nacre_i8_softmax s = {table, (int)w->is_signed, table[256], zero == NULL ? 0 : quant_integer(code, zero, 0)};
    nacre_i8_softmax_run((nacre_i8_lookup_fn *)nacre_part_fn(w->lookup), &s, c->team, (size_t)w->outer, (size_t)w->n,
                         (size_t)w->inner, nacre_operand(c, 0), nacre_operand(c, 3));
}

const nacre_entry nacre_i8_softmax_entry = {.words = sizeof(nacre_i8_softmax_words) / 8, .operands = 4,
                                            .run = i8_softmax_command};
const nacre_entry nacre_i8_softmax_table_entry = {.words = sizeof(nacre_i8_softmax_table_words) / 8, .operands = 3,
                                                  .run = i8_softmax_table_command};
