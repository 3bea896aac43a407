// fold adds up blocks, columns of [batch,channels*taps,blocks], at the positions of their windows
// in images, a pixel per invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "types.glsl"

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint total, count; // count: blocks
    uint extent[3], blocks[3], kernel[3], stride[3], dilation[3], pad[3];
};

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint at[3];
    uint plane = i;
    [[unroll]] for (int a = 2; a >= 0; a--) {
        at[a] = plane % extent[a];
        plane /= extent[a];
    }
    uint taps = kernel[0] * kernel[1] * kernel[2];
    C sum = C(0);
    for (uint t = 0; t < taps; t++) {
        uint rest = t, block = 0, step = 1;
        bool is = true;
        [[unroll]] for (int a = 2; a >= 0; a--) {
            int from = int(at[a] + pad[a]) - int(rest % kernel[a] * dilation[a]);
            rest /= kernel[a];
            uint k = uint(from) / stride[a];
            is = is && from >= 0 && uint(from) % stride[a] == 0 && k < blocks[a];
            block += k * step;
            step *= blocks[a];
        }
        if (is) sum += LOAD(x[(plane * taps + t) * count + block]);
    }
    y[i] = STORE(sum);
}
