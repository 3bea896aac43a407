// Quantised numbers: a code q stands for (q - zero) * scale. Products of matrices of bytes.
//
// Sums of products are exact in 32 bits that wrap, so every variant gives the same integers. The
// computation in floats after them takes the same steps, each rounded once, in every variant.
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

// ---- i8_gemm ----------------------------------------------------------------
//
// s(i,j) = sum_p (a(i,p) - a_zero[i]) (b(p,j) - b_zero[j]) + bias(i,j)
// c(i,j) = s                              NACRE_DTYPE_i32
//        = s * scale + add[j]             NACRE_DTYPE_f32
//        = saturate(round(s * scale + then) + zero)   NACRE_DTYPE_u8 and NACRE_DTYPE_i8
// with scale = row_scale[i] * col_scale[j], and ties rounded to even. A scale that is NaN makes
// the least code.
//
// Kernels multiply bytes a' by bytes b', each signed or unsigned. Bytes of the other kind are
// offset by 128, and so are their zero points. The products leave out the zero points; sums over
// rows of a' and columns of b' make up for them.

// The steps from sums times scales, x, to codes. Numbers are in units of the result's scale:
//     x = x + row_add[i]
//     x = stage.ratio * clamp(round(x), stage.low, stage.high) + stage.add   with a stage
//     x = clamp(x + ratio * codes(i,j), low, high)
// Ties are rounded to even. Up to a stage, numbers are in units of its scale.
typedef struct {
    int there;
    float low, high, ratio, add;
} nacre_i8_stage;

typedef struct {
    const float *row_add;  // or NULL
    nacre_i8_stage stage;
    const uint8_t *codes;  // in the layout of c, which it may be, or NULL
    int is_signed;         // of codes
    float ratio;
    float low, high;       // relative to the zero point
} nacre_i8_then;

// The epilogue of the sums of one block of c. The pointers are to its first row and column; those
// that may be NULL say so.
typedef struct {
    size_t m, n, k;
    const int32_t *sums;  // of a' b', with rows sums_row apart
    size_t sums_row;
    const int32_t *a_sums, *b_sums;  // of rows of a', columns of b'; b_sums is NULL if all zeros of a' are 0
    const int32_t *a_zero;           // NULL if the zeros of a' are 0
    const int32_t *b_zero;
    uint32_t a_shift, b_shift;       // added to a zero point to get the zero point of a' or b'
    const int32_t *bias;             // or NULL
    size_t bias_row, bias_col;       // bias(i,j) = bias[i*bias_row + j*bias_col], bias_col 0 or 1
    const float *row_scale, *col_scale;
    const float *add;                // or NULL
    const nacre_i8_then *then;       // for codes; NULL for none
    size_t row, at;                  // of the block's first element: its index in row_add, and its index in c
    nacre_dtype type;
    int32_t zero;
    void *c;
    size_t ldc;
} nacre_i8_finish;

