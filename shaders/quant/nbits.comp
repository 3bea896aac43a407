// Products of rows [m,k] and weights [n,k] of BITS bits, whose blocks of columns have a scale
// and a zero point each: y = a w^T + bias. Codes are read as words and decoded in
// registers. A group computes COLUMNS columns of ROWS rows; its invocations share the k axis
// in parts, whose sums are joined in a fixed order. FLOAT_ROWS has rows of float32.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(constant_id = 1) const uint BITS_PER_CODE = 4;
layout(constant_id = 2) const uint ROWS = 1;
layout(constant_id = 3) const uint COLUMNS = 4;

#ifdef FLOAT_ROWS
layout(std430, binding = 0) readonly buffer A { float a[]; };
#define LOAD_A(x) (x)
#else
layout(std430, binding = 0) readonly buffer A { T a[]; };
#define LOAD_A(x) LOAD(x)
#endif
layout(std430, binding = 1) readonly buffer Codes { uint codes[]; };
layout(std430, binding = 2) readonly buffer Scales { T scales[]; };
layout(std430, binding = 3) readonly buffer Zeros { uint zeros[]; };
layout(std430, binding = 4) readonly buffer Bias { T bias[]; };
layout(std430, binding = 5) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint m, n, k;
    uint block, blocks; // columns of a block, and blocks of a row
    uint row_words;     // of codes
    uint zero_bytes;    // of the zero points of a row; 0 for the middle code
    uint has_bias;
};

shared float part[ROWS * gl_WorkGroupSize.x];

const uint MASK = (1u << BITS_PER_CODE) - 1u;

float zero_of(uint col, uint b) {
    if (zero_bytes == 0) return float(1u << (BITS_PER_CODE - 1u));
    uint bit = col * zero_bytes * 8 + b * BITS_PER_CODE;
    return float(zeros[bit / 32] >> bit % 32 & MASK);
}

void main() {
    uint id = gl_LocalInvocationID.x, parts = gl_WorkGroupSize.x / COLUMNS;
    uint column = id / parts, first = id % parts;
    uint col = gl_WorkGroupID.x * COLUMNS + column, row0 = gl_WorkGroupID.y * ROWS;
    const uint PER_WORD = 32 / BITS_PER_CODE;

    float sums[ROWS];
    for (uint r = 0; r < ROWS; r++) sums[r] = 0.0;
    for (uint w = first; col < n && w < row_words; w += parts) {
        uint word = codes[col * row_words + w], at = w * PER_WORD, b = at / block;
        float scale = LOAD(scales[col * blocks + b]), zero = zero_of(col, b);
        for (uint e = 0; e < PER_WORD && at + e < k; e++) {
            float v = (float(word >> e * BITS_PER_CODE & MASK) - zero) * scale;
            for (uint r = 0; r < ROWS; r++) {
                if (row0 + r < m) sums[r] += LOAD_A(a[(row0 + r) * k + at + e]) * v;
            }
        }
    }
    for (uint r = 0; r < ROWS; r++) part[(r * COLUMNS + column) * parts + first] = sums[r];
    barrier();
    for (uint step = parts / 2; step > 0; step /= 2) {
        for (uint r = 0; r < ROWS && first < step; r++) {
            uint at = (r * COLUMNS + column) * parts + first;
            part[at] += part[at + step];
        }
        barrier();
    }
    if (first != 0 || col >= n) return;
    for (uint r = 0; r < ROWS && row0 + r < m; r++) {
        float v = part[(r * COLUMNS + column) * parts];
        if (has_bias != 0) v += LOAD(bias[col]);
        y[(row0 + r) * n + col] = STORE(v);
    }
}
