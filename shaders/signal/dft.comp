// dft computes discrete Fourier transforms of n points of lanes, a number of the result per
// invocation, by direct summation. Numbers are real or complex. table has the cosines and sines of
// multiples of a turn over n. If INVERSE is set, results are divided by n. If MIRRORED is set,
// points after the middle are the conjugates of points before it.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(constant_id = 1) const uint PARTS = 1;     // parts of a number of x
layout(constant_id = 2) const uint OUT_PARTS = 2; // parts of a number of y
layout(constant_id = 3) const uint WINDOWED = 0;
layout(constant_id = 4) const uint INVERSE = 0;
layout(constant_id = 5) const uint MIRRORED = 0;

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) readonly buffer Table { vec2 table[]; };
layout(std430, binding = 2) readonly buffer Window { T window[]; };
layout(std430, binding = 3) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint total, n, points;     // points: numbers of a lane of y
    uint there;                // numbers of a lane of x; others are 0
    uint frames, per_outer, per_frame, inner; // starts of lanes of x, in numbers
};

vec2 number(uint at, uint j) {
    if (j >= there) return vec2(0.0);
    uint i = (at + j * inner) * PARTS;
    vec2 v = vec2(LOAD(x[i]), PARTS == 2 ? LOAD(x[i + 1]) : 0.0);
    if (WINDOWED != 0) v *= LOAD(window[j]);
    return v;
}

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint in_ = i % inner, k = i / inner % points, outer = i / inner / points;
    uint at = outer / frames * per_outer + outer % frames * per_frame + in_;
    precise vec2 sum = vec2(0.0), lost = vec2(0.0);
    for (uint j = 0; j < n; j++) {
        bool mirrored = MIRRORED != 0 && j > n / 2;
        vec2 v = number(at, mirrored ? n - j : j), root = table[j * k % n];
        if (mirrored) v.y = -v.y;
        if (INVERSE == 0) root.y = -root.y;
        precise vec2 term = vec2(v.x * root.x - v.y * root.y, v.x * root.y + v.y * root.x) - lost;
        precise vec2 next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    if (INVERSE != 0) sum /= float(n);
    y[i * OUT_PARTS] = STORE(sum.x);
    if (OUT_PARTS == 2) y[i * 2 + 1] = STORE(sum.y);
}
