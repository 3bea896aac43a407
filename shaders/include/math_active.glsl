// Activations and hyperbolic functions, as accurate as math.glsl says.
#ifndef MATH_ACTIVE_GLSL
#define MATH_ACTIVE_GLSL

#include "math.glsl"

float m_tanh(float x) {
    const float a = magnitude(x);
    if (is_nan(x)) return x;
    if (a > 10.0) return copy_sign(1.0, x);
    precise const float e = m_expm1(a * 2.0), y = e / (e + 2.0);
    return copy_sign(y, x);
}

// m_sigmoid returns e^x / (1 + e^x). Above 44 it is 1.
float m_sigmoid(float x) {
    if (is_nan(x)) return x;
    if (x > 44.0) return 1.0;
    precise const float e = m_exp(x), y = e / (e + 1.0);
    return y;
}

float m_softplus(float x) {
    if (is_nan(x)) return x;
    precise const float y = (x > 0.0 ? x : 0.0) + log1p_positive(m_exp(-magnitude(x)));
    return y;
}

// m_mish returns x tanh(log(1 + e^x)) = x n / (n + 2) with n = e^x (e^x + 2). Above 20 it is x.
float m_mish(float x) {
    if (is_nan(x) || x > 20.0) return x;
    if (is_inf(x)) return NAN;
    if (x < -105.0) return -0.0;
    precise const float e = m_exp(x), n = e * (e + 2.0), y = x * (n / (n + 2.0));
    return y;
}

// erfc_positive returns erfc(z) = exp(-z^2) p(t) / (1 + 2z) for z >= 0, with t = (z - 2) / (z + 2).
// The error of p is 2^-25. The square is exact.
float erfc_positive(float z) {
    if (z > 10.5) return 0.0;
    precise const float t = (z - 2.0) / (z + 2.0);
    precise float p = -4.0023742e-04;
    p = p * t - 1.2305408e-03;
    p = p * t + 1.3134391e-03;
    p = p * t + 8.634298e-03;
    p = p * t - 8.059118e-03;
    p = p * t - 5.4206017e-02;
    p = p * t + 1.6405492e-01;
    p = p * t - 1.6603106e-01;
    p = p * t - 9.276393e-02;
    p = p * t + 1.2769784;
    float low;
    const float high = two_product(z, z, low);
    precise const float e = m_exp(-high), y = p / (z * 2.0 + 1.0) * (e - low * e);
    return y;
}

// m_erf returns x + x Q(x^2) for |x| < 1, and 1 - exp(-P(|x|)) with the sign of x for larger |x|.
// The error of either fit is 2^-29.
float m_erf(float x) {
    if (is_nan(x)) return x;
    const float z = magnitude(x);
    if (z > 4.0) return copy_sign(1.0, x);
    if (z < 1.0) {
        precise const float s = z * z;
        precise float q = 7.920368e-05;
        q = q * s - 8.0307614e-04;
        q = q * s + 5.190734e-03;
        q = q * s - 2.6855126e-02;
        q = q * s + 1.1283618e-01;
        q = q * s - 3.761263e-01;
        q = q * s + 1.2837917e-01;
        precise const float y = q * x + x;
        return y;
    }
    precise float p = 1.8677878e-04;
    p = p * z - 2.9518874e-03;
    p = p * z + 2.1856356e-02;
    p = p * z - 1.03148066e-01;
    p = p * z - 6.3809347e-01;
    p = p * z - 1.1271225;
    p = p * z - 3.3267023e-04;
    precise const float y = 1.0 - m_exp(p);
    return copy_sign(y, x);
}

// m_gelu returns x Phi(x). It computes the tail on the left, and 1 minus the tail on the right, so
// that neither side cancels. Below 0 the error is at most 4 + 1.5 x^2 ulp.
float m_gelu(float x) {
    if (is_nan(x)) return x;
    if (is_inf(x)) return is_negative(x) ? NAN : x;
    precise const float part = 0.5 * erfc_positive(magnitude(x) * 0.70710678);
    precise const float y = x * (x < 0.0 ? part : 1.0 - part);
    return y;
}

// m_gelu_tanh returns x sigmoid(1.6 x + 0.07 x^3). Below 0 the error is at most 4 + 3 x^2 ulp.
float m_gelu_tanh(float x) {
    if (is_nan(x)) return x;
    if (is_inf(x)) return is_negative(x) ? NAN : x;
    if (magnitude(x) > 20.0) return is_negative(x) ? -0.0 : x;
    precise const float y = x * m_sigmoid(1.5957691 * x * (x * x * 0.044715 + 1.0));
    return y;
}

// half_exp returns e^a / 2 for a >= 0, within 64 ulp. It is a product, because e^a may overflow.
float half_exp(float a) {
    precise const float h = m_exp(a * 0.5), y = 0.5 * h * h;
    return y;
}

float m_sinh(float x) {
    if (is_nan(x)) return x;
    const float a = magnitude(x);
    if (a > 20.0) return copy_sign(half_exp(a), x);
    precise const float e = m_expm1(a), y = 0.5 * (e + e / (e + 1.0));
    return copy_sign(y, x);
}

float m_cosh(float x) {
    if (is_nan(x)) return x;
    const float a = magnitude(x);
    if (a > 20.0) return half_exp(a);
    precise const float e = m_exp(a), y = 0.5 * (e + 1.0 / e);
    return y;
}

float m_asinh(float x) {
    if (is_nan(x) || is_inf(x)) return x;
    const float a = magnitude(x);
    if (a > 16777216.0) return copy_sign(m_log(a) + 0.6931471805599453, x);
    precise const float s = a * a, y = log1p_positive(a + s / (1.0 + m_sqrt(1.0 + s)));
    return copy_sign(y, x);
}

float m_acosh(float x) {
    if (is_nan(x) || x < 1.0) return NAN;
    if (x > 16777216.0) return m_log(x) + 0.6931471805599453;
    precise const float t = x - 1.0, y = t + m_sqrt(t * 2.0 + t * t);
    return log1p_positive(y);
}

float m_atanh(float x) {
    const float a = magnitude(x);
    if (is_nan(x) || a > 1.0) return NAN;
    if (a == 1.0) return copy_sign(INFINITY, x);
    precise const float y = 0.5 * log1p_positive(2.0 * a / (1.0 - a));
    return copy_sign(y, x);
}

#endif
