// Functions of float32, made of sums, products, divisions and bits, so that drivers agree. If a
// driver rounds division and square root correctly, errors are at most 4 ulp, except where a
// comment states another bound. For infinities and NaN, results are as in the CPU's kernels.
// Subnormal results may be 0.
// Coefficients are minimax fits of the function named in the comment.
#ifndef MATH_GLSL
#define MATH_GLSL

#include "bits.glsl"

const float LN2_HIGH = 0.693145751953125;  // few bits: its products with whole numbers are exact
const float LN2_LOW = 1.428606765330187e-06;
const float LOG2E = 1.4426950216293335;

// two_product returns a b rounded; low is the rounding error. Neither may overflow or be subnormal.
float two_product(float a, float b, out float low) {
    precise const float ah = uintBitsToFloat(floatBitsToUint(a) & 0xfffff000u), al = a - ah;
    precise const float bh = uintBitsToFloat(floatBitsToUint(b) & 0xfffff000u), bl = b - bh;
    precise const float p = a * b;
    precise const float l = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
    low = l;
    return p;
}

// scaled returns x 2^n for n from -252 to 254. It multiplies by two powers, so that results may be
// subnormal.
float scaled(float x, int n) {
    const int part = n >> 1;
    precise const float y = x * intBitsToFloat((part + 127) << 23) * intBitsToFloat((n - part + 127) << 23);
    return y;
}

// expm1_part returns expm1(r) = r + r^2 q(r) for x = n ln 2 + r with |r| <= ln(2)/2. The error
// before rounding is 2^-33 of exp(r).
float expm1_part(float x, out int n) {
    precise const float whole = floor(x * LOG2E + 0.5);
    precise const float r = (x - whole * LN2_HIGH) - whole * LN2_LOW;
    precise float q = 1.9945152e-04;
    q = q * r + 1.3935104e-03;
    q = q * r + 8.333207e-03;
    q = q * r + 4.1666463e-02;
    q = q * r + 1.6666667e-01;
    q = q * r + 0.5;
    precise const float y = r * r * q + r;
    n = int(whole);
    return y;
}

float m_exp(float x) {
    if (is_nan(x)) return x;
    if (x > 89.0) return INFINITY;
    if (x < -105.0) return 0.0;
    int n;
    precise const float y = expm1_part(x, n) + 1.0;
    return scaled(y, n);
}

float m_expm1(float x) {
    if (is_nan(x)) return x;
    if (x > 89.0) return INFINITY;
    if (x < -30.0) return -1.0;
    int n;
    const float e = expm1_part(x, n);
    if (n > 30) return scaled(e + 1.0, n);
    precise const float scale = scaled(1.0, n), y = scale * e + (scale - 1.0);
    return y;
}

// m_exp2 returns 2^x, within 4 ulp for |x| < 16 and within 1e-5 of the result elsewhere.
float m_exp2(float x) {
    if (is_nan(x)) return x;
    if (x > 128.5) return INFINITY;
    if (x < -151.0) return 0.0;
    precise const float whole = floor(x + 0.5), r = x - whole;
    int n;
    precise const float y = expm1_part(r * 0.6931471805599453, n) + 1.0;
    return scaled(y, n + int(whole));
}

// log_tail returns P(f), for log(1 + f) = f - f^2/2 + f^3 P(f) with 1 + f between sqrt(1/2) and
// sqrt(2).
float log_tail(float f) {
    precise float p = 6.9156125e-02;
    p = p * f - 1.178937e-01;
    p = p * f + 1.18726194e-01;
    p = p * f - 1.2384402e-01;
    p = p * f + 1.4218716e-01;
    p = p * f - 1.666925e-01;
    p = p * f + 2.0002224e-01;
    p = p * f - 2.4999987e-01;
    p = p * f + 3.333331e-01;
    return p;
}

// split returns f and e for x = 2^e (1 + f), with 1 + f between sqrt(1/2) and sqrt(2). x is
// positive and finite.
float split(float x, out float e) {
    uint u = floatBitsToUint(x);
    float low = 0.0;
    if (u < 0x00800000u) {
        u = floatBitsToUint(float(u));
        low = -149.0;
    }
    u += 0x3f800000u - 0x3f3504f3u;
    e = float(int(u >> 23) - 127) + low;
    return uintBitsToFloat((u & 0x007fffffu) + 0x3f3504f3u) - 1.0;
}

// log_part returns log(2^e (1 + f)). The error before rounding is 2^-30 of f.
float log_part(float e, float f) {
    precise const float ff = f * f;
    precise float tail = log_tail(f) * f * ff + e * LN2_LOW;
    tail = ff * -0.5 + tail;
    precise const float y = e * LN2_HIGH + (f + tail);
    return y;
}

float m_log(float x) {
    if (is_nan(x)) return x;
    if (is_zero(x)) return -INFINITY;
    if (is_negative(x)) return NAN;
    if (is_inf(x)) return x;
    float e;
    const float f = split(x, e);
    return log_part(e, f);
}

// log1p_positive returns log(1 + x) for finite x >= 0. It adds the part of x lost in 1 + x as a
// quotient.
float log1p_positive(float x) {
    precise const float u = x + 1.0;
    float e;
    const float f = split(u, e);
    precise const float lost = u < 16777216.0 ? (x - (u - 1.0)) / u : 0.0;
    precise const float y = log_part(e, f) + lost;
    return y;
}

float m_sqrt(float x) {
    if (is_nan(x) || is_zero(x)) return x;
    if (is_negative(x)) return NAN;
    return is_inf(x) ? x : sqrt(x);
}

// m_floor, m_ceil and m_round keep the sign of 0. Numbers from 2^23 on are whole and stay as they
// are.
float m_floor(float x) { return is_nan(x) || magnitude(x) >= 8388608.0 || is_zero(x) ? x : copy_sign(floor(x), x); }
float m_ceil(float x) { return is_nan(x) || magnitude(x) >= 8388608.0 ? x : copy_sign(ceil(x), x); }
float m_round(float x) { return is_nan(x) || magnitude(x) >= 8388608.0 ? x : copy_sign(roundEven(x), x); }

#endif
