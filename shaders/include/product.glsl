// Operands of products of matrices of 8-bit codes less their zero points. Results are integers,
// floats or codes. Rows of a and columns of b have scales and zero points, for each matrix or for
// all. The integer bias is added to sums, and add to float results. SIGNS is the id of the first of
// four constants.
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
layout(constant_id = SIGNS + 3) const uint HALF = 0; // scales are float16

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
    uint batch1, batch2; // extents after the first
    uint a_batch[3], b_batch[3];
    uint a_scales, a_zeros, b_scales, b_zeros; // numbers of scales and zero points; 0 for none
    uint scaled;                               // whether y has a scale and a zero point
    uint biased, bias_row, bias_col, added;
    float alpha;
};

// A_FLIP and B_FLIP turn four unsigned codes of a word into signed codes. Zero points are then 128
// less.
const uint A_FLIP = A_SIGNED != 0 ? 0u : 0x80808080u, B_FLIP = B_SIGNED != 0 ? 0u : 0x80808080u;

// a_begin and b_begin return the first element of matrix q.
uint a_begin(uint q) { return q / batch2 / batch1 * a_batch[0] + q / batch2 % batch1 * a_batch[1] + q % batch2 * a_batch[2]; }
uint b_begin(uint q) { return q / batch2 / batch1 * b_batch[0] + q / batch2 % batch1 * b_batch[1] + q % batch2 * b_batch[2]; }

// a_lane and b_lane number row i and column j of matrix q among the rows and columns of all matrices
// of an operand.
uint a_lane(uint q, uint i) { return k == 0 ? i : a_begin(q) / k + i; }
uint b_lane(uint q, uint j) { return k * n == 0 ? j : b_begin(q) / (k * n) * n + j; }

// take_sum stores the result at row i and column j of matrix q. sum is the sum of products of
// signed codes, row the sum of the row's codes and column the sum of the column's codes.
void take_sum(uint q, uint i, uint j, int sum, int row, int column) {
    uint left = a_lane(q, i), right = b_lane(q, j), at = (q * m + i) * n + j;
    int za = a_zeros == 0 ? 0 : CODE_OF(a_zero, left % a_zeros, A_SIGNED), zb = b_zeros == 0 ? 0 : CODE_OF(b_zero, right % b_zeros, B_SIGNED);
    za -= A_SIGNED != 0 ? 0 : 128;
    zb -= B_SIGNED != 0 ? 0 : 128;
    sum += int(k) * za * zb - zb * row - za * column;
    if (biased != 0) sum += bias[i * bias_row + j * bias_col];
#if defined(RESULT_BYTES) || defined(RESULT_FLOATS)
    precise float by = alpha, rows = 1.0;
    if (a_scales == 1) by *= SCALE_OF(a_scale, 0, HALF);
    if (a_scales > 1) rows = SCALE_OF(a_scale, left % a_scales, HALF);
    if (b_scales != 0) by *= SCALE_OF(b_scale, right % b_scales, HALF);
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
