// affine maps evenly spaced positions by maps [batch,axes,axes+1], a number of the result
// [batch,...,axes] per invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(constant_id = 1) const uint AXES = 2;
layout(constant_id = 2) const uint CORNERS = 0;

layout(std430, binding = 0) readonly buffer Theta { T theta[]; };
layout(std430, binding = 1) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint total, places;
    uint extent[3];
};

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint row = i % AXES, p = i / AXES % places, b = i / AXES / places, from = (b * AXES + row) * (AXES + 1);
    precise float sum = 0.0;
    uint rest = p;
    for (uint k = 0; k < AXES; k++) { // innermost axis first
        uint n = extent[2 - k], at = rest % n;
        rest /= n;
        precise float place;
        if (CORNERS == 0) {
            place = (2.0 * float(at) + 1.0) / float(n) - 1.0;
        } else {
            place = n == 1 ? -1.0 : 2.0 * float(at) / float(n - 1) - 1.0;
        }
        sum += LOAD(theta[from + k]) * place;
    }
    sum += LOAD(theta[from + AXES]);
    y[i] = STORE(sum);
}
