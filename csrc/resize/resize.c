#include "resize/resize.h"

#include "core/target.h"

// Each kernel is declared once more by its own row, with the type of its op.
#define NACRE_KERNEL(op, variant, isa, function) RESIZE_DECLARE_##op(function)
#define RESIZE_DECLARE_f32_resample_cols(function) \
    void function(const float *x, size_t stride, size_t cols, const nacre_resampling *r, size_t j, float *out);
#define RESIZE_DECLARE_f32_resample_row(function) void function(const float *x, const nacre_resampling *r, float *out);
#include "resize/kernels.inc"
#undef NACRE_KERNEL

const nacre_kernel nacre_resize_kernels[] = {
#define NACRE_KERNEL(op, variant, isa, function) {#op, #variant, isa, (nacre_fn)function, NULL},
#include "resize/kernels.inc"
#undef NACRE_KERNEL
};
const size_t nacre_resize_kernel_count = sizeof nacre_resize_kernels / sizeof nacre_resize_kernels[0];

// Products that a chunk of work should at least have.
enum { RESIZE_GRAIN = 1 << 14 };

typedef struct {
    nacre_f32_resample_cols_fn cols;
    nacre_f32_resample_row_fn row;
    const float *x;
    size_t rows, n, inner; // rows of the output
    const nacre_resampling *r;
    float *out;
    size_t per_chunk;
} resample_job;

static void resample_task(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const resample_job *j = job;
    const size_t first = chunk * j->per_chunk, last = j->rows - first < j->per_chunk ? j->rows : first + j->per_chunk;
    for (size_t i = first; i < last; i++) {
        if (j->inner == 1) {
            j->row(j->x + i * j->n, j->r, j->out + i * j->r->m);
            continue;
        }
        const size_t o = i / j->r->m, k = i % j->r->m;
        j->cols(j->x + (o * j->n + (size_t)j->r->start[k]) * j->inner, j->inner, j->inner, j->r, k, j->out + i * j->inner);
    }
}

void nacre_f32_resample(nacre_f32_resample_cols_fn cols, nacre_f32_resample_row_fn row, nacre_team *team, const float *x, size_t outer,
                        size_t n, size_t inner, const nacre_resampling *r, float *out) {
    resample_job j = {cols, row, x, inner == 1 ? outer : outer * r->m, n, inner, r, out, 1};
    const size_t work = r->taps * (inner == 1 ? r->m : inner);
    if (j.rows == 0 || work == 0) return;
    if (work < RESIZE_GRAIN) j.per_chunk = RESIZE_GRAIN / work;
    nacre_parallel(team, j.rows / j.per_chunk + (j.rows % j.per_chunk != 0), resample_task, &j);
}
