#include <math.h>

#include "reduce/reduce.h"

static double f32_reduce_step_scalar(nacre_reduce_op op, double acc, double x) {
    switch (op) {
    case NACRE_REDUCE_SUM: return acc + x;
    case NACRE_REDUCE_SUMSQ: return acc + x * x;
    case NACRE_REDUCE_SUMABS: return acc + fabs(x);
    case NACRE_REDUCE_PROD: return acc * x;
    case NACRE_REDUCE_MAX: return isnan(acc) || acc > x ? acc : x;
    case NACRE_REDUCE_MIN: return isnan(acc) || acc < x ? acc : x;
    }
    return acc;
}

static double f32_reduce_identity_scalar(nacre_reduce_op op) {
    switch (op) {
    case NACRE_REDUCE_PROD: return 1;
    case NACRE_REDUCE_MAX: return -INFINITY;
    case NACRE_REDUCE_MIN: return INFINITY;
    default: return 0;
    }
}

void nacre_f32_reduce__scalar(const float *x, size_t rows, size_t stride, size_t cols, nacre_reduce_op op, float *out) {
    for (size_t c = 0; c < cols; c++) {
        double acc = f32_reduce_identity_scalar(op);
        for (size_t r = 0; r < rows; r++) acc = f32_reduce_step_scalar(op, acc, x[r * stride + c]);
        out[c] = (float)acc;
    }
}