// The functions of a product for one level. A kernel row of op i8_gemm has the signature
// nacre_i8_gemm_fn and returns them.
typedef struct {
    size_t mr, nr;   // rows and columns of a tile
    size_t group;    // numbers of k that are contiguous in packed operands
    size_t a_group;  // of a: group, or a multiple of it, to which k is rounded up
    size_t a_bytes;  // of one a' in a packed panel: 1 or 2
    int b_unsigned;  // b' is unsigned
    // a' is unsigned, and packed a are its rows, each of whole groups. An a of such rows is read where it lies.
    int flat;

    // Sets sums[i*nr + j] for i < m <= mr and j < n (rounded up to at most nr) to the products of
    // a[(g*m + i)*group + l] and b[(g*nr + j)*group + l] for g < groups, l < group. If a_group is
    // not group, a is arranged by a_group. If flat is set, the numbers of a are a[i*a_row + g*group + l]. As many bytes as a panel of NACRE_I8_ROWS rows may be read
    // after a.
    // It prefetches next_step bytes from next for each group.
    void (*tile)(size_t groups, size_t m, size_t n, const void *a, size_t a_row, const uint8_t *b, int32_t *sums,
                 const uint8_t *next, size_t next_step);
    // Sets c[i*ldc + j] for i < m and all columns of a tile to row[i] + col[j] plus these products, and
    // prefetches as tile does. NULL if it is no faster than tile and finish.
    void (*whole)(size_t groups, size_t m, const void *a, size_t a_row, const uint8_t *b, const int32_t *row,
                  const int32_t *col, int32_t *c, size_t ldc, const uint8_t *next, size_t next_step);
    // If they are not NULL, a thread calls begin before a run of tiles, and end after it.
    void (*begin)(void), (*end)(void);
    // Computes the same for one row and NACRE_I8_WIDE panels of b, step bytes apart: sums[p*nr +
    // j].
    void (*row)(size_t groups, const void *a, const uint8_t *b, size_t step, int32_t *sums);
    // Sets sums[j] to sum_p x[p] b[p*ldb + j] for j < n. is_signed is of b.
    void (*line)(size_t k, const int16_t *x, const uint8_t *b, size_t ldb, int is_signed, int32_t *sums, size_t n);
    void (*finish)(const nacre_i8_finish *f);
    // to_floats sets y[i] to x[i] - zero, to_integers y[i] to x[i], a whole number.
    void (*to_floats)(const uint8_t *x, int is_signed, int32_t zero, size_t n, float *y);
    void (*to_integers)(const float *x, size_t n, int32_t *y);
} nacre_i8_gemm_impl;
typedef const nacre_i8_gemm_impl *nacre_i8_gemm_fn(void);

// Reports whether flat is set. Levels of other processors have no such tiles.
static inline int nacre_i8_flat(const nacre_i8_gemm_impl *impl) {
#if NACRE_X86_64
    return impl->flat;
#else
    (void)impl;
    return 0;
#endif
}

static inline void nacre_i8_begin(const nacre_i8_gemm_impl *impl) {
    if (impl->begin != NULL) impl->begin();
}

static inline void nacre_i8_end(const nacre_i8_gemm_impl *impl) {
    if (impl->end != NULL) impl->end();
}

// The largest number of sums of a tile, of its rows, and of panels of b for one row at a time.
enum { NACRE_I8_TILE = 1024, NACRE_I8_ROWS = 32, NACRE_I8_WIDE = 4 };

// A matrix of bytes as it is stored, or as nacre_i8_gemm_pack_a or _b wrote it. Then strides and
// sign are of the matrix that was packed, and only the sign is used.
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
    // If not NULL, make_b computes b when it is needed: it returns columns j0..j0+n-1 of the b of
    // product `index`, with rows *ld bytes apart. buffer has k*n bytes.
    const uint8_t *(*make_b)(const void *source, size_t index, size_t j0, size_t n, uint8_t *buffer, size_t *ld);
    // Beside make_b: sets the k rows of these columns and returns 1, or returns 0 if the columns of a
    // row do not follow each other in memory.
    int (*rows_of_b)(const void *source, size_t index, size_t j0, size_t n, const uint8_t **rows);
    const void *source;
    int lines;  // computed in lines, which takes few rows, else by tiles
    // Product q takes vector q % row_count of the vectors of m numbers, and vector q % col_count of
    // those of n numbers.
    size_t row_count, col_count;
    const int32_t *a_zero, *b_zero;
    const float *row_scale, *col_scale;  // may be NULL for NACRE_DTYPE_i32
    const int32_t *bias;                 // NULL for none; if bias_row is above 0, vectors of m*bias_row
    size_t bias_row, bias_col;
    const float *add;  // n numbers, or NULL
    const nacre_i8_then *then;  // for codes; row_add has row_count vectors of m
    nacre_dtype type;
    int32_t zero;
    void *c;  // rows are n apart, products m*n
} nacre_i8_gemm;

// Reports whether a product with m rows of a is few enough for lines. Lines need unpacked operands
// and a b with contiguous columns, and are then faster than tiles.
int nacre_i8_gemm_few_rows(size_t m);

