// The functions of reductions. SUM to MIN are numbered as arith.Reduction.

#define SUM 0
#define SUM_SQUARE 1
#define SUM_ABS 2
#define PROD 3
#define MAX 4
#define MIN 5
#define SUM_EXP 6

#ifdef IS_FLOAT
C initial(uint f) {
    if (f == PROD) return 1.0;
    if (f == MAX) return -INFINITY;
    if (f == MIN) return INFINITY;
    return 0.0;
}

C first_of(uint f, C v) {
    if (f == SUM_SQUARE) return v * v;
    if (f == SUM_ABS) return abs(v);
    if (f == SUM_EXP) return m_exp(v);
    return v;
}

// joined combines two partial results. NaN wins.
C joined(uint f, C a, C b) {
    if (f == PROD) return a * b;
    if (f == MAX) return is_nan(a) ? a : is_nan(b) || b > a ? b : a;
    if (f == MIN) return is_nan(a) ? a : is_nan(b) || b < a ? b : a;
    return a + b;
}

C rooted(uint root, C v, float divisor) {
    v /= divisor;
    return root == 1 ? sqrt(v) : root == 2 ? m_log(v) : v;
}
#else
#if BITS == 64
#ifdef IS_SIGNED
#define LEAST C(0x8000000000000000UL)
#define GREATEST C(0x7fffffffffffffffL)
#else
#define LEAST C(0UL)
#define GREATEST C(0xffffffffffffffffUL)
#endif
#elif defined(IS_SIGNED)
#define LEAST C(0x80000000u)
#define GREATEST C(0x7fffffff)
#else
#define LEAST C(0u)
#define GREATEST C(0xffffffffu)
#endif

C initial(uint f) {
    if (f == PROD) return C(1);
    if (f == MAX) return LEAST;
    if (f == MIN) return GREATEST;
    return C(0);
}

C first_of(uint f, C v) {
    if (f == SUM_SQUARE) return v * v;
    if (f == SUM_ABS) return v < C(0) ? -v : v;
    return v;
}

C joined(uint f, C a, C b) {
    if (f == PROD) return a * b;
    if (f == MAX) return max(a, b);
    if (f == MIN) return min(a, b);
    return a + b;
}

C rooted(uint root, C v, float divisor) { return v; }
#endif
