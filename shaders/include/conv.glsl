// Operands of convolutions over three spatial axes as products of filters [f, c*kd*kh*kw] and
// the windows of an image, which are read where they lie: y = F(w x + bias + add). Z of the
// grid is a group of an image. Behind types.glsl.
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
    uint has; // bit 0: a bias; bit 1: something to add
    uint then;
    float p, q;
};

uint plane() { return id_ * ih * iw; }
uint pixels() { return od * oh * ow; }
uint taps() { return kd * kh * kw; }
uint depth() { return channels * taps(); }

// Where the filters of this group, and its channels of the image, begin.
uint w_begin() { return gl_WorkGroupID.z % groups * filters * depth(); }
uint x_begin() { return gl_WorkGroupID.z * channels * plane(); }

const uint OUTSIDE = 0xffffffffu;

// The element of the image that a pixel of the result has at place at of its window; OUTSIDE
// for one of the padding.
uint window(uint at, uint pixel) {
    uint channel = at / taps(), tap = at % taps();
    int fx = int(pixel % ow * sw + tap % kw * dw) - int(pw);
    int fy = int(pixel / ow % oh * sh + tap / kw % kh * dh) - int(ph);
    int fz = int(pixel / ow / oh * sd + tap / kw / kh * dd) - int(pd);
    bool inside = at < depth() && pixel < pixels() && uint(fx) < iw && uint(fy) < ih && uint(fz) < id_;
    return inside ? x_begin() + channel * plane() + (uint(fz) * ih + uint(fy)) * iw + uint(fx) : OUTSIDE;
}

// Takes the sum of a filter and a pixel, of which there may be fewer.
void take_sum(uint row, uint col, C sum) {
    if (row >= filters || col >= pixels()) return;
    C v = sum;
    if ((has & 1) != 0) v += LOAD(bias[gl_WorkGroupID.z % groups * filters + row]);
    uint at = (gl_WorkGroupID.z * filters + row) * pixels() + col;
    if ((has & 2) != 0) v += LOAD(add[at]);
    y[at] = STORE(EPILOGUE(v, then, p, q));
}

#endif
