#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "epilogue.glsl"

// direct computes convolutions over three spatial axes, y = F(w x + bias + add), an element per
// invocation. It is for groups of few channels.

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) readonly buffer W { T w[]; };
layout(std430, binding = 2) readonly buffer Bias { T bias[]; };
layout(std430, binding = 3) readonly buffer Add { T add[]; };
layout(std430, binding = 4) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint groups, channels, filters;
    uint id_, ih, iw;
    uint od, oh, ow;
    uint kd, kh, kw;
    uint sd, sh, sw;
    uint dd, dh, dw;
    uint pd, ph, pw;
    uint has;
    uint then;
    float p, q;
    uint n; // elements of the result
};

void main() {
    uint at = flat_index();
    if (at >= n) return;
    uint pixels = od * oh * ow, plane = id_ * ih * iw, taps = kd * kh * kw;
    uint pixel = at % pixels, filter_ = at / pixels % (groups * filters), image = at / pixels / (groups * filters);
    uint x_at = (image * groups + filter_ / filters) * channels * plane;
    uint w_at = filter_ * channels * taps;
    int x0 = int(pixel % ow * sw) - int(pw);
    int y0 = int(pixel / ow % oh * sh) - int(ph);
    int z0 = int(pixel / ow / oh * sd) - int(pd);
    C sum = C(0);
    for (uint c = 0; c < channels; c++) {
        for (uint t = 0; t < taps; t++) {
            int fx = x0 + int(t % kw * dw), fy = y0 + int(t / kw % kh * dh), fz = z0 + int(t / kw / kh * dd);
            if (uint(fx) < iw && uint(fy) < ih && uint(fz) < id_) {
                sum += LOAD(w[w_at + c * taps + t]) * LOAD(x[x_at + c * plane + (uint(fz) * ih + uint(fy)) * iw + uint(fx)]);
            }
        }
    }
    if ((has & 1) != 0) sum += LOAD(bias[filter_]);
    if ((has & 2) != 0) sum += LOAD(add[at]);
    y[at] = STORE(EPILOGUE(sum, then, p, q));
}
