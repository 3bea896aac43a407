#include <math.h>

#include "norm/norm.h"

void nacre_f32_lrn__scalar(const float *x, size_t channels, size_t stride, size_t cols, const nacre_lrn_params *p, float *out) {
    const size_t before = (p->size - 1) / 2, after = p->size / 2;
    for (size_t k = 0; k < channels; k++) {
        const size_t first = k < before ? 0 : k - before, last = channels - k <= after ? channels : k + after + 1;
        for (size_t c = 0; c < cols; c++) {
            double sum = 0;
            for (size_t j = first; j < last; j++) sum += (double)x[j * stride + c] * x[j * stride + c];
            out[k * stride + c] = (float)(x[k * stride + c] / pow(p->bias + p->alpha * sum, p->beta));
        }
    }
}
