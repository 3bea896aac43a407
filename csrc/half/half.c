#include "half/half.h"

#include "half/half_levels.h"

static const nacre_kernel half_rows[] = {
#define NACRE_KERNEL(op, variant, isa, function) {#op, #variant, isa, (nacre_fn)function, NULL},
#include "half/kernels.inc"
#undef NACRE_KERNEL
};

const nacre_kernel *nacre_half_kernels(size_t *count) {
    *count = sizeof half_rows / sizeof half_rows[0];
    return half_rows;
}

enum { HALF_CHUNK = 16384 };

typedef struct {
    nacre_half_convert *convert;
    size_t n, src_size, dst_size;
    const char *src;
    char *dst;
} half_job;

static void half_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const half_job *const j = job;
    const size_t at = chunk * HALF_CHUNK, rest = j->n - at;
    j->convert(j->src + at * j->src_size, j->dst + at * j->dst_size, rest < HALF_CHUNK ? rest : HALF_CHUNK);
}

static void half_all(nacre_team *team, half_job j) {
    nacre_parallel(team, (j.n + HALF_CHUNK - 1) / HALF_CHUNK, half_chunk, &j);
}

static size_t half_size(nacre_float_type type) { return type == NACRE_FLOAT32 ? sizeof(float) : sizeof(uint16_t); }

void nacre_widen(const nacre_half *half, nacre_team *team, nacre_float_type type, size_t n, const void *src, float *dst) {
    half_all(team, (half_job){half->widen[type], n, half_size(type), sizeof(float), src, (char *)dst});
}

void nacre_narrow(const nacre_half *half, nacre_team *team, nacre_float_type type, size_t n, const float *src, void *dst) {
    half_all(team, (half_job){half->narrow[type], n, sizeof(float), half_size(type), (const char *)src, dst});
}
