// Operands of products of matrices of codes of 8 bits less their zero points, and what becomes
// of sums: integers, floats, or codes. Scales and zero points go with rows of a and columns of
// b, of each matrix or of all. A bias has the scale of the sums; what is added has that of the
// result. SIGNS is the id of the first of four constants.
#ifndef PRODUCT_GLSL
#define PRODUCT_GLSL

#include "quantized.glsl"
#ifdef RESULT_BYTES
#extension GL_EXT_shader_8bit_storage : require
#define R uint8_t
#elif defined(RESULT_FLOATS)
#define R float
#else
#define R int
#endif

layout(constant_id = SIGNS) const uint A_SIGNED = 0;
layout(constant_id = SIGNS + 1) const uint B_SIGNED = 0;
layout(constant_id = SIGNS + 2) const uint Y_SIGNED = 0;
layout(constant_id = SIGNS + 3) const uint HALF = 0; // scales

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

// What turns codes without signs into those with signs, four in a word, and adds 128 to their
// zero points.
const uint A_FLIP = A_SIGNED != 0 ? 0u : 0x80808080u, B_FLIP = B_SIGNED != 0 ? 0u : 0x80808080u;

// Where matrix q begins in a and in b.
uint a_begin(uint q) { return q / batch2 / batch1 * a_batch[0] + q / batch2 % batch1 * a_batch[1] + q % batch2 * a_batch[2]; }
uint b_begin(uint q) { return q / batch2 / batch1 * b_batch[0] + q / batch2 % batch1 * b_batch[1] + q % batch2 * b_batch[2]; }

// Takes the sum of row i and column j of matrix q of codes with signs, and the sums of the
// codes of that row of a and of that column of b.
void take_sum(uint q, uint i, uint j, int sum, int row, int column) {
    uint a_lane = k == 0 ? 0 : a_begin(q) / k + i, b_lane = (k * n == 0 ? 0 : b_begin(q) / (k * n) * n) + j, at = (q * m + i) * n + j;
    int za = a_zeros == 0 ? 0 : CODE_OF(a_zero, a_lane % a_zeros, A_SIGNED), zb = b_zeros == 0 ? 0 : CODE_OF(b_zero, b_lane % b_zeros, B_SIGNED);
    za -= A_SIGNED != 0 ? 0 : 128;
    zb -= B_SIGNED != 0 ? 0 : 128;
    sum += int(k) * za * zb - zb * row - za * column;
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

#endif
