// Reductions of integers. Sums and products wrap around.
#include "reduce/reduce.h"

enum { INT_REDUCE_GRAIN = 1 << 16 };  // elements of x that a chunk reads

#define INT_REDUCE(name, T, U)                                                                 \
    void name(const void *src, size_t rows, size_t stride, nacre_reduce_op op, void *dst) {    \
        const T *const x = src;                                                                \
        T *const out = dst;                                                                    \
        U sum = op == NACRE_REDUCE_PROD;                                                       \
        T best = rows > 0 ? x[0] : 0;                                                          \
        for (size_t r = 0; r < rows; r++) {                                                    \
            const T v = x[r * stride];                                                         \
            if (op == NACRE_REDUCE_SUM) sum += (U)v;                                           \
            if (op == NACRE_REDUCE_PROD) sum *= (U)v;                                          \
            if (op == NACRE_REDUCE_MAX ? v > best : v < best) best = v;                        \
        }                                                                                      \
        *out = op == NACRE_REDUCE_SUM || op == NACRE_REDUCE_PROD ? (T)sum : best;              \
    }

INT_REDUCE(nacre_i64_reduce__scalar, int64_t, uint64_t)
INT_REDUCE(nacre_i32_reduce__scalar, int32_t, uint32_t)

typedef struct {
    const nacre_int_reduce_words *w;
    nacre_int_reduce_fn *fn;
    const char *x;
    char *out;
    size_t step;  // results of a chunk
} int_reduce_job;

static void int_reduce_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const int_reduce_job *const j = job;
    const size_t n = (size_t)j->w->n, inner = (size_t)j->w->inner, size = (size_t)j->w->size;
    const size_t all = (size_t)j->w->outer * inner, end = all - chunk * j->step < j->step ? all : (chunk + 1) * j->step;
    for (size_t i = chunk * j->step; i < end; i++) {
        j->fn(j->x + (i / inner * n * inner + i % inner) * size, n, inner, (nacre_reduce_op)j->w->op,
              j->out + i * size);
    }
}

static void int_reduce_run(const nacre_call *c) {
    const nacre_int_reduce_words *const w = (const void *)c->words;
    const size_t all = (size_t)w->outer * (size_t)w->inner, n = w->n > 0 ? (size_t)w->n : 1;
    int_reduce_job j = {w, (nacre_int_reduce_fn *)c->kernel->fn, nacre_operand(c, 0), nacre_operand(c, 1), 1};
    if (n < INT_REDUCE_GRAIN) j.step = INT_REDUCE_GRAIN / n;
    nacre_parallel(all <= j.step ? NULL : c->team, nacre_ceil_div(all, j.step), int_reduce_chunk, &j);
}

const nacre_entry nacre_int_reduce_entry = {.words = sizeof(nacre_int_reduce_words) / 8, .operands = 2,
                                            .run = int_reduce_run};
