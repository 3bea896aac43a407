// unary(function, x, p, q) computes a function of unary.glsl in float32. p and q are parameters as
// in the CPU's kernels.
#ifndef UNARY_FLOAT_GLSL
#define UNARY_FLOAT_GLSL

#include "math_active.glsl"
#include "math_trig.glsl"
#include "unary.glsl"

float clip(float x, float lo, float hi) {
    const float low = x < lo ? lo : x;
    return low > hi ? hi : low;
}

// weighted returns x v. Infinity times 0 is NaN.
float weighted(float x, float v) {
    precise const float y = is_inf(x) && is_zero(v) ? NAN : x * v;
    return y;
}

float linear(float x, float p, float q) {
    precise const float y = x * p + q;
    return y;
}

float softsign(float x) {
    if (is_inf(x)) return NAN;
    precise const float y = x / (1.0 + magnitude(x));
    return y;
}

float reciprocal(float x) {
    if (is_zero(x)) return copy_sign(INFINITY, x);
    if (is_inf(x)) return copy_sign(0.0, x);
    precise const float y = 1.0 / x;
    return y;
}

// bent is an exponential below 0 and a line above 0.
float bent(float x, float below, float slope, float divisor) {
    precise const float y = x < 0.0 ? below * m_expm1(x / divisor) : slope * x;
    return y;
}

float shrink(float x, float p, float q) {
    precise const float y = x < -p ? x + q : x > p ? x - q : 0.0;
    return y;
}

float unary(uint function, float x, float p, float q) {
    if (is_nan(x)) return function == F_thresholded_relu || function == F_shrink ? 0.0 : x;
    switch (function) {
    case F_abs: return magnitude(x);
    case F_neg: return negated(x);
    case F_sign: return is_zero(x) ? 0.0 : copy_sign(1.0, x);
    case F_relu: return x < 0.0 ? 0.0 : x;
    case F_clip: return clip(x, p, q);
    case F_leaky_relu: return x < 0.0 ? x * p : x;
    case F_thresholded_relu: return x > p ? x : 0.0;
    case F_hard_sigmoid: return clip(linear(x, p, q), 0.0, 1.0);
    case F_hard_swish: return weighted(x, clip(linear(x, 0.16666667, 0.5), 0.0, 1.0));
    case F_softsign: return softsign(x);
    case F_sqrt: return m_sqrt(x);
    case F_reciprocal: return reciprocal(x);
    case F_floor: return m_floor(x);
    case F_ceil: return m_ceil(x);
    case F_round: return m_round(x);
    case F_exp: return m_exp(x);
    case F_log: return m_log(x);
    case F_tanh: return m_tanh(x);
    case F_sigmoid: return m_sigmoid(x);
    case F_swish: return weighted(x, m_sigmoid(p * x));
    case F_softplus: return m_softplus(x);
    case F_mish: return m_mish(x);
    case F_elu: return bent(x, p, 1.0, 1.0);
    case F_selu: return bent(x, p * q, q, 1.0);
    case F_celu: return bent(x, p, 1.0, p);
    case F_erf: return m_erf(x);
    case F_gelu: return m_gelu(x);
    case F_gelu_tanh: return m_gelu_tanh(x);
    case F_sin: return m_sin(x);
    case F_cos: return m_cos(x);
    case F_tan: return m_tan(x);
    case F_asin: return m_asin(x);
    case F_acos: return m_acos(x);
    case F_atan: return m_atan(x);
    case F_sinh: return m_sinh(x);
    case F_cosh: return m_cosh(x);
    case F_asinh: return m_asinh(x);
    case F_acosh: return m_acosh(x);
    case F_atanh: return m_atanh(x);
    case F_shrink: return shrink(x, p, q);
    default: return NAN;
    }
}

#endif
