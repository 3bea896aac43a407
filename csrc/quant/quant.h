// Quantised numbers, of which a code q stands for (q - zero) * scale, and
// products of matrices of bytes.
//
// Sums of products are exact in 32 bits that wrap, so every variant gives the
// same integers. What follows in floats takes the same steps, each rounded once,
// in every variant.
#ifndef NACRE_QUANT_QUANT_H
#define NACRE_QUANT_QUANT_H

#include <stddef.h>
#include <stdint.h>

#include "conv/conv.h"
#include "core/half.h"
#include "core/kernel.h"
#include "core/numbers.h"
#include "core/parallel.h"
#include "matmul/matmul.h"
#include "rnn/rnn.h"

const nacre_kernel *nacre_quant_kernels(size_t *count);

// How codes, scales, zero points, and what becomes of a sum, are stored. Elements of
// four and of two bits lie together in a byte, the first in the lowest bits. TABLE8 and
// TABLE4 are codes without sign of eight and of four bits that are places in a table of
// numbers.
typedef enum {
    NACRE_QUANT_F32,
    NACRE_QUANT_U8,
    NACRE_QUANT_I8,
    NACRE_QUANT_U16,
    NACRE_QUANT_I16,
    NACRE_QUANT_I32,
    NACRE_QUANT_F16,
    NACRE_QUANT_BF16,
    NACRE_QUANT_F8E8M0,
    NACRE_QUANT_U4,
    NACRE_QUANT_I4,
    NACRE_QUANT_U2,
    NACRE_QUANT_I2,
    NACRE_QUANT_TABLE8,
    NACRE_QUANT_TABLE4
} nacre_quant_type;

// ---- i8_gemm ----------------------------------------------------------------
//
// s(i,j) = sum_p (a(i,p) - a_zero[i]) (b(p,j) - b_zero[j]) + bias(i,j)
// c(i,j) = s                              NACRE_QUANT_I32
//        = s * scale + add[j]             NACRE_QUANT_F32
//        = saturate(round(s * scale + then) + zero)   NACRE_QUANT_U8 and NACRE_QUANT_I8
// with scale = row_scale[i] * col_scale[j], and halves rounded to even. A scale
// that is not a number makes the least code.
//
// Kernels multiply bytes a' with sign by bytes b' with or without: bytes of the
// other kind become such by an offset of 128 that the zero points take over. The
// zero points are left out of the products and made up for by sums over rows of
// a' and columns of b'.

// What follows sums times scales, x, on their way to codes, in steps of the result:
//     x = x + row_add[i]
//     x = stage.ratio * (round(x) moved to stage.low..stage.high) + stage.add   with a stage
//     x = x + ratio * codes(i,j) moved to low..high
// Halves are rounded to even. Up to a stage, numbers are in steps of its own.
typedef struct {
    int there;
    float low, high, ratio, add;
} nacre_i8_stage;

typedef struct {
    const float *row_add;  // or NULL
    nacre_i8_stage stage;
    const uint8_t *codes;  // laid out as c, which they may be, or NULL
    int is_signed;         // of codes
    float ratio;
    float low, high;       // counted from the zero point
} nacre_i8_then;

// What becomes of the sums of one block of c. The pointers are to its first row
// and column; those that may be NULL say so.
typedef struct {
    size_t m, n, k;
    const int32_t *sums;  // of a' b', rows sums_row apart
    size_t sums_row;
    const int32_t *a_sums, *b_sums;  // of rows of a', columns of b'; b_sums is NULL when all zeros of a' are 0
    const int32_t *a_zero;           // NULL for zeros of a' that are 0
    const int32_t *b_zero;
    uint32_t a_shift, b_shift;       // what to add to a zero for a' or b'
    const int32_t *bias;             // or NULL
    size_t bias_row, bias_col;       // bias(i,j) = bias[i*bias_row + j*bias_col], bias_col 0 or 1
    const float *row_scale, *col_scale;
    const float *add;                // or NULL
    const nacre_i8_then *then;       // NULL for none; for codes
    size_t row, at;                  // of the block's first element: its row_add and its place in c
    nacre_quant_type type;
    int32_t zero;
    void *c;
    size_t ldc;
} nacre_i8_finish;

