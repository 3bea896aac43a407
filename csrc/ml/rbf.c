#include "ml/ml.h"

// Subtractions that a chunk of work should at least have.
enum { RBF_GRAIN = 1 << 15 };

typedef struct {
    nacre_f32_rbf_fn kernel;
    const float *x, *v;
    size_t rows, k, n, stride;
    float gamma;
    float *out;
    size_t per_chunk;
} rbf_job;

static void rbf_task(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const rbf_job *j = job;
    const size_t first = chunk * j->per_chunk, last = first + j->per_chunk < j->rows ? first + j->per_chunk : j->rows;
    for (size_t r = first; r < last; r++) j->kernel(j->x + r * j->k, j->v, j->n, j->stride, j->k, j->gamma, j->out + r * j->n);
}

void nacre_f32_rbf(nacre_f32_rbf_fn kernel, nacre_team *team, const float *x, size_t rows, size_t k, const float *v, size_t n, float gamma,
                   float *out) {
    const size_t stride = (n + NACRE_ML_PAD - 1) / NACRE_ML_PAD * NACRE_ML_PAD;
    rbf_job j = {kernel, x, v, rows, k, n, stride, gamma, out, 0};
    j.per_chunk = 1 + RBF_GRAIN / (n * k + 1);
    nacre_parallel(team, (rows + j.per_chunk - 1) / j.per_chunk, rbf_task, &j);
}
