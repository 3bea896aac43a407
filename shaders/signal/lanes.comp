// lanes gathers lanes of n points as pairs of floats. If INVERSE is set, the parts of numbers are
// exchanged, so that signal/pass computes an inverse transform. If MIRRORED is set, points after
// the middle are the conjugates of points before it.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(constant_id = 1) const uint PARTS = 1; // parts of a number of x
layout(constant_id = 2) const uint WINDOWED = 0;
layout(constant_id = 3) const uint INVERSE = 0;
layout(constant_id = 4) const uint MIRRORED = 0;

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) readonly buffer Window { T window[]; };
layout(std430, binding = 2) writeonly buffer Y { vec2 y[]; };

layout(push_constant) uniform Words {
    uint total, n;
    uint there;                               // numbers of a lane of x; others are 0
    uint frames, per_outer, per_frame, inner; // starts of lanes of x, in numbers
};

void main() {
    uint t = flat_index();
    if (t >= total) return;
    uint lane = t / n, point = t % n, outer = lane / inner;
    bool mirrored = MIRRORED != 0 && point > n / 2;
    uint j = mirrored ? n - point : point;
    vec2 v = vec2(0.0);
    if (j < there) {
        uint i = (outer / frames * per_outer + outer % frames * per_frame + lane % inner + j * inner) * PARTS;
        v = vec2(LOAD(x[i]), PARTS == 2 ? LOAD(x[i + 1]) : 0.0);
        if (WINDOWED != 0) v *= LOAD(window[j]);
    }
    if (mirrored) v.y = negated(v.y);
    y[t] = INVERSE != 0 ? v.yx : v;
}