// nacre_i8_gemm_scratch returns bytes of scratch. Scratch and packed operands are aligned to 64
// bytes. The result does not fall if an extent grows.
size_t nacre_i8_gemm_scratch(const nacre_i8_gemm *g, size_t threads);
void nacre_i8_gemm_run(const nacre_i8_gemm *g, nacre_team *team, uint8_t *scratch);

// Packed forms: panels, then the sums of rows of a' or columns of b'. Sizes are in bytes and
// multiples of 64.
size_t nacre_i8_gemm_packed_a(const nacre_i8_gemm_impl *impl, size_t m, size_t k);
size_t nacre_i8_gemm_packed_b(const nacre_i8_gemm_impl *impl, size_t n, size_t k);
void nacre_i8_gemm_pack_a(const nacre_i8_gemm_impl *impl, size_t m, size_t k, const nacre_i8_operand *a, uint8_t *dst);
void nacre_i8_gemm_pack_b(const nacre_i8_gemm_impl *impl, size_t n, size_t k, const nacre_i8_operand *b, uint8_t *dst);

// Functions shared by drivers. nacre_i8_panel_rows returns the rows of a panel of a: m rows spread
// evenly over the fewest panels.
size_t nacre_i8_panel_rows(const nacre_i8_gemm_impl *impl, size_t m);
// Packs one panel of a with `rows` rows, of which `lanes` exist, and writes its rows' sums.
void nacre_i8_pack_a_panel(const nacre_i8_gemm_impl *impl, size_t k, size_t lanes, size_t rows, const uint8_t *a,
                           const nacre_i8_operand *form, uint8_t *dst, int32_t *sums);
// Packs the panels of n columns of b.
void nacre_i8_pack_b_panels(const nacre_i8_gemm_impl *impl, size_t k, size_t n, const uint8_t *b,
                            const nacre_i8_operand *form, uint8_t *dst);
// Packs the same panels of n columns from k rows.
void nacre_i8_pack_b_rows(const nacre_i8_gemm_impl *impl, size_t k, size_t n, const uint8_t *const *rows, int is_signed,
                          uint8_t *dst);
// Writes the sums of the columns of those panels, for n rounded up to nr.
void nacre_i8_column_sums(const nacre_i8_gemm_impl *impl, size_t k, size_t n, const uint8_t *panels, int32_t *sums);

// ---- convolutions by i8_gemm --------------------------------------------------
//
// Groups of one channel are computed by the depthwise convolution of floats, if weights are not
// packed: sums of so few products of bytes are exact.
//
// In g, a is the weights [groups*filters][channels][kernel], or their packed form of i8_conv_gemm,
// and vectors of rows are for all filters. The number of its columns, b, batch, make_b and source
// are filled in. Positions of the kernel beyond the edges meet the zero point of x.
typedef struct {
    nacre_conv c;
    nacre_i8_gemm g;
    const nacre_f32_depthwise_impl *depthwise;
    const uint8_t *x;
    int x_signed;
    int32_t x_zero;
} nacre_i8_conv;

// ---- f32_quantize -------------------------------------------------------------

// Codes from low to high, stored as a type that holds them. precision is the type to which numbers
// and quotients are rounded, for scales of that type.
typedef struct {
    nacre_dtype type;
    int32_t low, high;
    nacre_dtype precision;
} nacre_quant_codes;

// c = saturate(round((a - a_zero) * a_ratio + (b - b_zero) * b_ratio + c_zero)), or if product is
// set c = saturate(round((a - a_zero) * (b - b_zero) * a_ratio + c_zero)).
typedef struct {
    int is_signed, product;
    int32_t a_zero, b_zero, c_zero;
    float a_ratio, b_ratio;
} nacre_quant_pair;

