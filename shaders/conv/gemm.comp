#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "epilogue.glsl"

// Convolutions over three spatial axes as products of filters [f, c*kd*kh*kw] and the windows
// of an image, which are read where they lie: y = F(w x + bias + add). Z of the grid is a
// group of an image. The constants are the filters and pixels that an invocation computes;
// a workgroup of 16 x 16 invocations computes a tile of 16 times as many.

layout(constant_id = 1) const uint ROWS = 4;
layout(constant_id = 2) const uint COLS = 4;

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

const uint SIDE = 16;
const uint DEPTH = 16;
const uint TILE_M = SIDE * ROWS;
const uint TILE_N = SIDE * COLS;

shared C left[DEPTH * (TILE_M + 1)];
shared C right[DEPTH * (TILE_N + 1)];

void main() {
    uint id = gl_LocalInvocationID.x;
    uint tx = id % SIDE, ty = id / SIDE;
    uint row0 = gl_WorkGroupID.y * TILE_M, col0 = gl_WorkGroupID.x * TILE_N;
    uint group = gl_WorkGroupID.z % groups;
    uint plane = id_ * ih * iw, pixels = od * oh * ow;
    uint taps = kd * kh * kw, depth = channels * taps;
    uint x_at = gl_WorkGroupID.z * channels * plane;
    uint w_at = group * filters * depth;

    C sums[ROWS * COLS];
    for (uint i = 0; i < ROWS * COLS; i++) sums[i] = C(0);

    for (uint k0 = 0; k0 < depth; k0 += DEPTH) {
        for (uint i = id; i < TILE_M * DEPTH; i += SIDE * SIDE) {
            uint r = i / DEPTH, d = i % DEPTH;
            bool inside = row0 + r < filters && k0 + d < depth;
            left[d * (TILE_M + 1) + r] = inside ? LOAD(w[w_at + (row0 + r) * depth + k0 + d]) : C(0);
        }
        for (uint i = id; i < TILE_N * DEPTH; i += SIDE * SIDE) {
            uint r = i % TILE_N, d = i / TILE_N;
            uint at = k0 + d, pixel = col0 + r;
            uint channel = at / taps, tap = at % taps;
            int fx = int(pixel % ow * sw + tap % kw * dw) - int(pw);
            int fy = int(pixel / ow % oh * sh + tap / kw % kh * dh) - int(ph);
            int fz = int(pixel / ow / oh * sd + tap / kw / kh * dd) - int(pd);
            bool inside = at < depth && pixel < pixels && uint(fx) < iw && uint(fy) < ih && uint(fz) < id_;
            right[d * (TILE_N + 1) + r] = inside ? LOAD(x[x_at + channel * plane + (uint(fz) * ih + uint(fy)) * iw + uint(fx)]) : C(0);
        }
        barrier();
        for (uint d = 0; d < DEPTH; d++) {
            C l[ROWS];
            for (uint i = 0; i < ROWS; i++) l[i] = left[d * (TILE_M + 1) + ty + i * SIDE];
            for (uint j = 0; j < COLS; j++) {
                C r = right[d * (TILE_N + 1) + tx + j * SIDE];
                for (uint i = 0; i < ROWS; i++) sums[i * COLS + j] += l[i] * r;
            }
        }
        barrier();
    }

    for (uint i = 0; i < ROWS; i++) {
        for (uint j = 0; j < COLS; j++) {
            uint row = row0 + ty + i * SIDE, col = col0 + tx + j * SIDE;
            if (row >= filters || col >= pixels) continue;
            C v = sums[i * COLS + j];
            if ((has & 1) != 0) v += LOAD(bias[group * filters + row]);
            uint at = (gl_WorkGroupID.z * filters + row) * pixels + col;
            if ((has & 2) != 0) v += LOAD(add[at]);
            y[at] = STORE(EPILOGUE(v, then, p, q));
        }
    }
}
