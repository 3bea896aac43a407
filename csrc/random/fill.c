// Commands random_fill and random_bernoulli: blocks of a stream, computed in float64 and converted
// to the type of the elements.
#include <string.h>

#include "core/simd.h"
#include "random/random.h"

// RANDOM_CHUNK is the number of blocks per chunk.
enum { RANDOM_CHUNK = 64 };

typedef void random_convert_fn(const void *x, void *y, size_t n);

typedef struct {
    nacre_random_units_fn *units;
    uint64_t key;
    int normal;
    double low, high;
    size_t n;
    const char *x;  // NULL for random_fill
    char *y;
    nacre_random_storage x_storage, y_storage;
} random_job;

// random_convert converts n elements of x to elements of y by the rows of a storage.
static void random_convert(nacre_random_storage l, const void *x, void *y, size_t n) {
    double middle[NACRE_RANDOM_BLOCK];
    if (l.first == 0) {
        memcpy(y, x, n * (size_t)l.bytes);
    } else if (l.later == 0) {
        ((random_convert_fn *)nacre_part_fn(l.first))(x, y, n);
    } else {
        ((random_convert_fn *)nacre_part_fn(l.first))(x, middle, n);
        ((random_convert_fn *)nacre_part_fn(l.later))(middle, y, n);
    }
}

static void random_task(void *arg, size_t chunk, size_t thread) {
    (void)thread;
    const random_job *const j = arg;
    const size_t per = (size_t)RANDOM_CHUNK * NACRE_RANDOM_BLOCK, end = nacre_chunk_end(chunk * per, per, j->n);
    for (size_t i = chunk * per; i < end; i += NACRE_RANDOM_BLOCK) {
        double u[NACRE_RANDOM_BLOCK], p[NACRE_RANDOM_BLOCK];
        const size_t n = nacre_min(NACRE_RANDOM_BLOCK, end - i);
        j->units(j->key, i, j->normal, u);
        if (j->x != NULL) {
            random_convert(j->x_storage, j->x + i * (size_t)j->x_storage.bytes, p, n);
            NACRE_SIMD for (size_t k = 0; k < n; k++) u[k] = u[k] < p[k] ? 1 : 0;
        } else {
            const double low = j->low, scale = j->normal ? j->high : j->high - j->low;
            NACRE_SIMD for (size_t k = 0; k < n; k++) u[k] = low + scale * u[k];
        }
        random_convert(j->y_storage, u, j->y + i * (size_t)j->y_storage.bytes, n);
    }
}

static void random_start(const nacre_call *c, random_job *j) {
    nacre_parallel(c->team, nacre_ceil_div(j->n, (size_t)RANDOM_CHUNK * NACRE_RANDOM_BLOCK), random_task, j);
}

static void fill_run(const nacre_call *c) {
    const nacre_random_fill_words *const w = (const void *)c->words;
    random_job j = {
        .units = (nacre_random_units_fn *)c->kernel->fn, .key = (uint64_t)w->key, .normal = w->normal != 0,
        .low = w->low, .high = w->high, .n = (size_t)w->n, .y = nacre_operand(c, 0), .y_storage = w->y,
    };
    random_start(c, &j);
}

static void bernoulli_run(const nacre_call *c) {
    const nacre_random_bernoulli_words *const w = (const void *)c->words;
    random_job j = {
        .units = (nacre_random_units_fn *)c->kernel->fn, .key = (uint64_t)w->key, .n = (size_t)w->n,
        .x = nacre_operand(c, 0), .y = nacre_operand(c, 1), .x_storage = w->x, .y_storage = w->y,
    };
    random_start(c, &j);
}

const nacre_entry nacre_random_fill_entry = {
    .words = sizeof(nacre_random_fill_words) / 8, .operands = 1, .run = fill_run,
};
const nacre_entry nacre_random_bernoulli_entry = {
    .words = sizeof(nacre_random_bernoulli_words) / 8, .operands = 2, .run = bernoulli_run,
};