// A kernel row of op f32_quantize has the signature nacre_f32_quantize_fn and returns these
// functions. Steps are 0 or 1.
typedef struct {
    // y[i] = saturate(round(x[i] / scale[i*step]) + zero[i*step]) for i < n, with ties to even.
    // NaN makes the least code.
    void (*quantize)(const nacre_quant_codes *t, const float *x, const float *scale, const int32_t *zero, size_t step,
                     size_t n, void *y);
    // y[i] = (x[i] - zero[i*step]) * scale[i*step]
    void (*dequantize)(nacre_dtype type, const void *x, const float *scale, const int32_t *zero, size_t step, size_t n,
                       float *y);
    // Extends *low and *high to the numbers of x. NaNs are ignored.
    void (*range)(const float *x, size_t n, float *low, float *high);
    void (*pair)(const nacre_quant_pair *p, const uint8_t *a, size_t a_step, const uint8_t *b, size_t b_step, size_t n,
                 uint8_t *c);
} nacre_f32_quantize_impl;
typedef const nacre_f32_quantize_impl *nacre_f32_quantize_fn(void);

// Elements [outer][axis][inner]. Element (o,a,i) has the scale and zero point of index o*per_outer
// + a/block*per_axis + i*per_inner, where per_inner is 0 or 1.
typedef struct {
    size_t outer, axis, inner, block;
    size_t per_outer, per_axis, per_inner;
} nacre_quant_grid;

// Writes unsigned codes for the range of x, extended to 0, and its scale and zero point. y may be
// NULL. scratch has two numbers per thread of the team.
void nacre_quantize_dynamic(const nacre_f32_quantize_impl *impl, nacre_team *team, size_t n, const float *x, uint8_t *y,
                            float *scale, uint8_t *zero, float *scratch);

// A product with an a of n floats, in the strides that g has for codes. They are quantised as
// above, so g's a_zero and row_scale are ignored and its row_count is 1. Scratch is in bytes,
// aligned to 64.
size_t nacre_i8_gemm_dynamic_scratch(const nacre_i8_gemm *g, size_t n, size_t threads);
void nacre_i8_gemm_dynamic_run(const nacre_i8_gemm *g, const nacre_f32_quantize_impl *impl, nacre_team *team, size_t n,
                               const float *x, uint8_t *scratch);

// Pairs with broadcasting: axes are `rank` extents, outermost first, then as many strides of a,
// then of b, in bytes. The innermost strides are 0 or 1.
enum { NACRE_QUANT_AXES = 64 };
void nacre_quant_pairs(const nacre_f32_quantize_impl *impl, nacre_team *team, const nacre_quant_pair *p, size_t rank,
                       const size_t *axes, const uint8_t *a, const uint8_t *b, uint8_t *c);

// ---- i8_lookup ----------------------------------------------------------------

// y[i] = table[x[i]] for i < n; y may be x. A kernel row of op i8_lookup has this
// signature.
typedef void nacre_i8_lookup_fn(size_t n, const uint8_t *x, const uint8_t *table, uint8_t *y);

// Looks up rows of n codes, x_row and y_row apart.
void nacre_i8_lookup(nacre_i8_lookup_fn *kernel, nacre_team *team, size_t rows, size_t n, size_t x_row, size_t y_row,
                     const uint8_t *x, const uint8_t *table, uint8_t *y);

// Softmax along the middle axis of [outer, n, inner]. weights[d] is the exponential of codes that
// are d below the largest, and
//     y = saturate(round(weight * ratio / sum of weights) + zero), ties to even.
// y may be x.
typedef struct {
    const float *weights;  // 256
    int is_signed;
    float ratio;
    int32_t zero;
} nacre_i8_softmax;

void nacre_i8_softmax_run(nacre_i8_lookup_fn *lookup, const nacre_i8_softmax *s, nacre_team *team, size_t outer,
                          size_t n, size_t inner, const uint8_t *x, uint8_t *y);

// ---- commands -------------------------------------------------------------------
//
// Scales are of a type of floats, NACRE_DTYPE_i32 or NACRE_DTYPE_f8e8m0; zero points are of an
// integer type. An absent zero point is 0. Each command defines the scale of each element; a scale
// of a whole tensor is one element.