// The parts of a product for one ISA level. A kernel row of op i8_gemm has the
// signature nacre_i8_gemm_fn and returns its parts.
typedef struct {
    size_t mr, nr;   // rows and columns of a tile
    size_t group;    // numbers of k that lie together in packed operands
    size_t a_group;  // of a: these, or a multiple; k is filled up to them
    size_t a_bytes;  // of one a' in a packed panel: 1 or 2
    int b_unsigned;  // b' has no sign

    // sums[i*nr + j] for i < m <= mr and j < n rounded up to what suits, nr at most:
    // a[(g*m + i)*group + l], b[(g*nr + j)*group + l] for g < groups, l < group, and the same of a by
    // a_group. Behind a there is as much as of a panel of 16 rows. Next will be
    // needed: next_step bytes of it for each group.
    void (*tile)(size_t groups, size_t m, size_t n, const void *a, const uint8_t *b, int32_t *sums, const uint8_t *next, size_t next_step);
    // The same of one row by NACRE_I8_WIDE panels of b, each step bytes behind the other: sums[p*nr + j].
    void (*row)(size_t groups, const void *a, const uint8_t *b, size_t step, int32_t *sums);
    // sums[j] = sum_p x[p] b[p*ldb + j] for j < n; is_signed is b's.
    void (*line)(size_t k, const int16_t *x, const uint8_t *b, size_t ldb, int is_signed, int32_t *sums, size_t n);
    void (*finish)(const nacre_i8_finish *f);
    // y[i] = x[i] - zero, and y[i] = x[i] of whole numbers.
    void (*to_floats)(const uint8_t *x, int is_signed, int32_t zero, size_t n, float *y);
    void (*to_integers)(const float *x, size_t n, int32_t *y);
} nacre_i8_gemm_impl;
typedef const nacre_i8_gemm_impl *nacre_i8_gemm_fn(void);

// The most numbers of a tile, rows of one, and panels of b that one row meets at a time.
enum { NACRE_I8_TILE = 512, NACRE_I8_ROWS = 16, NACRE_I8_WIDE = 4 };

// A matrix of bytes as it is stored, or as nacre_i8_gemm_pack_a or _b wrote it;
// then strides and sign are those of what was packed, and only the sign counts.
typedef struct {
    const void *data;
    int packed;
    int is_signed;
    size_t row, col;
} nacre_i8_operand;

typedef struct {
    const nacre_i8_gemm_impl *impl;
    size_t m, n, k;
    nacre_i8_operand a, b;
    nacre_batch batch;  // strides in bytes
    // When not NULL, b is made where it is needed: this returns columns j0..j0+n-1
    // of the b of product `index`, rows ld bytes apart; buffer has k*n bytes.
    const uint8_t *(*make_b)(const void *source, size_t index, size_t j0, size_t n, uint8_t *buffer, size_t *ld);
    const void *source;
    int no_lines;  // few rows go by tiles too
    // Product q takes vector number q % row_count of those of m numbers, and
    // q % col_count of those of n.
    size_t row_count, col_count;
    const int32_t *a_zero, *b_zero;
    const float *row_scale, *col_scale;  // may be NULL for NACRE_QUANT_I32
    const int32_t *bias;                 // NULL for none; bias_row above 0 makes it vectors of m*bias_row
    size_t bias_row, bias_col;
    const float *add;  // n numbers, or NULL
    const nacre_i8_then *then;  // for codes; row_add has vectors of m, of which there are row_count
    nacre_quant_type type;
    int32_t zero;
    void *c;  // rows n apart, products m*n
} nacre_i8_gemm;

