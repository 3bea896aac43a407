#include <math.h>

#include "ml/ml.h"

void nacre_f32_rbf__scalar(const float *x, const float *v, size_t n, size_t stride, size_t k, float gamma, float *out) {
    for (size_t j = 0; j < n; j++) {
        float sum = 0;
        for (size_t i = 0; i < k; i++) {
            const float d = x[i] - v[i * stride + j];
            sum += d * d;
        }
        out[j] = expf(-gamma * sum);
    }
}