// f32_quantize and f32_dequantize: operands x, scales, zero points and y.
//     y = saturate(round(x / scale) + zero), ties to even;  y = (x - zero) * scale
typedef struct {
    int64_t outer, axis, inner, block, per_outer, per_axis, per_inner;  // nacre_quant_grid
    int64_t x, y;       // types: floats or NACRE_DTYPE_i32, and codes; or codes, and floats
    int64_t precision;  // nacre_dtype of quotients and scales
    int64_t scale, zero, scales;  // types, and the number of scales
    int64_t half;       // part half
} nacre_quantize_words;

// f32_quantize_dynamic: operands x of float32, and y, scale and zero point, each of which may be
// absent; see nacre_quantize_dynamic.
typedef struct {
    int64_t n;
} nacre_quantize_dynamic_words;

// i8_gemm, and i8_gemv for few rows: operands a, scales and zero points of a, b, scales and zero
// points of b, scale and zero point of c, bias, add and c. An absent scale is 1; bias and add may
// be absent. The b of i8_gemm may be packed. With part quantize, a is float32, quantised as a
// whole, and has neither scales nor zero points.
//     s = (a - a_zero) (b - b_zero) + bias
//     c = s                                                           NACRE_DTYPE_i32
//       = s * alpha * a_scale * b_scale + add                         NACRE_DTYPE_f32
//       = s * alpha * a_scale * b_scale / c_scale as codes            NACRE_DTYPE_u8, _i8
// There is one number of a, or one for each row, or one for each row of all matrices of a, which
// follow each other; and the same for b and its columns.
typedef struct {
    int64_t type, count;
} nacre_quant_numbers;
typedef struct {
    int64_t m, n, k;
    int64_t a_signed, a_row, a_col;
    int64_t b_packed, b_signed, b_row, b_col;
    int64_t b_step;  // bytes from one matrix of b to the next
    nacre_quant_numbers a_scale, a_zero, b_scale, b_zero;
    int64_t c, c_scale;  // types; the zero point has the type of c
    double alpha;
    int64_t bias_row, bias_col;  // bias(i,j) is bias[i*bias_row + j*bias_col]
    int64_t quantize;  // part f32_quantize, or 0
    int64_t a_size;    // elements of a if it is quantised
    int64_t rank;
    int64_t batch[];   // extents, strides of a and of b, in elements; in bytes if b is packed
} nacre_i8_gemm_words;

// i8_conv_gemv, i8_conv_gemm and i8_conv_depthwise: operands x, its scale and zero point, w, scales
// and zero points of w, scale and zero point of y, bias, a value to add, its scale and zero point,
// scale and zero point of a stage, and y. An absent scale is 1; bias, the added value and the stage
// may be absent. With a stage, sums and bias become codes of it, and these are dequantised before
// the value is added. There is one scale and one zero point of w, or one for each filter. The bias
// is integers with the scale of the sums, or floats if results are codes. The w of i8_conv_gemm may
// be packed. With channels_last, for results that are codes, the channels of x and y are their last
// axis. The added value and the clamp are for codes, and the clamp is in real numbers. y may be the
// added value.
typedef struct {
    nacre_conv_extents extents;
    int64_t channels_last, x_signed, w_signed, w_packed;
    int64_t x_scale, w_scale, w_scales, w_zeros;  // types of scales, and the numbers of scales and zero points
    int64_t y, y_scale;                           // types: NACRE_DTYPE_i32, _f32, _u8 or _i8, and of the scale
    int64_t bias_float, add_signed, add_scale;    // flags, type
    int64_t staged, stage_signed, stage_scale;    // flags, type
    int64_t clamp;                                // whether numbers are clamped to low..high
    double low, high;
    int64_t depthwise;                            // part f32_conv_depthwise, for i8_conv_depthwise
} nacre_i8_conv_words;

