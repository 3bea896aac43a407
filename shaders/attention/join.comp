// join combines the parts that attention/attention writes if CUT is set, an element of a result per
// invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "math_active.glsl"
#include "weighted.glsl"

layout(constant_id = 1) const uint SIDE_BY_SIDE = 0;
layout(constant_id = 2) const uint NANS = 0;

layout(std430, binding = 0) readonly buffer Parts { float of_parts[]; };
layout(std430, binding = 1) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words { uint total, heads, rows, width, parts; };

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint e = i % width, lane = i / width, at = lane * parts * (width + 2);
    float top = -INFINITY, sum = 0.0, acc = 0.0;
    for (uint p = 0; p < parts; p++) top = max_nan(top, of_parts[at + p * (width + 2)]);
    for (uint p = 0; p < parts; p++) {
        uint from = at + p * (width + 2);
        float own = of_parts[from], factor = own == -INFINITY ? 0.0 : m_exp(own - top);
        sum += factor * of_parts[from + 1];
        acc += factor * of_parts[from + 2 + e];
    }
    uint row = lane % rows, head = lane / rows % heads, b = lane / rows / heads;
    uint to = SIDE_BY_SIDE != 0 ? ((b * rows + row) * heads + head) * width + e : i;
    y[to] = STORE(weighted(acc, sum, NANS));
}
