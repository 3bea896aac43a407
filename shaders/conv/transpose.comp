#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

// transpose computes transposed convolutions over three spatial axes, an element of the result per
// invocation. An element is a bias plus the sum over all elements of x with the element in their
// windows. Weights are [channels, filters of a group, taps]. If LAST is 1, channels are the innermost
// axis of x and of the result.

layout(constant_id = 1) const uint LAST = 0;

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) readonly buffer W { T w[]; };
layout(std430, binding = 2) readonly buffer Bias { T bias[]; };
layout(std430, binding = 3) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint groups, channels, filters; // channels of x and filters of a group
    uint id_, ih, iw;
    uint od, oh, ow;
    uint kd, kh, kw;
    uint sd, sh, sw;
    uint dd, dh, dw;
    uint pd, ph, pw;
    uint has_bias;
    uint n;
};

// from finds the element i of x with tap t of its window at position at. It reports false if there
// is none.
bool from(uint at, uint pad, uint t, uint dilation, uint stride, uint extent, out uint i) {
    int d = int(at + pad) - int(t * dilation);
    i = uint(d) / stride;
    return d >= 0 && uint(d) % stride == 0 && i < extent;
}

void main() {
    uint at = flat_index();
    if (at >= n) return;
    uint pixels = od * oh * ow, plane = id_ * ih * iw, taps = kd * kh * kw;
    uint all = groups * filters, image = at / pixels / all;
    uint pixel = LAST != 0 ? at / all % pixels : at % pixels, filter_ = LAST != 0 ? at % all : at / pixels % all;
    uint group = filter_ / filters, step = LAST != 0 ? 1 : plane;
    uint px = pixel % ow, py = pixel / ow % oh, pz = pixel / ow / oh;
    C sum = C(0);
    for (uint t = 0; t < taps; t++) {
        uint ix, iy, iz;
        if (!from(px, pw, t % kw, dw, sw, iw, ix) || !from(py, ph, t / kw % kh, dh, sh, ih, iy) || !from(pz, pd, t / kw / kh, dd, sd, id_, iz)) continue;
        uint place = (iz * ih + iy) * iw + ix;
        uint x_at = LAST != 0 ? ((image * plane + place) * groups + group) * channels : (image * groups + group) * channels * plane + place;
        uint w_at = (group * channels * filters + filter_ % filters) * taps + t;
        for (uint c = 0; c < channels; c++) sum += LOAD(x[x_at + c * step]) * LOAD(w[w_at + c * filters * taps]);
    }
    if (has_bias != 0) sum += LOAD(bias[filter_]);
    y[at] = STORE(sum);
}
