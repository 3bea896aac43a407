// depth computes convolutions of planes by a filter of KERNEL_H by KERNEL_W elements side by side for
// each, y = F(w x + bias + add). An invocation computes EACH neighbours of a row, from elements that
// it reads once.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "types.glsl"
#include "epilogue.glsl"
#include "conv.glsl"

layout(constant_id = 1) const uint KERNEL_H = 3;
layout(constant_id = 2) const uint KERNEL_W = 3;
layout(constant_id = 3) const uint STRIDE_W = 1;
layout(constant_id = 4) const uint EACH = 2;
layout(constant_id = 5) const uint FUNCTION = 0;

// results hands sums to a loop that applies the function: a loop over registers with a large body
// would keep them in memory.
shared C results[EACH * gl_WorkGroupSize.x];

void main() {
    const uint SPAN = (EACH - 1) * STRIDE_W + KERNEL_W; // elements of a row that the results read
    uint at = flat_index(), across = (ow + EACH - 1) / EACH, ox = at % across * EACH, oy = at / across % oh;
    uint of_plane = at / across / oh, channel = of_plane % groups;
    if (of_plane >= images * groups) return;
    int x0 = int(ox * STRIDE_W) - int(pw), y0 = int(oy * sh) - int(ph);
    C sums[EACH];
    [[unroll]] for (uint i = 0; i < EACH; i++) sums[i] = C(0);
    [[unroll]] for (uint ky = 0; ky < KERNEL_H; ky++) {
        bool inside = uint(y0 + int(ky)) < ih;
        uint line = (of_plane * ih + uint(y0 + int(ky))) * iw;
        C v[SPAN];
        [[unroll]] for (uint i = 0; i < SPAN; i++) {
            uint column = uint(x0 + int(i));
            v[i] = inside && column < iw ? LOAD(x[line + column]) : C(0);
        }
        [[unroll]] for (uint kx = 0; kx < KERNEL_W; kx++) {
            C factor = LOAD(w[(channel * KERNEL_H + ky) * KERNEL_W + kx]);
            [[unroll]] for (uint i = 0; i < EACH; i++) sums[i] += factor * v[i * STRIDE_W + kx];
        }
    }
    uint own = gl_LocalInvocationID.x;
    C base = (has & 1) != 0 ? LOAD(bias[channel]) : C(0);
    [[unroll]] for (uint i = 0; i < EACH; i++) results[i * gl_WorkGroupSize.x + own] = sums[i] + base;
    [[dont_unroll]] for (uint i = 0; i < EACH; i++) {
        uint to = (of_plane * oh + oy) * ow + ox + i;
        if (ox + i >= ow) break;
        C v = results[i * gl_WorkGroupSize.x + own];
        if ((has & 2) != 0) v += LOAD(add[to]);
        y[to] = STORE(EPILOGUE(v, FUNCTION, p, q));
    }
}
