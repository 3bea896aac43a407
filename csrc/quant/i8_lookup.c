// The driver of i8_lookup: rows, threads.
#include "quant/numbers.h"

enum { I8_LOOKUP_GRAIN = 1 << 15 };

typedef struct {
    nacre_i8_lookup_fn *kernel;
    size_t rows, n, x_row, y_row, parts, per_chunk;  // parts of a row; rows of a chunk if there is one part
    const uint8_t *x, *table;
    uint8_t *y;
} i8_lookup_job;

static void i8_lookup_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const i8_lookup_job *const j = job;
    if (j->parts > 1) {
        const size_t r = chunk / j->parts, at = chunk % j->parts * I8_LOOKUP_GRAIN;
        j->kernel(nacre_min(I8_LOOKUP_GRAIN, j->n - at), j->x + r * j->x_row + at, j->table, j->y + r * j->y_row + at);
        return;
    }
    const size_t end = nacre_min(j->rows, (chunk + 1) * j->per_chunk);
    for (size_t r = chunk * j->per_chunk; r < end; r++) {
        j->kernel(j->n, j->x + r * j->x_row, j->table, j->y + r * j->y_row);
    }
}

void nacre_i8_lookup(nacre_i8_lookup_fn *kernel, nacre_team *team, size_t rows, size_t n, size_t x_row, size_t y_row,
                     const uint8_t *x, const uint8_t *table, uint8_t *y) {
    if (n == 0) return;
    if (x_row == n && y_row == n) {
        n *= rows;
        rows = n == 0 ? 0 : 1;
    }
    i8_lookup_job j = {kernel, rows, n, x_row, y_row, nacre_ceil_div(n, I8_LOOKUP_GRAIN), 1, x, table, y};
    if (j.parts == 1) j.per_chunk = I8_LOOKUP_GRAIN / n;
    nacre_parallel(team, j.parts > 1 ? rows * j.parts : nacre_ceil_div(rows, j.per_chunk), i8_lookup_chunk, &j);
}

// ---- commands ----

static void i8_lookup_copy(size_t n, const uint8_t *x, const uint8_t *table, uint8_t *y) {
    (void)table;
    memcpy(y, x, n);
}

static void i8_lookup_command(const nacre_call *c) {
    const nacre_i8_lookup_words *const w = (const void *)c->words;
    const uint8_t *const table = nacre_operand(c, 1);
    nacre_i8_lookup_fn *const kernel = table == NULL ? i8_lookup_copy : (nacre_i8_lookup_fn *)c->kernel->fn;
    nacre_i8_lookup(kernel, c->team, (size_t)w->rows, (size_t)w->n, (size_t)w->x_row, (size_t)w->y_row,
                    nacre_operand(c, 0), table, nacre_operand(c, 2));
}

static float i8_table_value(const nacre_i8_table_words *w, float x) {
    switch (w->function) {
        case NACRE_QUANT_SIGMOID: return (float)(1 / (1 + exp(-(double)x)));
        case NACRE_QUANT_LEAKY_RELU: return x < 0 ? (float)w->alpha * x : x;
        default: return x;
    }
}

static void i8_table_command(const nacre_call *c) {
    const nacre_i8_table_words *const w = (const void *)c->words;
    const nacre_dtype code = w->is_signed ? NACRE_DTYPE_i8 : NACRE_DTYPE_u8;
    const quant_tensor x = quant_tensor_of(c, 0, w->x_scale, code), y = quant_tensor_of(c, 2, w->y_scale, code);
    uint8_t *const table = nacre_operand(c, 4);
    const int low = w->is_signed ? -128 : 0;
    for (int q = low; q < low + 256; q++) {
        const float v = x.scale * (float)(q - x.zero);
        const double r = rint((double)(i8_table_value(w, v) / y.scale)) + y.zero;
        table[(uint8_t)q] = (uint8_t)(r > low ? r < low + 255 ? (int)r : low + 255 : low);
    }
}

const nacre_entry nacre_i8_lookup_entry = {.words = sizeof(nacre_i8_lookup_words) / 8, .operands = 3,
                                           .run = i8_lookup_command};
const nacre_entry nacre_i8_table_entry = {.words = sizeof(nacre_i8_table_words) / 8, .operands = 5,
                                          .run = i8_table_command};
