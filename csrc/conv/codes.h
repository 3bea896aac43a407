// Weights of convolutions from codes.
//
// Weights that a file stores in few bits stay so, in the order in which a kernel reads its floats.
// Command f32_conv_weights makes the floats directly before the kernel reads them: number
// (code - zero) * scale, rounded once, as DequantizeLinear has it. A run of neighbouring weights has
// scales and zero points that repeat after `period` weights.
#ifndef NACRE_CONV_CODES_H
#define NACRE_CONV_CODES_H

#include "conv/conv.h"

enum { NACRE_CODES_LANES = 16, NACRE_CODES_PERIOD = 128 };

typedef struct {
    uint32_t at, n;   // weights of the run
    uint32_t period;  // at most NACRE_CODES_PERIOD
    uint32_t scale;   // index of its first scale and zero point
    uint32_t code;    // index of its first 16 bytes of codes
} nacre_code_run;

// The begin of operand codes. Its runs follow, then its scales, zero points and codes, each at that
// byte. Codes of 8 bits are signed, narrower ones unsigned; zero points are bytes alike. Byte i of
// 16 holds the codes of weights i, i + 16, ... of as many as 16 bytes have, the first in the lowest
// bits.
typedef struct {
    int64_t runs, bits;  // bits are 2, 4 or 8
    int64_t scales, zeros, codes;
} nacre_codes;

static inline const int8_t *nacre_run_codes(const nacre_codes *c, const nacre_code_run *r) {
    return (const int8_t *)c + c->codes + (size_t)r->code * NACRE_CODES_LANES;
}

static inline const int8_t *nacre_run_zeros(const nacre_codes *c, const nacre_code_run *r) {
    return (const int8_t *)c + c->zeros + r->scale;
}

static inline const float *nacre_run_scales(const nacre_codes *c, const nacre_code_run *r) {
    return (const float *)(const void *)((const char *)c + c->scales) + r->scale;
}

// Command f32_conv_weights has no words. Operands are codes and the floats.

// A kernel row of op f32_conv_weights decodes a run to y.
typedef void nacre_f32_codes_fn(const nacre_codes *c, const nacre_code_run *r, float *y);

#endif