// Whether few rows of a should be left unpacked, for a b whose columns follow
// each other.
int nacre_i8_gemm_by_lines(size_t m);

// Bytes of scratch, which lies at a multiple of 64, as do packed operands. They do not
// fall when an extent grows, unless few rows become many.
size_t nacre_i8_gemm_scratch(const nacre_i8_gemm *g, size_t threads);
void nacre_i8_gemm_run(const nacre_i8_gemm *g, nacre_team *team, uint8_t *scratch);

// Packed forms: panels, then the sums of rows of a' or columns of b'. Sizes are in
// bytes and multiples of 64.
size_t nacre_i8_gemm_packed_a(const nacre_i8_gemm_impl *impl, size_t m, size_t k);
size_t nacre_i8_gemm_packed_b(const nacre_i8_gemm_impl *impl, size_t n, size_t k);
void nacre_i8_gemm_pack_a(const nacre_i8_gemm_impl *impl, size_t m, size_t k, const nacre_i8_operand *a, uint8_t *dst);
void nacre_i8_gemm_pack_b(const nacre_i8_gemm_impl *impl, size_t n, size_t k, const nacre_i8_operand *b, uint8_t *dst);

// Parts of the above that drivers share. Rows of a panel of a: m rows spread
// evenly over as few panels as there can be.
size_t nacre_i8_panel_rows(const nacre_i8_gemm_impl *impl, size_t m);
// One panel of a, `rows` rows of which `lanes` are there, and its rows' sums.
void nacre_i8_pack_a_panel(const nacre_i8_gemm_impl *impl, size_t k, size_t lanes, size_t rows, const uint8_t *a,
                           const nacre_i8_operand *form, uint8_t *dst, int32_t *sums);
// The panels of n columns of b.
void nacre_i8_pack_b_panels(const nacre_i8_gemm_impl *impl, size_t k, size_t n, const uint8_t *b, const nacre_i8_operand *form,
                            uint8_t *dst);
// The sums of columns of those panels: for n rounded up to nr.
void nacre_i8_column_sums(const nacre_i8_gemm_impl *impl, size_t k, size_t n, const uint8_t *panels, int32_t *sums);

// ---- convolutions by i8_gemm --------------------------------------------------
//
// Groups of one channel go by depthwise convolution of floats, whose sums of so few products of
// bytes are exact, if weights are not packed.
//
// g's a is the weights [groups*filters][channels][kernel], or what i8_conv_gemm packs
// of them, and g's vectors of rows are for all filters; the number of its columns, b,
// batch, make_b and source are filled in. Positions of the kernel beyond the edges meet
// the zero point of x.
typedef struct {
    nacre_conv c;
    nacre_i8_gemm g;
    const nacre_f32_depthwise_impl *depthwise;
    const uint8_t *x;
    int x_signed;
    int32_t x_zero;
} nacre_i8_conv;

// ---- f32_quantize -------------------------------------------------------------

// Codes from low to high, stored as a type that holds them; precision is that of
// numbers and quotients, for scales that it holds.
typedef struct {
    nacre_quant_type type;
    int32_t low, high;
    nacre_float_type precision;
} nacre_quant_codes;

// c = saturate(round((a - a_zero) * a_ratio + (b - b_zero) * b_ratio + c_zero)), or
// with product c = saturate(round((a - a_zero) * (b - b_zero) * a_ratio + c_zero)).
typedef struct {
    int is_signed, product;
    int32_t a_zero, b_zero, c_zero;
    float a_ratio, b_ratio;
} nacre_quant_pair;

