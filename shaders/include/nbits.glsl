// Operands of products of rows [m,k] and weights [n,k] of BITS_PER_CODE bits: y = a w^T + bias.
// Every block of columns has a scale and a zero point. Codes are read as words. BITS_ID is the id
// of constant BITS_PER_CODE. Include types.glsl first.
#ifndef NBITS_GLSL
#define NBITS_GLSL

#include "run.glsl"

layout(constant_id = BITS_ID) const uint BITS_PER_CODE = 4;

layout(std430, binding = 1) readonly buffer Codes { uint codes[]; };
layout(std430, binding = 2) readonly buffer Scales { T scales[]; };
layout(std430, binding = 3) readonly buffer Zeros { uint zeros[]; };
layout(std430, binding = 4) readonly buffer Bias { T bias[]; };
layout(std430, binding = 5) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint m, n, k;
    uint block, blocks; // columns of a block, and blocks of a row
    uint row_words;     // words of codes in a row
    uint zero_bytes;    // bytes of zero points in a row; 0 if the zero point is the middle code
    uint has_bias;
};

const uint MASK = (1u << BITS_PER_CODE) - 1u;
const uint PER_WORD = 32 / BITS_PER_CODE;

float scale_of(uint col, uint b) { return LOAD(scales[col * blocks + b]); }

float zero_of(uint col, uint b) {
    if (zero_bytes == 0) return float(1u << (BITS_PER_CODE - 1u));
    uint bit = col * zero_bytes * 8 + b * BITS_PER_CODE;
    return float(zeros[bit / 32] >> bit % 32 & MASK);
}

void take_sum(uint row, uint col, float sum) {
    if (has_bias != 0) sum += LOAD(bias[col]);
    y[row * n + col] = STORE(sum);
}

// RUN_WORDS is the words of codes of a run.
const uint RUN_WORDS = RUN * BITS_PER_CODE / 32;

// run_at returns the run at element d of a column. The numbers of a run are its scale and its zero
// point.
Run run_at(uint col, uint d, uint k) {
    Run r = Run(uvec4(0), vec2(scale_of(col, d / block), zero_of(col, d / block)));
    uint at = col * row_words + d / RUN * RUN_WORDS;
    [[unroll]] for (uint i = 0; i < 4; i++) {
        if (i < RUN_WORDS) r.codes[i] = codes[at + i];
    }
    return r;
}

#define CODES_OF(r, w) ((r).codes[(w) * BITS_PER_CODE / 8] >> (w) * BITS_PER_CODE % 8 * 4)
vec4 decoded(uint codes, vec2 by) {
    uvec4 w = uvec4(codes, codes >> BITS_PER_CODE, codes >> 2 * BITS_PER_CODE, codes >> 3 * BITS_PER_CODE) & MASK;
    return (vec4(w) - by.y) * by.x;
}

#endif
