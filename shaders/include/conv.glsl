// Operands of convolutions over three spatial axes: y = F(w x + bias + add). A convolution is the
// product of filters [f, c*kd*kh*kw] and windows, read from the image in place. z of the grid
// numbers the groups of all images. Include types.glsl first.
#ifndef CONV_GLSL
#define CONV_GLSL

#include "epilogue.glsl"

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
};

uint plane() { return id_ * ih * iw; }
uint pixels() { return od * oh * ow; }
uint taps() { return kd * kh * kw; }
uint depth() { return channels * taps(); }

// w_begin and x_begin return the first element of the group's filters and of its channels.
uint w_begin() { return gl_WorkGroupID.z % groups * filters * depth(); }
uint x_begin() { return gl_WorkGroupID.z * channels * plane(); }

const uint OUTSIDE = 0xffffffffu;

// window returns the element of the image at index at of a pixel's window, or OUTSIDE in the
// padding.
uint window(uint at, uint pixel) {
    uint channel = at / taps(), tap = at % taps();
    int fx = int(pixel % ow * sw + tap % kw * dw) - int(pw);
    int fy = int(pixel / ow % oh * sh + tap / kw % kh * dh) - int(ph);
    int fz = int(pixel / ow / oh * sd + tap / kw / kh * dd) - int(pd);
    bool inside = at < depth() && pixel < pixels() && uint(fx) < iw && uint(fy) < ih && uint(fz) < id_;
    return inside ? x_begin() + channel * plane() + (uint(fz) * ih + uint(fy)) * iw + uint(fx) : OUTSIDE;
}

// take_sum stores the result for a filter and a pixel. A filter or pixel past the end is skipped.
void take_sum(uint row, uint col, C sum) {
    if (row >= filters || col >= pixels()) return;
    C v = sum;
    if ((has & 1) != 0) v += LOAD(bias[gl_WorkGroupID.z % groups * filters + row]);
    uint at = (gl_WorkGroupID.z * filters + row) * pixels() + col;
    if ((has & 2) != 0) v += LOAD(add[at]);
    y[at] = STORE(EPILOGUE(v, then, p, q));
}

#endif
