// Operands of convolutions over three spatial axes: y = F(w x + bias + add). A convolution is the
// product of filters [f, c*kd*kh*kw] and windows, read from the image in place. Include types.glsl
// first.
#ifndef CONV_GLSL
#define CONV_GLSL

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) readonly buffer W { T w[]; };
layout(std430, binding = 2) readonly buffer Bias { T bias[]; };
layout(std430, binding = 3) readonly buffer Add { T add[]; };
layout(std430, binding = 4) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint groups, channels, filters; // channels and filters of a group
    uint id_, ih, iw;
    uint od, oh, ow;
    uint kd, kh, kw;
    uint sd, sh, sw;
    uint dd, dh, dw;
    uint pd, ph, pw;
    uint has; // bit 0: bias; bit 1: add
    uint then;
    float p, q;
    uint images;
};

uint plane() { return id_ * ih * iw; }
uint pixels() { return od * oh * ow; }
uint taps() { return kd * kh * kw; }
uint depth() { return channels * taps(); }

#endif
