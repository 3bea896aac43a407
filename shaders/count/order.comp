// order is a step of a bitonic sort (K. Batcher, 1968) of the slices of x [outer,n,inner] along the
// middle axis. The sort leaves their positions in order. Of equal slices, the one with the lower
// position is first. An invocation compares two slices, step apart, in runs of run slices. The
// first step starts from the slices' own positions. Positions from n on come last.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "slices.glsl"

layout(std430, binding = 1) buffer Order { uint order[]; };

layout(push_constant) uniform Words { uint total, n, outer, inner, run, step; };

bool before(uint a, uint b) {
    int c = a < n && b < n ? compared(a, b, n, outer, inner) : 0;
    return c == 0 ? a < b : c > 0;
}

void main() {
    uint pair = flat_index();
    if (pair >= total) return;
    uint i = pair / step * 2 * step + pair % step, j = i + step;
    uint a = run == 2 ? i : order[i], b = run == 2 ? j : order[j];
    bool swap = before(b, a) == ((i & run) == 0);
    order[i] = swap ? b : a;
    order[j] = swap ? a : b;
}
