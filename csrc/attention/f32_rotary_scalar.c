#include "attention/attention.h"
#include "core/target.h"

void nacre_f32_rotary__scalar(const float *x, size_t n, const float *cos, const float *sin, bool interleaved, float *out) {
    const size_t apart = interleaved ? 1 : n, step = interleaved ? 2 : 1;
    for (size_t i = 0; i < n; i++) {
        const float a = x[i * step], b = x[i * step + apart];
        out[i * step] = cos[i] * a - sin[i] * b;
        out[i * step + apart] = sin[i] * a + cos[i] * b;
    }
}
