// Quotients of float32, rounded right. Drivers may be 2.5 units off, and few have fused products.
#ifndef QUOTIENT_GLSL
#define QUOTIENT_GLSL

// residual returns a - q b. Products of halves of a float are exact.
float residual(float a, float b, float q) {
    precise float far_q = 4097.0 * q, far_b = 4097.0 * b;
    precise float high_q = far_q - (far_q - q), high_b = far_b - (far_b - b);
    precise float low_q = q - high_q, low_b = b - high_b;
    precise float p = q * b;
    precise float rest = ((high_q * high_b - p) + high_q * low_b + low_q * high_b) + low_q * low_b;
    precise float left = (a - p) - rest;
    return left;
}

// rounded_quotient returns the float nearest to u / v, if u, v and the quotient are normal. It
// divides fractions from 1 to 2, and decides between the two nearest floats by what each leaves.
float rounded_quotient(float u, float v) {
    const uint FRACTION = 0x007fffffu, ONE = 0x3f800000u;
    uint of_u = floatBitsToUint(u), of_v = floatBitsToUint(v), eu = of_u >> 23 & 255u, ev = of_v >> 23 & 255u;
    int exponent = int(eu) - int(ev);
    precise float q = u / v;
    if (eu - 1u >= 254u || ev - 1u >= 254u || abs(exponent) > 124) return q;
    float a = uintBitsToFloat(of_u & FRACTION | ONE), b = uintBitsToFloat(of_v & FRACTION | ONE);
    q = a / b;
    q += residual(a, b, q) / b;
    float left = residual(a, b, q);
    float next = uintBitsToFloat(left < 0.0 ? floatBitsToUint(q) - 1u : floatBitsToUint(q) + 1u);
    if (abs(residual(a, b, next)) < abs(left)) q = next;
    return uintBitsToFloat(floatBitsToUint(q) + uint(exponent << 23) | (of_u ^ of_v) & 0x80000000u);
}

#endif
