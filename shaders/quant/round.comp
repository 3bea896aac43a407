// round replaces the elements of each block of a row of k by whole multiples of a scale, a block
// per invocation. The scale is the largest magnitude over 127. Results are float32. If the largest
// magnitude is below 2^-110, the block becomes 0. If it is infinite or NaN, the block becomes NaN.
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
