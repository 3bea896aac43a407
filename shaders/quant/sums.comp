// sums adds up the signed codes of rows or columns of matrices. LANES neighbouring invocations, a
// power of two, share a line. With WORDS, codes of a line are neighbours, read four at a time.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "quantized.glsl"
#include "dot.glsl"

layout(constant_id = 1) const uint LANES = 1;
layout(constant_id = 2) const uint WORDS = 0;
layout(constant_id = 3) const uint SIGNED = 0;

layout(std430, binding = 0) readonly buffer Codes { uint codes[]; };
layout(std430, binding = 1) writeonly buffer Sums { int sums[]; };

layout(push_constant) uniform Words {
    uint total, lines, k;        // lines of all matrices and of one, and codes of a line
    uint line_step, step, begin; // distances of lines, of codes in a line, and of matrices
};

shared int shares[gl_WorkGroupSize.x];

// FLIP turns four unsigned codes into signed codes, 128 less.
const uint FLIP = SIGNED != 0 ? 0u : 0x80808080u;

void main() {
    uint line = flat_index() / LANES, lane = gl_LocalInvocationID.x % LANES, first = line / lines * begin + line % lines * line_step;
    int sum = 0;
    if (line < total && WORDS != 0) {
        for (uint d = lane * 4; d < k; d += LANES * 4) sum = dot4(codes[(first + d) / 4] ^ FLIP, 0x01010101u, sum);
    } else if (line < total) {
        for (uint d = lane; d < k; d += LANES) sum += code_of(BYTE_OF(codes, first + d * step) ^ (FLIP & 255u), 1u);
    }
    shares[gl_LocalInvocationID.x] = sum;
    for (uint rest = LANES / 2; rest > 0; rest /= 2) {
        barrier();
        if (lane < rest) shares[gl_LocalInvocationID.x] += shares[gl_LocalInvocationID.x + rest];
    }
    if (line < total && lane == 0) sums[line] = shares[gl_LocalInvocationID.x];
}
