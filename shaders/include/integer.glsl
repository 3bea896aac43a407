// Division and powers of integers C. Division uses unsigned numbers, because GLSL leaves remainders
// of negative numbers undefined. Include types.glsl first.
#ifndef INTEGER_GLSL
#define INTEGER_GLSL

#ifdef IS_SIGNED
U distance(C x) { return x < C(0) ? U(0) - U(x) : U(x); }
C with_sign(U x, bool negative) { return C(negative ? U(0) - x : x); }

// quotient rounds towards zero. It is 0 for b = 0.
C quotient(C a, C b) { return b == C(0) ? C(0) : with_sign(distance(a) / distance(b), (a < C(0)) != (b < C(0))); }

// remainder has the sign of a. It is 0 for b = 0.
C remainder(C a, C b) { return b == C(0) ? C(0) : with_sign(distance(a) % distance(b), a < C(0)); }

// floor_remainder has the sign of b. It is 0 for b = 0.
C floor_remainder(C a, C b) {
    const C r = remainder(a, b);
    return r != C(0) && (r < C(0)) != (b < C(0)) ? r + b : r;
}
#else
C quotient(C a, C b) { return b == C(0) ? C(0) : a / b; }
C remainder(C a, C b) { return b == C(0) ? C(0) : a % b; }
C floor_remainder(C a, C b) { return remainder(a, b); }
#endif

// power returns a^b, wrapped around. If b is negative, it returns 1/|a|^-b rounded towards zero,
// with the sign of a^b, and 0 for a = 0.
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
