// points writes the first points of transforms of lanes of n points, a number per invocation. If
// REAL is set, points after the middle are the conjugates of points before it. If INVERSE is set,
// the parts of numbers are exchanged and divided by n.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(constant_id = 1) const uint OUT_PARTS = 2; // parts of a number of y
layout(constant_id = 2) const uint REAL = 0;
layout(constant_id = 3) const uint INVERSE = 0;

layout(std430, binding = 0) readonly buffer X { vec2 x[]; };
layout(std430, binding = 1) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint total, n, points, inner; // points: numbers of a lane of y
    float scale;
};

void main() {
    uint t = flat_index();
    if (t >= total) return;
    uint k = t / inner % points, lane = t / inner / points * inner + t % inner;
    bool mirrored = REAL != 0 && 2 * k > n;
    vec2 v = x[lane * n + (mirrored ? n - k : k)];
    if (mirrored) v.y = negated(v.y);
    if (REAL != 0 && (k == 0 || 2 * k == n)) v.y = 0.0;
    if (INVERSE != 0) {
        precise vec2 scaled = v.yx * scale;
        v = scaled;
    }
    y[t * OUT_PARTS] = STORE(v.x);
    if (OUT_PARTS == 2) y[t * 2 + 1] = STORE(v.y);
}
