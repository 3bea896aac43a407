// Division and powers of integers C, after types.glsl. Division goes through unsigned
// numbers: GLSL leaves remainders of negative ones undefined.
#ifndef INTEGER_GLSL
#define INTEGER_GLSL

#ifdef IS_SIGNED
U distance(C x) { return x < C(0) ? U(0) - U(x) : U(x); }
C with_sign(U x, bool negative) { return C(negative ? U(0) - x : x); }

// Rounded towards zero; 0 for b = 0.
C quotient(C a, C b) { return b == C(0) ? C(0) : with_sign(distance(a) / distance(b), (a < C(0)) != (b < C(0))); }

// With the sign of a; 0 for b = 0.
C remainder(C a, C b) { return b == C(0) ? C(0) : with_sign(distance(a) % distance(b), a < C(0)); }

// With the sign of b; 0 for b = 0.
C floor_remainder(C a, C b) {
    const C r = remainder(a, b);
    return r != C(0) && (r < C(0)) != (b < C(0)) ? r + b : r;
}
#else
C quotient(C a, C b) { return b == C(0) ? C(0) : a / b; }
C remainder(C a, C b) { return b == C(0) ? C(0) : a % b; }
C floor_remainder(C a, C b) { return remainder(a, b); }
#endif

// Powers wrap around; negative exponents give the quotient 1/|a|^-b rounded towards
// zero, and 0 for a = 0.
C power(C a, C b) {
#ifdef IS_SIGNED
    if (b < C(0)) return a == C(1) || (a == C(-1) && (b & C(1)) == C(0)) ? C(1) : a == C(-1) ? C(-1) : C(0);
#endif
    U result = U(1), square = U(a);
    for (U left = U(b); left != U(0); left >>= 1) {
        if ((left & U(1)) != U(0)) result *= square;
        square *= square;
    }
    return C(result);
}

#endif
