// deform is a convolution with an offset for every tap of every window, an element of the result
// per invocation. It interpolates between pixels. Pixels outside the image are 0.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(constant_id = 1) const uint AXES = 2;
layout(constant_id = 2) const uint BIASED = 0;
layout(constant_id = 3) const uint MASKED = 0;

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) readonly buffer W { T w[]; };
layout(std430, binding = 2) readonly buffer Offsets { T offsets[]; };
layout(std430, binding = 3) readonly buffer Bias { T bias[]; };
layout(std430, binding = 4) readonly buffer Mask { T mask[]; };
layout(std430, binding = 5) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint total, groups, fields, channels, filters;
    uint extent[3], result[3], kernel[3], stride[3], dilation[3], pad[3];
    uint taps, places;
};

// pixel interpolates the value at place + offset in a plane.
float pixel(uint plane, int place[3], float offset[3]) {
    float sum = 0.0;
    for (uint corner = 0; corner < 1u << AXES; corner++) {
        float part = 1.0;
        uint at = plane;
        bool inside = true;
        for (uint a = 3 - AXES; a < 3; a++) {
            float whole = floor(offset[a]), t = offset[a] - whole;
            bool second = (corner >> a - (3 - AXES) & 1u) != 0u;
            float i = float(place[a] + (second ? 1 : 0)) + whole;
            part *= second ? t : 1.0 - t;
            if (!(i >= 0.0 && i < float(extent[a]))) inside = false;
            at = at * extent[a] + (inside ? uint(i) : 0);
        }
        if (inside) sum += part * LOAD(x[at]);
    }
    return sum;
}

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint p = i % places, f = i / places % filters, b = i / places / filters;
    uint per_group = channels / groups, g = f / (filters / groups), per_field = channels / fields;
    uint out_[3];
    uint rest = p;
    for (int a = 2; a >= 0; a--) {
        out_[a] = rest % result[a];
        rest /= result[a];
    }
    float sum = BIASED != 0 ? LOAD(bias[f]) : 0.0;
    for (uint c = 0; c < per_group; c++) {
        uint channel = g * per_group + c, field = channel / per_field;
        for (uint t = 0; t < taps; t++) {
            int place[3];
            float offset[3];
            uint k = t, from = (b * fields + field) * taps + t;
            for (int a = 2; a >= 0; a--) {
                place[a] = int(out_[a] * stride[a] + k % kernel[a] * dilation[a]) - int(pad[a]);
                k /= kernel[a];
                uint axis = uint(a) - (3 - AXES);
                offset[a] = 0.0;
                if (uint(a) >= 3 - AXES) offset[a] = LOAD(offsets[(from * AXES + axis) * places + p]);
            }
            float v = pixel(b * channels + channel, place, offset);
            if (MASKED != 0) v *= LOAD(mask[from * places + p]);
            sum += LOAD(w[(f * per_group + c) * taps + t]) * v;
        }
    }
    y[i] = STORE(sum);
}