// A kernel row of op f32_quantize has the signature nacre_f32_quantize_fn and
// returns its parts. Steps are 0 or 1.
typedef struct {
    // y[i] = saturate(round(x[i] / scale[i*step]) + zero[i*step]), halves to even, for
    // i < n. What is not a number makes the least code.
    void (*quantize)(const nacre_quant_codes *t, const float *x, const float *scale, const int32_t *zero, size_t step, size_t n,
                     void *y);
    // y[i] = (x[i] - zero[i*step]) * scale[i*step]
    void (*dequantize)(nacre_quant_type type, const void *x, const float *scale, const int32_t *zero, size_t step, size_t n,
                       float *y);
    // Extends low and high to x; what is not a number counts as nothing.
    void (*range)(const float *x, size_t n, float *low, float *high);
    void (*pair)(const nacre_quant_pair *p, const uint8_t *a, size_t a_step, const uint8_t *b, size_t b_step, size_t n, uint8_t *c);
} nacre_f32_quantize_impl;
typedef const nacre_f32_quantize_impl *nacre_f32_quantize_fn(void);

// Elements [outer][axis][inner]; (o,a,i) has scale and zero number
// o*per_outer + a/block*per_axis + i*per_inner, with per_inner 0 or 1.
typedef struct {
    size_t outer, axis, inner, block;
    size_t per_outer, per_axis, per_inner;
} nacre_quant_grid;

// Codes without sign for the range of x with 0, its scale and its zero point; y may be
// NULL. `scratch` has two numbers per thread of the team.
void nacre_quantize_dynamic(const nacre_f32_quantize_impl *impl, nacre_team *team, size_t n, const float *x, uint8_t *y, float *scale,
                            uint8_t *zero, float *scratch);

// A product whose a is n floats, of the strides that g has for codes: they are
// quantised as above, so g's a_zero and row_scale are not looked at and its
// row_count is 1. Scratch is in bytes and lies at a multiple of 64.
size_t nacre_i8_gemm_dynamic_scratch(const nacre_i8_gemm *g, size_t n, size_t threads);
void nacre_i8_gemm_dynamic_run(const nacre_i8_gemm *g, const nacre_f32_quantize_impl *impl, nacre_team *team, size_t n,
                               const float *x, uint8_t *scratch);

// Pairs with broadcasting: `rank` extents, outermost first, then as many strides of
// a, then of b, in bytes; the innermost are 0 or 1.
enum { NACRE_QUANT_AXES = 64 };
void nacre_quant_pairs(const nacre_f32_quantize_impl *impl, nacre_team *team, const nacre_quant_pair *p, size_t rank,
                       const size_t *axes, const uint8_t *a, const uint8_t *b, uint8_t *c);

// ---- i8_lookup ----------------------------------------------------------------

// y[i] = table[x[i]] for i < n; y may be x. A kernel row of op i8_lookup has this
// signature.
typedef void nacre_i8_lookup_fn(size_t n, const uint8_t *x, const uint8_t *table, uint8_t *y);

// Rows of n codes, x_row and y_row apart.
void nacre_i8_lookup(nacre_i8_lookup_fn *kernel, nacre_team *team, size_t rows, size_t n, size_t x_row, size_t y_row, const uint8_t *x,
                     const uint8_t *table, uint8_t *y);

// Softmax along the middle axis of [outer, n, inner]: of codes d below the largest,
// weights[d] stands for the exponential, and
//     y = saturate(round(weight * ratio / sum of weights) + zero), halves to even.
// y may be x.
typedef struct {
    const float *weights;  // 256
    int is_signed;
    float ratio;
    int32_t zero;
} nacre_i8_softmax;

void nacre_i8_softmax_run(nacre_i8_lookup_fn *lookup, const nacre_i8_softmax *s, nacre_team *team, size_t outer, size_t n, size_t inner,
                          const uint8_t *x, uint8_t *y);

// ---- commands -------------------------------------------------------------------
//
// Scales are of a type of floats, NACRE_QUANT_I32 or NACRE_QUANT_F8E8M0, zero points of a
// type of integers; a zero point left out is 0. Which scale belongs to which element is
// told by each command; those of a whole tensor are one element.

