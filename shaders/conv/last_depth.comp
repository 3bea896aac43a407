// last_depth computes convolutions of images with channels last by a filter of KERNEL_H by KERNEL_W
// elements for each channel, y = F(w x + bias + add). Filters are [h,w,c]. An invocation computes four
// neighbouring channels of a pixel.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "types.glsl"
#include "epilogue.glsl"
#include "conv.glsl"

layout(constant_id = 1) const uint KERNEL_H = 3;
layout(constant_id = 2) const uint KERNEL_W = 3;
layout(constant_id = 3) const uint FUNCTION = 0;

layout(std430, binding = 0) readonly buffer XWords { T4 x_words[]; };
layout(std430, binding = 1) readonly buffer WWords { T4 w_words[]; };
layout(std430, binding = 2) readonly buffer BiasWords { T4 bias_words[]; };
layout(std430, binding = 3) readonly buffer AddWords { T4 add_words[]; };

// results hands sums to a loop that applies the function: a loop over registers with a large body
// would keep them in memory.
shared C results[4 * gl_WorkGroupSize.x];

void main() {
    uint at = flat_index(), words = groups / 4, word = at % words, pixel = at / words;
    if (pixel >= images * pixels()) return;
    uint ox = pixel % ow, oy = pixel / ow % oh, image = pixel / ow / oh;
    C4 sum = (has & 1) != 0 ? LOAD4(bias_words[word]) : C4(0);
    [[unroll]] for (uint ky = 0; ky < KERNEL_H; ky++) {
        uint row = oy * sh + ky - ph;
        [[unroll]] for (uint kx = 0; kx < KERNEL_W; kx++) {
            uint column = ox * sw + kx - pw;
            bool inside = row < ih && column < iw;
            C4 v = inside ? LOAD4(x_words[((image * ih + row) * iw + column) * words + word]) : C4(0);
            sum += v * LOAD4(w_words[(ky * KERNEL_W + kx) * words + word]);
        }
    }
    if ((has & 2) != 0) sum += LOAD4(add_words[at]);
    uint own = gl_LocalInvocationID.x;
    [[unroll]] for (uint e = 0; e < 4; e++) results[e * gl_WorkGroupSize.x + own] = sum[e];
    [[dont_unroll]] for (uint e = 0; e < 4; e++) {
        y[at * 4 + e] = STORE(EPILOGUE(results[e * gl_WorkGroupSize.x + own], FUNCTION, p, q));
    }
}
