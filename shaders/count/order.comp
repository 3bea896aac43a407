// A step of a bitonic sort (K. Batcher, 1968) of the slices of x [outer,n,inner] along its
// middle axis, which leaves their places in order. Of equal slices that at the lower place is
// first. An invocation looks at two of them, step apart, that lie in runs of so many; the
// first step finds each slice at its own place. Places from n on come last.
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
