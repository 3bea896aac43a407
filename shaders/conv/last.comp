// last computes convolutions of images with channels last by cooperative matrices. Rows of the
// product are the pixels of all images, columns the filters [f,h,w,c] of a group, and z of the grid
// numbers the groups. A word is eight channels. Operand 5 has for each word along k its offset from
// the first of a window, in words, and the steps along the axes, 16 bits each. PLAIN filters are
// single elements without padding, and need no table.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#define PARTIAL 6
#define PARTS_ID 13
#include "matrix.glsl"
#include "epilogue.glsl"
#include "conv.glsl"

layout(constant_id = 12) const uint PLAIN = 0;

layout(std430, binding = 0) readonly buffer XWords { WORD x_words[]; };
layout(std430, binding = 1) readonly buffer WWords { WORD w_words[]; };
layout(std430, binding = 5) readonly buffer Terms { uvec2 terms[]; };

uint group() { return gl_WorkGroupID.z / PARTS; }

// A window is the place of a row: the first word, and the coordinates of that element, 16 bits each.
// NOWHERE are the coordinates behind the last pixel: no step leads from them into an image.
shared uvec2 windows[TILE_M];
const uint NOWHERE = 0x80008000u;

ivec2 coordinates(uint v) { return ivec2(int(v) >> 16, bitfieldExtract(int(v), 0, 16)); }

void find_windows() {
    for (uint r = gl_LocalInvocationIndex; r < TILE_M; r += INVOCATIONS) {
        uint row = gl_WorkGroupID.y * TILE_M + r, image = row / pixels(), pixel = row % pixels();
        ivec2 at = ivec2(pixel / ow * sh, pixel % ow * sw) - ivec2(ph, pw);
        uint element = (image * ih + uint(at.x)) * iw + uint(at.y);
        uint word = (element * groups + group()) * (channels / 8);
        windows[r] = uvec2(word, row < images * pixels() ? uint(at.x) << 16 | uint(at.y) & 0xffffu : NOWHERE);
    }
    barrier();
}

WORD left_word(uint line, uint at, uint k0, uint end) {
    uint d = k0 + at;
    uvec2 window = windows[line];
    if (PLAIN != 0) return window.y != NOWHERE && d < end ? x_words[window.x + d / 8] : WORD(0);
    uvec2 term = terms[min(d, end - 1) / 8];
    uvec2 place = uvec2(coordinates(window.y) + coordinates(term.y));
    return d < end && place.x < ih && place.y < iw ? x_words[window.x + term.x] : WORD(0);
}

WORD right_word(uint line, uint at, uint k0, uint end) {
    uint col = gl_WorkGroupID.x * TILE_N + line, d = k0 + at;
    return col < filters && d < end ? w_words[((group() * filters + col) * depth() + d) / 8] : WORD(0);
}

void result(uint r, uint c, SUM sum) {
    uint row = gl_WorkGroupID.y * TILE_M + r, col = gl_WorkGroupID.x * TILE_N + c;
    if (row >= images * pixels() || col >= filters) return;
    uint channel = group() * filters + col, at = row * groups * filters + channel;
    float v = sum;
    if ((has & 1) != 0) v += LOAD(bias[channel]);
    if ((has & 2) != 0) v += LOAD(add[at]);
    y[at] = STORE(EPILOGUE(v, then, p, q));
}

void main() {
    find_windows();
    uint tile = (group() * gl_NumWorkGroups.y + gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    multiply_part(depth(), tile, gl_WorkGroupID.z % PARTS);
}
