// Constants of the vector exponentials vexp_<level>.h.
#ifndef NACRE_CORE_VEXP_H
#define NACRE_CORE_VEXP_H

// Below LOW the result rounds to 0, above HIGH to inf. Both keep n small.
#define NACRE_VEXP_LOW (-104.0f)
#define NACRE_VEXP_HIGH 89.0f

// NACRE_VEXP_NORMAL is the least number with a power that is not subnormal, just above -126 ln 2.
#define NACRE_VEXP_NORMAL (-0x1.5d589ep6f)

#define NACRE_VEXP_LOG2E 0x1.715476p0f

// ln 2 in two parts. The first has so few bits that its product with n is exact.
#define NACRE_VEXP_LN2_HI 0x1.62e400p-1f
#define NACRE_VEXP_LN2_LO 0x1.7f7d1cp-20f

// Below NACRE_VPOWER_LOW, powers of two are 0.
#define NACRE_VPOWER_LOW (-125.0f)

// On levels without tables, e^r is 1 + r + r^2 (C2 + C3 r + ... + C7 r^5) within 7e-10 on [-ln 2 /
// 2, ln 2 / 2]: the interpolation at Chebyshev nodes, rounded to floats.
#define NACRE_VEXP_C2 0x1.000000p-1f
#define NACRE_VEXP_C3 0x1.555556p-3f
#define NACRE_VEXP_C4 0x1.5554eap-5f
#define NACRE_VEXP_C5 0x1.1110e0p-7f
#define NACRE_VEXP_C6 0x1.6d4324p-10f
#define NACRE_VEXP_C7 0x1.a124f2p-13f

// On these levels, 2^r is 1 + r (C1 + C2 r + ... + C6 r^5) within 3e-9 on [0, 1].
#define NACRE_VPOWER_C1 0x1.62e42cp-1f
#define NACRE_VPOWER_C2 0x1.ebfd3ap-3f
#define NACRE_VPOWER_C3 0x1.c68af6p-5f
#define NACRE_VPOWER_C4 0x1.3cfd82p-7f
#define NACRE_VPOWER_C5 0x1.47373ap-10f
#define NACRE_VPOWER_C6 0x1.c4456ep-13f

#endif
