// gemm computes convolutions by tiles of filters and pixels. The pixels of all images are columns. z
// of the grid numbers the groups. Operand 7 has for each term the offset in the image, and the steps
// along the axes: 12 bits for each of the last two, 8 for the first. PLAIN filters are single
// elements at the same place, and need no table. WORDS says whether filters are read four terms at a
// time, PLANE_WORDS whether planes are whole words of pixels.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#define PARTIAL 5
#include "tile.glsl"

layout(constant_id = 10) const uint PLAIN = 0;
layout(constant_id = 11) const uint WORDS = 0;
layout(constant_id = 12) const uint PLANE_WORDS = 0;

#include "conv.glsl"

layout(std430, binding = 0) readonly buffer XWords { T4 x_words[]; };
layout(std430, binding = 1) readonly buffer WWords { T4 w_words[]; };
layout(std430, binding = 3) readonly buffer AddWords { T4 add_words[]; };
layout(std430, binding = 4) writeonly buffer YWords { T4 y_words[]; };
layout(std430, binding = 7) readonly buffer Terms { uvec2 terms[]; };

// An invocation reads elements of one column, or words of four.
const bool BY_WORDS = PLAIN != 0 && PLANE_WORDS != 0;
const uint LEFT_EACH = TILE_M * STEP / 4 / INVOCATIONS, RIGHT_EACH = TILE_N * STEP / INVOCATIONS;
const uint STRIDE = INVOCATIONS / TILE_N, WORD_STRIDE = 4 * STRIDE; // rows between an invocation's
C4 next_left[LEFT_EACH], next_words[RIGHT_EACH / 4];
C next_right[RIGHT_EACH];
uint row0, col0, w_at, x_at, images_pixels, group;
ivec3 place;
bool there;

C4 left_word(uint row, uint d, uint end) {
    uint at = w_at + row * depth() + d;
    if (WORDS != 0) return row < filters && d < end ? LOAD4(w_words[at / 4]) : C4(0);
    C4 v;
    [[unroll]] for (uint e = 0; e < 4; e++) v[e] = row < filters && d + e < end ? LOAD(w[at + e]) : C(0);
    return v;
}

C right_element(uint d, uint end) {
    if (PLAIN != 0) return there && d < end ? LOAD(x[x_at + d * plane()]) : C(0);
    uvec2 term = terms[min(d, end - 1)];
    ivec3 at = place + ivec3(int(term.y) >> 24, bitfieldExtract(int(term.y), 12, 12), bitfieldExtract(int(term.y), 0, 12));
    bool inside = there && d < end && uint(at.x) < id_ && uint(at.y) < ih && uint(at.z) < iw;
    return inside ? LOAD(x[x_at + term.x]) : C(0);
}

void fetch(uint k0, uint end) {
    [[unroll]] for (uint i = 0; i < LEFT_EACH; i++) {
        uvec2 own = place_of(TILE_M, 0, id + i * INVOCATIONS);
        next_left[i] = left_word(row0 + own.x, k0 + own.y, end);
    }
    if (BY_WORDS) {
        [[unroll]] for (uint i = 0; i < RIGHT_EACH / 4; i++) {
            uint d = k0 + id / (TILE_N / 4) + i * WORD_STRIDE;
            next_words[i] = there && d < end ? LOAD4(x_words[(x_at + d * plane()) / 4]) : C4(0);
        }
    } else {
        [[unroll]] for (uint i = 0; i < RIGHT_EACH; i++) next_right[i] = right_element(k0 + id / TILE_N + i * STRIDE, end);
    }
}

void stage(uint base) {
    [[unroll]] for (uint i = 0; i < LEFT_EACH; i++) put(base, TILE_M, 0, id + i * INVOCATIONS, next_left[i]);
    base += STEP * LEFT_STRIDE;
    if (BY_WORDS) {
        [[unroll]] for (uint i = 0; i < RIGHT_EACH / 4; i++) put(base, TILE_N, 1, id + i * INVOCATIONS, next_words[i]);
    } else {
        uint col = id % TILE_N;
        [[unroll]] for (uint i = 0; i < RIGHT_EACH; i++) {
            pool[base + (id / TILE_N + i * STRIDE) * RIGHT_STRIDE + col / 4][col % 4] = next_right[i];
        }
    }
}

// to returns the element of the result for a filter and a pixel.
uint to(uint row, uint col) { return ((col / pixels() * groups + group) * filters + row) * pixels() + col % pixels(); }

#ifdef ANY_FUNCTION
void store(uint row, uint col, C sum) {
    row += row0, col += col0;
    if (row >= filters || col >= images_pixels) return;
    if ((has & 1) != 0) sum += LOAD(bias[group * filters + row]);
    uint at = to(row, col);
    if ((has & 2) != 0) sum += LOAD(add[at]);
    y[at] = STORE(EPILOGUE(sum, FUNCTION, p, q));
}
#else
void store(uint row, uint col, C4 sum) {
    row += row0, col += col0;
    if (row >= filters || col >= images_pixels) return;
    if ((has & 1) != 0) sum += LOAD(bias[group * filters + row]);
    if (PLANE_WORDS != 0) {
        uint at = to(row, col) / 4;
        if ((has & 2) != 0) sum += LOAD4(add_words[at]);
        y_words[at] = STORE4(finished(sum, p, q));
        return;
    }
    uvec4 at = uvec4(to(row, col), to(row, col + 1), to(row, col + 2), to(row, col + 3));
    if ((has & 2) != 0) {
        [[unroll]] for (uint e = 0; e < 4; e++) {
            if (col + e < images_pixels) sum[e] += LOAD(add[at[e]]);
        }
    }
    sum = finished(sum, p, q);
    [[unroll]] for (uint e = 0; e < 4; e++) {
        if (col + e < images_pixels) y[at[e]] = STORE(sum[e]);
    }
}
#endif

void main() {
    find_place();
    row0 = gl_WorkGroupID.y * TILE_M, col0 = gl_WorkGroupID.x * TILE_N;
    group = gl_WorkGroupID.z / PARTS, images_pixels = images * pixels();
    w_at = group * filters * depth();
    uint col = col0 + (BY_WORDS ? id % (TILE_N / 4) * 4 : id % TILE_N), pixel = col % pixels();
    there = col < images_pixels;
    place = ivec3(pixel / ow / oh * sd, pixel / ow % oh * sh, pixel % ow * sw);
    x_at = (col / pixels() * groups + group) * channels * plane() + uint((place.x * int(ih) + place.y) * int(iw) + place.z);
    uint tile = (group * gl_NumWorkGroups.y + gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    multiply(depth(), tile, gl_WorkGroupID.z % PARTS);
}
