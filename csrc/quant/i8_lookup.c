// The driver of i8_lookup: rows, threads.
#include "quant/quant.h"

enum { I8_LOOKUP_GRAIN = 1 << 15 };

typedef struct {
    nacre_i8_lookup_fn *kernel;
    size_t rows, n, x_row, y_row, parts, per_chunk;  // parts of a row, or rows, that a chunk is
    const uint8_t *x, *table;
    uint8_t *y;
} i8_lookup_job;

static size_t i8_lookup_least(size_t a, size_t b) { return a < b ? a : b; }

static void i8_lookup_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const i8_lookup_job *const j = job;
    if (j->parts > 1) {
        const size_t r = chunk / j->parts, at = chunk % j->parts * I8_LOOKUP_GRAIN;
        j->kernel(i8_lookup_least(I8_LOOKUP_GRAIN, j->n - at), j->x + r * j->x_row + at, j->table, j->y + r * j->y_row + at);
        return;
    }
    const size_t end = i8_lookup_least(j->rows, (chunk + 1) * j->per_chunk);
    for (size_t r = chunk * j->per_chunk; r < end; r++) j->kernel(j->n, j->x + r * j->x_row, j->table, j->y + r * j->y_row);
}

void nacre_i8_lookup(nacre_i8_lookup_fn *kernel, nacre_team *team, size_t rows, size_t n, size_t x_row, size_t y_row, const uint8_t *x,
                     const uint8_t *table, uint8_t *y) {
    if (n == 0) return;
    if (x_row == n && y_row == n) {
        n *= rows;
        rows = n == 0 ? 0 : 1;
    }
    i8_lookup_job j = {kernel, rows, n, x_row, y_row, (n + I8_LOOKUP_GRAIN - 1) / I8_LOOKUP_GRAIN, 1, x, table, y};
    if (j.parts == 1) j.per_chunk = I8_LOOKUP_GRAIN / n;
    nacre_parallel(team, j.parts > 1 ? rows * j.parts : (rows + j.per_chunk - 1) / j.per_chunk, i8_lookup_chunk, &j);
}
