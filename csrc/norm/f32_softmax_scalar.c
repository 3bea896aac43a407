#include <math.h>

#include "norm/norm.h"

void nacre_f32_softmax__scalar(const float *x, size_t n, size_t stride, size_t cols, bool log_, float *out) {
    for (size_t c = 0; c < cols; c++) {
        float top = -INFINITY;
        for (size_t k = 0; k < n; k++) {
            if (x[k * stride + c] > top) top = x[k * stride + c];
        }
        double sum = 0;
        for (size_t k = 0; k < n; k++) sum += exp((double)x[k * stride + c] - top);
        const double log_sum = log(sum);
        for (size_t k = 0; k < n; k++) {
            const double d = (double)x[k * stride + c] - top;
            out[k * stride + c] = (float)(log_ ? d - log_sum : exp(d) / sum);
        }
    }
}
