// Rows of k elements as whole numbers of 8 bits times a scale for each block of columns, in
// float32: the scale is the largest magnitude over 127. Blocks below 2^-110 become 0, those
// with an infinity or a NaN become NaN. A block per invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };

layout(push_constant) uniform Words { uint total, k, block, blocks; };

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint row = i / blocks * k, first = i % blocks * block;
    uint from = row + first, to = row + min(k, first + block);
    uint most = 0;
    for (uint p = from; p < to; p++) most = max(most, floatBitsToUint(LOAD(x[p])) & 0x7fffffffu);
    float largest = uintBitsToFloat(most);
    bool small = most < 0x08800000u;
    precise float by = 127.0 / largest, scale = largest / 127.0;
    for (uint p = from; p < to; p++) {
        precise float q = roundEven(LOAD(x[p]) * by) * scale;
        y[p] = most >= 0x7f800000u ? NAN : small ? 0.0 : q;
    }
}
