// fill draws random numbers in float64, an element per invocation. They are uniform from a to b or,
// if NORMAL is set, normal with mean a and deviation b. A pair of uniform numbers gives two normal
// ones (G. Box and M. Muller, 1958).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "philox.glsl"
#include "unit.glsl"

layout(constant_id = 1) const uint NORMAL = 0;

layout(std430, binding = 0) readonly buffer Key { uvec2 key; };
layout(std430, binding = 1) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words { uint total, a_low, a_high, b_low, b_high; };

// nearest returns the nearest float32, ties to even. Subnormal numbers become 0.
float nearest(double v) {
    uvec2 bits = unpackDouble2x32(v);
    uint sign = bits.y & 0x80000000u;
    int exponent = int(bits.y >> 20 & 0x7ffu) - 896;
    if (exponent <= 0) return uintBitsToFloat(sign);
    if (exponent >= 255) return uintBitsToFloat(sign | 0x7f800000u);
    uint digits = uint(exponent) << 23 | (bits.y & 0xfffffu) << 3 | bits.x >> 29, rest = bits.x & 0x1fffffffu;
    if (rest > 0x10000000u || rest == 0x10000000u && (digits & 1u) != 0u) digits++;
    return uintBitsToFloat(sign | digits);
}

// logarithm returns log(x) for x from 2^-53 to 1. With x = 2^e m and m near 1, log(m) is twice the
// series of artanh((m-1)/(m+1)).
double logarithm(double x) {
    uvec2 bits = unpackDouble2x32(x);
    int e = int(bits.y >> 20) - 1023;
    bits.y = (bits.y & 0xfffffu) | 0x3ff00000u;
    double m = packDouble2x32(bits);
    if (m > 1.4142135623730951lf) {
        m *= 0.5lf;
        e++;
    }
    precise double s = (m - 1.0lf) / (m + 1.0lf), square = s * s, sum = 0.0lf;
    for (int k = 25; k > 1; k -= 2) sum = (sum + 1.0lf / double(k)) * square;
    precise double y = double(e) * 0.6931471805599453094lf + 2.0lf * (s + s * sum);
    return y;
}

// root returns the square root of x from 0 to 100, by Newton's steps from the root in float32.
double root(double x) {
    if (x <= 0.0lf) return 0.0lf;
    precise double y = double(sqrt(float(x)));
    y = 0.5lf * (y + x / y);
    y = 0.5lf * (y + x / y);
    return y;
}

// turned returns cosine and sine of 2 pi b for b from 0 to 1, by series about the nearest quarter
// of a turn.
dvec2 turned(double b) {
    int quarter = int(floor(b * 4.0lf + 0.5lf));
    precise double x = (b - double(quarter) * 0.25lf) * 6.283185307179586477lf, square = x * x, c = 0.0lf, s = 0.0lf;
    for (int k = 20; k > 0; k -= 2) {
        c = (c + 1.0lf) * -square / double(k * (k - 1));
        s = (s + 1.0lf) * -square / double(k * (k + 1));
    }
    c += 1.0lf;
    s = x * (s + 1.0lf);
    switch (quarter & 3) {
    case 1: return dvec2(-s, c);
    case 2: return dvec2(-c, -s);
    case 3: return dvec2(s, -c);
    }
    return dvec2(c, s);
}

void main() {
    uint i = flat_index();
    if (i >= total) return;
    double a = packDouble2x32(uvec2(a_low, a_high)), b = packDouble2x32(uvec2(b_low, b_high));
    precise double v;
    if (NORMAL == 0) {
        v = a + (b - a) * unit(philox(i, key));
    } else {
        uvec4 pair = philox_pair(i / 2, key);
        precise double radius = root(-2.0lf * logarithm(1.0lf - unit(pair.xy)));
        dvec2 at = turned(unit(pair.zw));
        v = a + b * (radius * (i % 2 == 0 ? at.x : at.y));
    }
    y[i] = STORE(nearest(v));
}
