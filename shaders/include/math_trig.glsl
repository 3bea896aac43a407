// Trigonometric functions and their inverses, as accurate as math.glsl says.
#ifndef MATH_TRIG_GLSL
#define MATH_TRIG_GLSL

#extension GL_EXT_control_flow_attributes : require

#include "math.glsl"

const float HALF_PI_HIGH = 1.5707963705062866;
const float HALF_PI_LOW = -4.371138828673793e-08;
const float PI_HIGH = 3.1415927410125732;
const float PI_LOW = -8.742277657347586e-08;

// two_over_pi returns word i of the bits of 2/pi behind a word of zeros.
uint two_over_pi(int i) {
    switch (i) {
    case 1: return 0xa2f9836eu;
    case 2: return 0x4e441529u;
    case 3: return 0xfc2757d1u;
    case 4: return 0xf534ddc0u;
    case 5: return 0xdb629599u;
    case 6: return 0x3c439041u;
    case 7: return 0xfe5163abu;
    }
    return 0u;
}

// reduced_far returns x - k pi/2 for |x| > 1 and the nearest whole k; k is exact in its low two
// bits. It multiplies the fraction of x by the bits of 2/pi that matter: others yield whole turns
// or less than 2^-70.
float reduced_far(float x, out int k) {
    const uint u = floatBitsToUint(x), fraction = (u & 0x007fffffu) | 0x00800000u;
    const int from = int((u >> 23) & 0xffu) - 150 - 2 + 32, word = from >> 5, shift = from & 31;
    uint w[3];
    [[unroll]] for (int i = 0; i < 3; i++) {
        const uint bits = two_over_pi(word + i);
        w[i] = shift == 0 ? bits : (bits << shift) | (two_over_pi(word + i + 1) >> (32 - shift));
    }
    uint high, low, carry, top, unused;
    umulExtended(fraction, w[2], carry, unused);
    umulExtended(fraction, w[1], high, low);
    low += carry;
    high += low < carry ? 1u : 0u;
    top = fraction * w[0] + high;
    // top and low are 64 bits of a fraction of four quarter turns.
    k = int(top >> 30);
    uint rest = (top << 2) | (low >> 30), tail = low << 2;
    const bool over = (rest >> 31) != 0u;
    if (over) {
        k++;
        tail = ~tail + 1u;
        rest = ~rest + (tail == 0u ? 1u : 0u);
    }
    precise float y = (float(rest) + float(tail) * 2.3283064365386963e-10) * 2.3283064365386963e-10 * HALF_PI_HIGH;
    if (is_negative(x)) k = -k;
    return over != is_negative(x) ? -y : y;
}

// reduced returns x - k pi/2 for finite x and the nearest whole k; k is exact in its low two bits.
float reduced(float x, out int k) {
    if (magnitude(x) > 10000.0) return reduced_far(x, k);
    precise const float n = floor(x * 0.6366197723675814 + 0.5);
    precise const float r = ((x - n * 1.5703125) - n * 0.0004837512969970703) - n * 7.549533620476723e-08;
    precise const float y = r - n * 2.5633440682570896e-12;
    k = int(n);
    return y;
}

// sin_part and cos_part are Taylor series for |r| <= pi/4. Their errors are at most 2^-29.
float sin_part(float r) {
    precise const float s = r * r;
    precise float q = 2.7557319e-06;
    q = q * s - 1.9841270e-04;
    q = q * s + 8.3333333e-03;
    q = q * s - 1.6666667e-01;
    precise const float y = r * s * q + r;
    return y;
}

float cos_part(float r) {
    precise const float s = r * r;
    precise float q = -2.7557319e-07;
    q = q * s + 2.4801587e-05;
    q = q * s - 1.3888889e-03;
    q = q * s + 4.1666667e-02;
    precise const float h = s * 0.5, w = 1.0 - h, y = w + (((1.0 - w) - h) + s * s * q);
    return y;
}

float m_sin(float x) {
    if (is_nan(x) || is_inf(x)) return NAN;
    if (is_zero(x)) return x;
    int k;
    const float r = reduced(x, k);
    const float y = (k & 1) != 0 ? cos_part(r) : sin_part(r);
    return (k & 2) != 0 ? -y : y;
}

float m_cos(float x) {
    if (is_nan(x) || is_inf(x)) return NAN;
    int k;
    const float r = reduced(x, k);
    const float y = (k & 1) != 0 ? sin_part(r) : cos_part(r);
    return ((k + 1) & 2) != 0 ? -y : y;
}

float m_tan(float x) {
    if (is_nan(x) || is_inf(x)) return NAN;
    if (is_zero(x)) return x;
    int k;
    const float r = reduced(x, k);
    precise const float s = sin_part(r), c = cos_part(r), y = (k & 1) != 0 ? -c / s : s / c;
    return y;
}

// m_atan uses the reciprocal of x beyond 1. The error of the polynomial is 2^-31.
float m_atan(float x) {
    if (is_nan(x)) return x;
    const float a = magnitude(x);
    if (a > 1e9) return copy_sign(HALF_PI_HIGH, x);
    precise const float z = a > 1.0 ? 1.0 / a : a, s = z * z;
    precise float q = 0.00111377356;
    q = q * s - 0.00731788529;
    q = q * s + 0.0225397255;
    q = q * s - 0.0446897857;
    q = q * s + 0.0674158707;
    q = q * s - 0.0881108716;
    q = q * s + 0.110582225;
    q = q * s - 0.142798334;
    q = q * s + 0.19999671;
    q = q * s - 0.333333284;
    precise const float y = z * s * q + z, far = HALF_PI_HIGH - (y - HALF_PI_LOW);
    return copy_sign(a > 1.0 ? far : y, x);
}

// arc returns arcsin(a) for a <= 1/2, with an error of 2^-31. For larger a it returns
// arcsin(sqrt((1 - a) / 2)) = (pi/2 - arcsin(a)) / 2.
float arc(float a) {
    precise const float z = a > 0.5 ? m_sqrt(0.5 - a * 0.5) : a, s = z * z;
    precise float q = 0.0377766229;
    q = q * s + 0.0142615605;
    q = q * s + 0.0318521932;
    q = q * s + 0.0445119292;
    q = q * s + 0.0750052854;
    q = q * s + 0.166666597;
    precise const float y = z * s * q + z;
    return y;
}

float m_asin(float x) {
    const float a = magnitude(x);
    if (is_nan(x) || a > 1.0) return NAN;
    precise const float y = arc(a), far = HALF_PI_HIGH - (y * 2.0 - HALF_PI_LOW);
    return copy_sign(a > 0.5 ? far : y, x);
}

float m_acos(float x) {
    const float a = magnitude(x);
    if (is_nan(x) || a > 1.0) return NAN;
    precise const float y = arc(a), twice = y * 2.0;
    precise const float far = x < 0.0 ? PI_HIGH - (twice - PI_LOW) : twice;
    precise const float near = HALF_PI_HIGH - (copy_sign(y, x) - HALF_PI_LOW);
    return a > 0.5 ? far : near;
}

#endif
