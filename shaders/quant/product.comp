// Products of matrices of codes of 8 bits less their zero points, as integers, as floats, or
// quantised: four neighbouring columns of a row per invocation. Scales and zero points go with
// rows of a and columns of b, of each matrix or of all. A bias has the scale of the sums; what is
// added has that of the result.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "quantized.glsl"
#include "dot.glsl"
#ifdef RESULT_BYTES
#extension GL_EXT_shader_8bit_storage : require
#define R uint8_t
#elif defined(RESULT_FLOATS)
#define R float
#else
#define R int
#endif

layout(constant_id = 1) const uint A_SIGNED = 0;
layout(constant_id = 2) const uint B_SIGNED = 0;
layout(constant_id = 3) const uint Y_SIGNED = 0;
layout(constant_id = 4) const uint HALF = 0; // scales

layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) readonly buffer AScale { uint a_scale[]; };
layout(std430, binding = 2) readonly buffer AZero { uint a_zero[]; };
layout(std430, binding = 3) readonly buffer B { uint b[]; };
layout(std430, binding = 4) readonly buffer BScale { uint b_scale[]; };
layout(std430, binding = 5) readonly buffer BZero { uint b_zero[]; };
layout(std430, binding = 6) readonly buffer YScale { uint y_scale[]; };
layout(std430, binding = 7) readonly buffer YZero { uint y_zero[]; };
layout(std430, binding = 8) readonly buffer Bias { int bias[]; };
layout(std430, binding = 9) readonly buffer Add { float add[]; };
layout(std430, binding = 10) writeonly buffer Y { R y[]; };

layout(push_constant) uniform Words {
    uint m, n, k;
    uint a_row, a_col, b_row, b_col;
    uint batch1, batch2; // extents behind the first
    uint a_batch[3], b_batch[3];
    uint a_scales, a_zeros, b_scales, b_zeros; // how many there are; 0 for none
    uint scaled;                               // whether y has a scale, and a zero point
    uint biased, bias_row, bias_col, added;
    float alpha;
};

// Four codes of a as bytes with signs, from place p of k on; 0 behind the end.
uint word_a(uint at, uint p) {
    uint w = 0;
    for (uint i = 0; i < 4 && p + i < k; i++) w |= (BYTE_OF(a, at + (p + i) * a_col) ^ (A_SIGNED != 0 ? 0u : 128u)) << 8 * i;
    return w;
}

uint word_b(uint at, uint p) {
    uint w = 0;
    for (uint i = 0; i < 4 && p + i < k; i++) w |= (BYTE_OF(b, at + (p + i) * b_row) ^ (B_SIGNED != 0 ? 0u : 128u)) << 8 * i;
    return w;
}

void main() {
    uint quads = (n + 3) / 4, lane = flat_index(), j0 = lane % quads * 4, i = lane / quads % m, q = lane / quads / m;
    uint q2 = q % batch2, q1 = q / batch2 % batch1, q0 = q / batch2 / batch1;
    uint left = q0 * a_batch[0] + q1 * a_batch[1] + q2 * a_batch[2], right = q0 * b_batch[0] + q1 * b_batch[1] + q2 * b_batch[2];
    uint a_at = left + i * a_row, count = min(4, n - min(n, j0));
    int sums[4] = int[4](0, 0, 0, 0), columns[4] = int[4](0, 0, 0, 0), row = 0;
    for (uint p = 0; p < k; p += 4) {
        uint v = word_a(a_at, p);
        row = dot4(v, 0x01010101u, row);
        for (uint c = 0; c < count; c++) {
            uint w = word_b(right + (j0 + c) * b_col, p);
            sums[c] = dot4(v, w, sums[c]);
            columns[c] = dot4(0x01010101u, w, columns[c]);
        }
    }
    uint a_lane = k == 0 ? 0 : left / k + i, b_matrix = k * n == 0 ? 0 : right / (k * n) * n;
    int za = a_zeros == 0 ? 0 : CODE_OF(a_zero, a_lane % a_zeros, A_SIGNED);
    za -= A_SIGNED != 0 ? 0 : 128;
    for (uint c = 0; c < count; c++) {
        uint j = j0 + c, at = (q * m + i) * n + j, b_lane = b_matrix + j;
        int zb = b_zeros == 0 ? 0 : CODE_OF(b_zero, b_lane % b_zeros, B_SIGNED);
        zb -= B_SIGNED != 0 ? 0 : 128;
        int sum = sums[c] - zb * row - za * columns[c] + int(k) * za * zb;
        if (biased != 0) sum += bias[i * bias_row + j * bias_col];
#if defined(RESULT_BYTES) || defined(RESULT_FLOATS)
        precise float by = alpha, rows = 1.0;
        if (a_scales == 1) by *= SCALE_OF(a_scale, 0, HALF);
        if (a_scales > 1) rows = SCALE_OF(a_scale, a_lane % a_scales, HALF);
        if (b_scales != 0) by *= SCALE_OF(b_scale, b_lane % b_scales, HALF);
        if (scaled != 0) by /= SCALE_OF(y_scale, 0, HALF);
        precise float v = float(sum) * (rows * by);
#endif
#ifdef RESULT_BYTES
        int least = Y_SIGNED != 0 ? -128 : 0, zero = CODE_OF(y_zero, 0, Y_SIGNED);
        y[at] = uint8_t(quantized(v, float(least - zero), float(least + 255 - zero), zero));
#elif defined(RESULT_FLOATS)
        if (added != 0) v += add[j];
        y[at] = v;
#else
        y[at] = sum;
#endif
    }
}
