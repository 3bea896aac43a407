// Powers and remainders of float32. Zeros, infinities and NaN give the results of the C library.
#ifndef POWER_GLSL
#define POWER_GLSL

#include "math.glsl"

// exponent returns b log(a) for positive, finite a. lack is the rounding error of the result.
float exponent(float a, float b, out float lack) {
    float e, square_lack, low;
    const float f = split(a, e), square = two_product(f, f, square_lack);
    precise const float first = square * -0.5 + f, first_lack = square * -0.5 + (f - first);
    precise const float rest = square * f * log_tail(f) + (square_lack * -0.5 + first_lack);
    precise const float part = first + rest, part_lack = (first - part) + rest;
    precise const float whole = e * LN2_HIGH, sum = whole + part;
    precise const float sum_lack = ((whole - sum) + part) + (e * LN2_LOW + part_lack);
    const float y = two_product(b, sum, low);
    precise const float rest_lack = b * sum_lack + low;
    lack = rest_lack;
    return y;
}

// power_positive returns a^b for positive, finite a, within 4 ulp. |b| is limited to 1e10; larger
// |b| gives 0, 1 or infinity all the same.
float power_positive(float a, float b) {
    if (a == 1.0) return 1.0;
    float lack;
    int n;
    const float y = exponent(a, magnitude(b) > 1e10 ? copy_sign(1e10, b) : b, lack);
    if (y > 89.0) return INFINITY;
    if (y < -105.0) return 0.0;
    precise const float e = expm1_part(y, n) + 1.0, whole = e * lack + e;
    return scaled(whole, n);
}

float m_pow(float a, float b) {
    if (is_zero(b) || a == 1.0) return 1.0;
    if (is_nan(a) || is_nan(b)) return NAN;
    if (b == 1.0) return a;
    const float far = magnitude(a), size = magnitude(b);
    const bool whole = size >= 8388608.0 || floor(size) == size;
    const bool odd = whole && size < 16777216.0 && (uint(size) & 1u) != 0u;
    const float sign = is_negative(a) && odd ? -1.0 : 1.0;
    if (is_inf(b)) {
        if (far == 1.0) return 1.0;
        return (far > 1.0) != is_negative(b) ? INFINITY : 0.0;
    }
    if (is_zero(a) || is_inf(a)) return copy_sign(is_zero(a) != is_negative(b) ? 0.0 : INFINITY, sign);
    if (is_negative(a) && !whole) return NAN;
    precise const float product = a * a;
    return b == 2.0 ? product : copy_sign(power_positive(far, b), sign);
}

// m_fmod returns the exact remainder, with the sign of a, by long division in steps of 8 bits.
float m_fmod(float a, float b) {
    const uint ua = floatBitsToUint(a) & 0x7fffffffu, ub = floatBitsToUint(b) & 0x7fffffffu;
    if (ub == 0u || ua >= 0x7f800000u || ub > 0x7f800000u) return NAN;
    if (ua < ub) return a;
    const uint ea = max(ua >> 23, 1u), eb = max(ub >> 23, 1u);
    const uint mb = ub - ((eb - 1u) << 23);
    uint rest = (ua - ((ea - 1u) << 23)) % mb;
    for (uint left = ea - eb; left > 0u;) {
        const uint now = min(left, 8u);
        rest = (rest << now) % mb;
        left -= now;
    }
    if (rest == 0u) return copy_sign(0.0, a);
    const uint up = min(uint(23 - findMSB(rest)), eb - 1u);
    return copy_sign(uintBitsToFloat((rest << up) + ((eb - 1u - up) << 23)), a);
}

#endif
