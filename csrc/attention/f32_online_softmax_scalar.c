#include <math.h>

#include "attention/attention.h"

float nacre_f32_online_softmax__scalar(float *x, size_t n, float gain, const float *bias, float *top, float *sum) {
    const float before = *top;
    float now = before;
    for (size_t j = 0; j < n; j++) {
        x[j] = x[j] * gain + (bias == NULL ? 0 : bias[j]);
        if (x[j] > now) now = x[j];
    }
    if (now == -INFINITY) {
        for (size_t j = 0; j < n; j++) {
            x[j] = x[j] == now ? 0 : x[j];  // what is left is NaN
            *sum += x[j];
        }
        return 1;
    }
    const float scale = expf(before - now);
    double total = 0;
    for (size_t j = 0; j < n; j++) {
        x[j] = expf(x[j] - now);
        total += x[j];
    }
    *top = now;
    *sum = *sum * scale + (float)total;
    return scale;
}