// f32_quantize and f32_dequantize: operands x, scales, zero points and y.
//     y = saturate(round(x / scale) + zero), halves to even;  y = (x - zero) * scale
typedef struct {
    int64_t outer, axis, inner, block, per_outer, per_axis, per_inner;  // nacre_quant_grid
    int64_t x, y;       // types: floats or NACRE_QUANT_I32 and codes, or codes and floats
    int64_t precision;  // nacre_float_type of quotients and the scales that they have
    int64_t scale, zero, scales;  // types, and how many scales there are
    int64_t half;       // part half
} nacre_quantize_words;

// f32_quantize_dynamic: operands x of float32, and y, scale and zero point, each of which
// may be left out; see nacre_quantize_dynamic.
typedef struct {
    int64_t n;
} nacre_quantize_dynamic_words;

// i8_gemm, and i8_gemv for few rows: operands a, scales and zero points of a, b,
// scales and zero points of b, scale and zero point of c, bias, add and c. A scale left
// out is 1; bias and add may be left out. The b of i8_gemm may be packed. With part
// quantize a is float32, quantised as a whole, and has neither scales nor zero points.
//     c = (a - a_zero) (b - b_zero) + bias                            NACRE_QUANT_I32
//       = that times alpha * a_scale * b_scale, plus add              NACRE_QUANT_F32
//       = that times alpha * a_scale * b_scale / c_scale as codes     NACRE_QUANT_U8, _I8
// Of numbers of a there are one, one for each row, or one for each row of all matrices of
// a, which follow each other; of numbers of b the same for columns.
typedef struct {
    int64_t type, count;
} nacre_quant_numbers;
typedef struct {
    int64_t m, n, k;
    int64_t a_signed, a_row, a_col;
    int64_t b_packed, b_signed, b_row, b_col;
    int64_t b_step;  // bytes from one matrix of b to the next
    nacre_quant_numbers a_scale, a_zero, b_scale, b_zero;
    int64_t c, c_scale;  // types; the zero point's is that of c
    double alpha;
    int64_t bias_row, bias_col;  // bias(i,j) is number i*bias_row + j*bias_col
    int64_t quantize;  // part f32_quantize, or 0
    int64_t a_size;    // elements of an a that is quantised
    int64_t rank;
    int64_t batch[];   // extents, strides of a and of b, in elements; of a packed b in bytes
} nacre_i8_gemm_words;

// i8_conv_gemm and i8_conv_depthwise: operands x, its scale and zero point, w, scales and
// zero points of w, scale and zero point of y, bias, a value to add, its scale and zero
// point, scale and zero point of a stage, and y. A scale left out is 1; bias, what to add
// and the stage may be left out. With a stage, sums and bias become codes of it, and these
// the numbers that they stand for, before the value is added. Of scales and
// zero points of w there are one, or one for each filter. The bias is integers that have
// the scale of the sums, or floats. The w of i8_conv_gemm may be packed. With channels_last,
// which makes codes, the channels of x and y are their last axis. What is added and the
// clamp are for codes, and numbers that codes stand for; y may be what is added.
typedef struct {
    nacre_conv_extents extents;
    int64_t channels_last, x_signed, w_signed, w_packed;
    int64_t x_scale, w_scale, w_scales, w_zeros;  // types of scales, and how many there are
    int64_t y, y_scale;                           // types: NACRE_QUANT_I32, _U8 or _I8; of the scale
    int64_t bias_float, add_signed, add_scale;    // flags, type
    int64_t staged, stage_signed, stage_scale;    // flags, type
    int64_t clamp;                                // whether numbers below low and above high become these
    double low, high;
    int64_t depthwise;                            // part f32_conv_depthwise, for i8_conv_depthwise
} nacre_i8_conv_words;

