// matrix computes the convolutions of conv/gemm by cooperative matrices. After the constants of
// matrix.glsl, LEFT_WORDS says whether filters are read by whole words. Neighbours of filters are
// along k; neighbours of windows are pixels. z of the grid numbers the groups of all images.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "matrix.glsl"
#include "epilogue.glsl"
#include "conv.glsl"

layout(constant_id = 12) const uint LEFT_WORDS = 0;

layout(std430, binding = 0) readonly buffer XBits { uint16_t x_bits[]; };
layout(std430, binding = 1) readonly buffer WBits { uint16_t w_bits[]; };
layout(std430, binding = 1) readonly buffer WWords { WORD w_words[]; };

// w_begin and x_begin return the first element of the group's filters and of its channels.
uint w_begin() { return gl_WorkGroupID.z % groups * filters * depth(); }
uint x_begin() { return gl_WorkGroupID.z * channels * plane(); }

WORD left_word(uint line, uint at, uint k0, uint end) {
    uint row = gl_WorkGroupID.y * TILE_M + line, d = k0 + at, first = w_begin() + row * depth() + d;
    if (LEFT_WORDS != 0) return row < filters && d < end ? w_words[first / 8] : WORD(0);
    uint e[8];
    [[unroll]] for (uint i = 0; i < 8; i++) e[i] = row < filters && d + i < end ? uint(w_bits[first + i]) : 0u;
    return word_of(e);
}

// right_word computes the coordinates of the first pixel and then steps from pixel to pixel.
WORD right_word(uint line, uint at, uint k0, uint end) {
    uint d = k0 + line, pixel = gl_WorkGroupID.x * TILE_N + at;
    if (d >= end || pixel >= pixels()) return WORD(0);
    uint channel = d / taps(), tap = d % taps(), begin = x_begin() + channel * plane();
    uint px = pixel % ow, py = pixel / ow % oh, pz = pixel / ow / oh;
    int tx = int(tap % kw * dw) - int(pw), ty = int(tap / kw % kh * dh) - int(ph), tz = int(tap / kw / kh * dd) - int(pd);
    uint e[8];
    [[unroll]] for (uint i = 0; i < 8; i++) {
        uint fx = uint(int(px * sw) + tx), fy = uint(int(py * sh) + ty), fz = uint(int(pz * sd) + tz);
        bool inside = pixel + i < pixels() && fx < iw && fy < ih && fz < id_;
        e[i] = inside ? uint(x_bits[begin + (fz * ih + fy) * iw + fx]) : 0u;
        if (++px == ow) {
            px = 0;
            if (++py == oh) py = 0, pz++;
        }
    }
    return word_of(e);
}

void result(uint r, uint c, SUM sum) {
    uint row = gl_WorkGroupID.y * TILE_M + r, col = gl_WorkGroupID.x * TILE_N + c;
    if (row >= filters || col >= pixels()) return;
    float v = sum;
    if ((has & 1) != 0) v += LOAD(bias[gl_WorkGroupID.z % groups * filters + row]);
    uint at = (gl_WorkGroupID.z * filters + row) * pixels() + col;
    if ((has & 2) != 0) v += LOAD(add[at]);
    y[at] = STORE(EPILOGUE(v, then, p, q));
}

void main() { multiply(0, depth()); }
