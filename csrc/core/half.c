#include "core/half.h"

enum { HALF_CHUNK = 16384 };

typedef struct {
    nacre_float_type type;
    size_t n;
    const void *src;
    void *dst;
} half_job;

static size_t half_span(const half_job *j, size_t chunk) {
    const size_t rest = j->n - chunk * HALF_CHUNK;
    return rest < HALF_CHUNK ? rest : HALF_CHUNK;
}

static void widen_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const half_job *const j = job;
    const uint16_t *const src = (const uint16_t *)j->src + chunk * HALF_CHUNK;
    float *const dst = (float *)j->dst + chunk * HALF_CHUNK;
    const size_t n = half_span(j, chunk);
    if (j->type == NACRE_FLOAT16) {
        for (size_t i = 0; i < n; i++) dst[i] = nacre_f16_to_f32(src[i]);
    } else {
        for (size_t i = 0; i < n; i++) dst[i] = nacre_bf16_to_f32(src[i]);
    }
}

static void narrow_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const half_job *const j = job;
    const float *const src = (const float *)j->src + chunk * HALF_CHUNK;
    uint16_t *const dst = (uint16_t *)j->dst + chunk * HALF_CHUNK;
    const size_t n = half_span(j, chunk);
    if (j->type == NACRE_FLOAT16) {
        for (size_t i = 0; i < n; i++) dst[i] = nacre_f32_to_f16(src[i]);
    } else {
        for (size_t i = 0; i < n; i++) dst[i] = nacre_f32_to_bf16(src[i]);
    }
}

void nacre_widen(nacre_pool *pool, nacre_float_type type, size_t n, const uint16_t *src, float *dst) {
    half_job j = {type, n, src, dst};
    nacre_parallel(pool, (n + HALF_CHUNK - 1) / HALF_CHUNK, widen_chunk, &j);
}

void nacre_narrow(nacre_pool *pool, nacre_float_type type, size_t n, const float *src, uint16_t *dst) {
    half_job j = {type, n, src, dst};
    nacre_parallel(pool, (n + HALF_CHUNK - 1) / HALF_CHUNK, narrow_chunk, &j);
}