// i8_conv_blocked, i8_conv_winograd and i8_conv_depthwise_blocked: the operands of i8_conv_gemm. x,
// the added value and y are blocked by `block` (conv/blocked.h), or x is plain. w is written by
// pack, in signed codes; unsigned ones are offset by 128. There are at most three axes, and one
// group if x is plain. i8_conv_winograd has one group, kernels of 3x3, strides and dilations of 1,
// and a blocked x. In i8_conv_depthwise_blocked every group has one channel and one filter, columns
// have no dilation, and rows have none if kernels have several slices.
typedef struct {
    nacre_i8_conv_words conv;
    int64_t block;
    int64_t plain;    // of i8_conv_blocked: whether x is plain, with at most 4 channels
    int64_t w_moved;  // whether w has zero points other than 0, or 128 of unsigned codes; not of i8_conv_winograd
} nacre_i8_conv_blocked_words;

// i8_lstm: a layer of LSTM with weights that are matrices of codes, in each direction w[input,
// 4*hidden] and r[hidden, 4*hidden]. Operands 0 to 10 are as in f32_rnn, of float32; then follow
// scales and zero points of w, and of r: one for each direction, or one for each column of each
// direction. The values of x, up to the longest sequence, are quantised as a whole, and so are,
// before every step, the states of the sequences that have the step. w and r may be packed as right
// operands of i8_gemm, one for each direction.
typedef struct {
    nacre_rnn_words rnn;  // gates is 4; batch_first and linear are 0; gemm is part i8_gemm
    int64_t quantize, cell;      // parts f32_quantize and f32_rnn_cell
    int64_t w_signed, r_signed;  // flags
    int64_t w_scales, w_zeros, r_scales, r_zeros;  // their numbers
} nacre_i8_lstm_words;

// i8_pair: operands a, its scale and zero point, b, its scale and zero point, scale and zero point
// of c, and c, which may be a or b. The words a_scale, b_scale and c_scale are types of scales.
//     c = a + b, or with product a * b
typedef struct {
    int64_t product, is_signed, a_scale, b_scale, c_scale, rank;
    int64_t dims[];  // extents of c, of a and of b; an extent of a or b is that of c or 1
} nacre_i8_pair_words;

// i8_lookup: operands x, a table of 256 codes, and y, which may be x. If the table is absent, rows
// are copied. Rows of n codes are x_row and y_row apart.
typedef struct {
    int64_t rows, n, x_row, y_row;
} nacre_i8_lookup_words;

// i8_table: operands scale and zero point of x, scale and zero point of y, and the table. It writes
// for each code of x the code of y of the function of the dequantised number.
typedef enum { NACRE_QUANT_IDENTITY, NACRE_QUANT_SIGMOID, NACRE_QUANT_LEAKY_RELU } nacre_quant_function;
typedef struct {
    int64_t function, is_signed, x_scale, y_scale;
    double alpha;  // of leaky_relu
} nacre_i8_table_words;

// i8_softmax_table: operands scale of x, scale of y, and the table of NACRE_I8_SOFTMAX numbers that
// i8_softmax takes: the weights and the ratio of nacre_i8_softmax.
enum { NACRE_I8_SOFTMAX = 257 };
typedef struct {
    int64_t x_scale, y_scale;
} nacre_i8_softmax_table_words;

// i8_softmax: operands x, the table, the zero point of y, and y, which may be x. lookup is part
// i8_lookup.
typedef struct {
    int64_t is_signed, outer, n, inner, lookup;
} nacre_i8_softmax_words;

extern const nacre_entry nacre_quantize_entry, nacre_dequantize_entry, nacre_quantize_dynamic_entry,
    nacre_i8_pair_entry;
extern const nacre_entry nacre_i8_gemm_entry, nacre_i8_gemm_low_entry, nacre_i8_gemv_entry, nacre_i8_conv_gemv_entry, nacre_i8_conv_gemm_entry,
    nacre_i8_conv_depthwise_entry;
extern const nacre_entry nacre_i8_conv_blocked_entry, nacre_i8_conv_winograd_entry,
    nacre_i8_conv_depthwise_blocked_entry;
extern const nacre_entry nacre_i8_lstm_lines_entry, nacre_i8_lstm_entry;
extern const nacre_entry nacre_i8_lookup_entry, nacre_i8_table_entry, nacre_i8_softmax_entry,
    nacre_i8_softmax_table_entry;

#endif
