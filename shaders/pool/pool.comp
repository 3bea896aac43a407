#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "math.glsl"

// pool reduces windows over up to three axes of planes, an element of the result per invocation.
// KIND 0 is the greatest element, 1 the mean, and 2 the p-norm for p = power. If INDICES is 1,
// indices of the greatest elements are written too. If INDICES is 2, their first spatial axis is
// the innermost. With indices, NaN is never the greatest element. If LAST is 1, a plane is an image of
// which the channels are the innermost axis, and there are no indices.

layout(constant_id = 1) const uint KIND = 0;
layout(constant_id = 2) const uint INDICES = 0;
layout(constant_id = 3) const uint LAST = 0;

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) writeonly buffer Y { T y[]; };
layout(std430, binding = 2) writeonly buffer Index { uvec2 index[]; };

layout(push_constant) uniform Words {
    uint n;
    uint id_, ih, iw;
    uint od, oh, ow;
    uint kd, kh, kw;
    uint sd, sh, sw;
    uint dd, dh, dw;
    uint pd, ph, pw;
    uint ed, eh, ew; // padding at the ends
    uint count_pad;
    float power;
    uint channels; // for LAST
};

// counted returns the number of taps along an axis inside the value and its padding.
uint counted(uint out_, uint stride, uint pad, uint taps, uint dilation, uint extent, uint end) {
    uint count = 0;
    for (uint t = 0; t < taps; t++) {
        if (out_ * stride + t * dilation < pad + extent + end) count++;
    }
    return count;
}

void main() {
    uint at = flat_index();
    if (at >= n) return;
    uint inner = LAST != 0 ? channels : 1, channel = at % inner, pixel = at / inner;
    uint ox = pixel % ow, oy = pixel / ow % oh, oz = pixel / ow / oh % od, plane = pixel / ow / oh / od;
    float result = KIND == 0 ? -INFINITY : 0.0;
    uint met = 0, where = 0;
    for (uint kz = 0; kz < kd; kz++) {
        uint z = oz * sd + kz * dd - pd;
        if (z >= id_) continue;
        for (uint ky = 0; ky < kh; ky++) {
            uint r = oy * sh + ky * dh - ph;
            if (r >= ih) continue;
            for (uint kx = 0; kx < kw; kx++) {
                uint c = ox * sw + kx * dw - pw;
                if (c >= iw) continue;
                float v = LOAD(x[(((plane * id_ + z) * ih + r) * iw + c) * inner + channel]);
                met++;
                if (INDICES != 0) {
                    if (met != 1 && !(v > result)) continue;
                    if (v > result) result = v;
                    where = INDICES == 1 ? (z * ih + r) * iw + c : (c * ih + r) * id_ + z;
                } else if (KIND == 0) {
                    if (is_nan(v) || v > result && !is_nan(result)) result = v;
                } else if (KIND == 1) {
                    result += v;
                } else {
                    result += power == 1.0 ? abs(v) : power == 2.0 ? v * v : m_exp(power * m_log(abs(v)));
                }
            }
        }
    }
    if (KIND == 1) {
        if (count_pad != 0) met = counted(oz, sd, pd, kd, dd, id_, ed) * counted(oy, sh, ph, kh, dh, ih, eh) * counted(ox, sw, pw, kw, dw, iw, ew);
        result /= float(met);
    }
    if (KIND == 2) result = power == 1.0 ? result : power == 2.0 ? sqrt(result) : m_exp(m_log(result) / power);
    if (INDICES != 0) index[at] = uvec2(plane * id_ * ih * iw + where, 0);
    y[at] = STORE(result);
}
