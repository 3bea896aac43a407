#include <math.h>

#include "attention/attention.h"
#include "core/target.h"

void nacre_f32_causal_conv__scalar(const float *x, size_t n, const float *w, size_t taps, size_t step, float bias, bool silu,
                                   float *out) {
    for (size_t t = 0; t < n; t++) {
        float sum = bias;
        for (size_t j = 0; j < taps; j++) sum += w[j] * x[t + j * step];
        out[t] = silu ? sum / (1 + expf(-sum)) : sum;
    }
}