// i8_conv_blocked, i8_conv_winograd and i8_conv_depthwise_blocked: the operands of
// i8_conv_gemm, of which x, the value to add and y are blocked by `block` (conv/blocked.h), or x
// is plain, and w is what pack wrote: of codes with sign, which are those of w or, without sign,
// moved by 128. There are up to three axes, and one group where x is plain. The second command
// has one group, kernels of 3x3, strides and dilations of 1, and x is blocked; of the third every
// group has one channel and one filter, columns have no dilation, and rows have none where kernels
// have several slices.
typedef struct {
    nacre_i8_conv_words conv;
    int64_t block;
    int64_t plain;    // of i8_conv_blocked: whether x is plain; then it has 4 channels at most
    int64_t w_moved;  // whether zero points of w may be others than 0, or 128 of codes without sign; not of i8_conv_winograd
} nacre_i8_conv_blocked_words;

// i8_lstm: a layer of LSTM whose weights are matrices of codes, in each direction
// w[input, 4*hidden] and r[hidden, 4*hidden]. Operands 0 to 10 are those of f32_rnn, of
// float32, then scales and zero points of w and those of r: one for each direction, or one
// for each column of each direction. The values of x as far as the longest sequence goes
// are quantised as a whole, and before every step the states of the sequences that have it.
// w and r may be packed: as right operands of i8_gemm, one for each direction.
typedef struct {
    nacre_rnn_words rnn;  // gates is 4; batch_first and linear are 0; gemm is part i8_gemm
    int64_t quantize, cell;      // parts f32_quantize and f32_rnn_cell
    int64_t w_signed, r_signed;  // flags
    int64_t w_scales, w_zeros, r_scales, r_zeros;  // how many there are
} nacre_i8_lstm_words;

// i8_pair: operands a, its scale and zero point, b, its scale and zero point, scale and
// zero point of c, and c, which may be a or b. The types are those of scales.
//     c = a + b, or with product a * b
typedef struct {
    int64_t product, is_signed, a_scale, b_scale, c_scale, rank;
    int64_t dims[];  // extents of c, of a and of b, where each is that of c or 1
} nacre_i8_pair_words;

// i8_lookup: operands x, a table of 256 codes, and y, which may be x. Without a table
// rows are copied. Rows of n codes lie x_row and y_row apart.
typedef struct {
    int64_t rows, n, x_row, y_row;
} nacre_i8_lookup_words;

// i8_table: operands scale and zero point of x, scale and zero point of y, and the table
// of codes y of f of what the codes of x stand for.
typedef enum { NACRE_QUANT_IDENTITY, NACRE_QUANT_SIGMOID, NACRE_QUANT_LEAKY_RELU } nacre_quant_function;
typedef struct {
    int64_t function, is_signed, x_scale, y_scale;
    double alpha;  // of leaky_relu
} nacre_i8_table_words;

// i8_softmax_table: operands scale of x, scale of y, and the table of NACRE_I8_SOFTMAX
// numbers that i8_softmax takes: the weights and the ratio of nacre_i8_softmax.
enum { NACRE_I8_SOFTMAX = 257 };
typedef struct {
    int64_t x_scale, y_scale;
} nacre_i8_softmax_table_words;

// i8_softmax: operands x, the table, the zero point of y, and y, which may be x. The part
// is i8_lookup.
typedef struct {
    int64_t is_signed, outer, n, inner, lookup;
} nacre_i8_softmax_words;

extern const nacre_entry nacre_quantize_entry, nacre_dequantize_entry, nacre_quantize_dynamic_entry, nacre_i8_pair_entry;
extern const nacre_entry nacre_i8_gemm_entry, nacre_i8_gemv_entry, nacre_i8_conv_gemm_entry, nacre_i8_conv_depthwise_entry;
extern const nacre_entry nacre_i8_conv_blocked_entry, nacre_i8_conv_winograd_entry, nacre_i8_conv_depthwise_blocked_entry;
extern const nacre_entry nacre_i8_lstm_entry;
extern const nacre_entry nacre_i8_lookup_entry, nacre_i8_table_entry, nacre_i8_softmax_entry, nacre_i8_softmax_table_entry;

#endif
