// Maximum and average over windows that slide along the last axes of a contiguous value [planes,
// in...]. Here "pooling" is the operation and nacre_pool a set of threads.
#ifndef NACRE_POOL_POOL_H
#define NACRE_POOL_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/kernel.h"
#include "core/numbers.h"
#include "core/parallel.h"
#include "half/half.h"

enum {
    NACRE_POOLING_ROWS = 16,  // rows that one call of rows joins at most
    NACRE_POOLING_SLACK = 32, // floats after a row that cols may read
    NACRE_POOLING_AXES = 8,   // axes of a window at most
    NACRE_POOLING_PAD = 64,   // padding of a row that is stored in memory, on either side at most
};

// One axis of the window. Positions of the kernel in the padding take no part; in averages they
// count if count_pad. pad is before the input, pad_end after it.
typedef struct {
    size_t in, out, taps, stride, dilation, pad, pad_end;
} nacre_pooling_axis;

typedef struct {
    size_t planes;
    size_t axes; // 1..NACRE_POOLING_AXES
    nacre_pooling_axis axis[NACRE_POOLING_AXES];
    bool max;
    bool count_pad;
} nacre_pooling;

// A nacre_pooling as words.
typedef struct {
    int64_t planes, axes, max, count_pad;
    struct {
        int64_t in, out, taps, stride, dilation, pad, pad_end;
    } axis[NACRE_POOLING_AXES];
} nacre_pooling_extents;

static inline nacre_pooling nacre_pooling_of(const nacre_pooling_extents *w) {
    nacre_pooling p = {.planes = (size_t)w->planes, .axes = (size_t)w->axes, .max = w->max != 0,
                       .count_pad = w->count_pad != 0};
    for (size_t a = 0; a < p.axes; a++) {
        p.axis[a] = (nacre_pooling_axis){(size_t)w->axis[a].in,       (size_t)w->axis[a].out, (size_t)w->axis[a].taps,
                                         (size_t)w->axis[a].stride,
                                         (size_t)w->axis[a].dilation, (size_t)w->axis[a].pad,
                                             (size_t)w->axis[a].pad_end};
    }
    return p;
}

// ---- f32_pooling ----------------------------------------------------------------

// The words of command f32_pooling. Operands are x and y, of the type. A maximum ignores NaNs. The
// maximum of an empty window is -inf.
typedef struct {
    nacre_pooling_extents extents;
    int64_t type;  // nacre_dtype
    int64_t half;  // part half; used for 16-bit floats only
} nacre_f32_pooling_words;

typedef struct {
    size_t taps, dilation, stride;
    bool max;
    const float *counts;
    float outer;
} nacre_pooling_cols;

// A window is computed in two steps: the rows under it are joined into one row, then the columns of
// that row into the outputs. A kernel row of op f32_pooling has the signature nacre_f32_pooling_fn
// and returns these functions.
typedef struct {
    // buf[i] = max or sum over r < count of rows[r][i], for i < width. Unless fresh, buf[i] itself
    // is also an operand. count > 0.
    void (*rows)(const float *const *rows, size_t count, bool max, bool fresh, size_t width, float *buf);
    // For i < n, over t < taps:
    //     max:      out[i] = max of row[i * stride + t * dilation]
    //     otherwise out[i] = (sum of row[i * stride + t * dilation]) / (counts[i] * outer)
    // taps > 0. NACRE_POOLING_SLACK floats after the last one used may be read.
    void (*cols)(const float *row, size_t n, const nacre_pooling_cols *p, float *out);
} nacre_f32_pooling_impl;
typedef const nacre_f32_pooling_impl *nacre_f32_pooling_fn(void);

// The oracle. Other variants use it for strides that they do not vectorise.
void nacre_f32_pooling_cols__scalar(const float *row, size_t n, const nacre_pooling_cols *p, float *out);

// ---- max_index ------------------------------------------------------------------

// The words of command max_index: maxima of elements of a type, and their indices. Operands are x,
// y and index, of int64, which may be absent. An index counts the elements of x; with column_major
// the first axis of a plane counts fastest. Of equal elements the first counts. A maximum ignores
// NaNs. The maximum of an empty window is the lowest number, at index 0.
typedef struct {
    nacre_pooling_extents extents;
    int64_t type;  // nacre_dtype: f32, f64, i8 or u8
    int64_t column_major;
} nacre_max_index_words;

// For i < n, if x[i * stride] is larger than best[i], a nacre_max_raise sets best[i] to it and
// where[i] to at + i * stride.
typedef void nacre_max_raise(const void *x, int32_t at, size_t n, size_t stride, void *best, int32_t *where);

// A kernel row of op max_index has the signature nacre_max_index_fn and returns a function for each
// type.
typedef struct {
    nacre_max_raise *f32, *f64, *i8, *u8;
} nacre_max_index_impl;
typedef const nacre_max_index_impl *nacre_max_index_fn(void);

// ---- i8_pooling -----------------------------------------------------------------
//
// The same for quantised numbers of one byte, with `inner` codes at every position: value [planes,
// in..., inner], result [planes, out..., inner]. A mean is
//     saturate(round(mean of (x - x_zero) * ratio + before) + after), ties to even,
// where taps in the padding are 0. The maximum of an empty window is the least code, its mean is 0.

// The largest number of taps of a window in an average, so that its sum fits 32 bits.
#define NACRE_I8_POOLING_TAPS ((size_t)1 << 23)

// is_signed gives the range of the codes of a mean.
typedef struct {
    int is_signed;
    int32_t x_zero;
    float ratio;
    int32_t before, after;
} nacre_i8_mean;

// A kernel row of op i8_pooling has the signature nacre_i8_pooling_fn and returns these functions.
// Unless fresh, the old value of a result is also an operand.
typedef struct {
    // y[i] = max over r < count of rows[r][i], and s[i] = the sum of these, for i < n.
    void (*max)(int is_signed, const uint8_t *const *rows, size_t count, int fresh, size_t n, uint8_t *y);
    void (*sum)(int is_signed, const uint8_t *const *rows, size_t count, int fresh, size_t n, int32_t *s);
    // y[i] = max over t < taps of x[i * stride + t * dilation], and s[i] = the sum of these; taps >
    // 0.
    void (*max_along)(int is_signed, const uint8_t *x, size_t taps, size_t stride, size_t dilation, size_t n,
                      uint8_t *y);
    void (*sum_along)(const int32_t *x, size_t taps, size_t stride, size_t dilation, size_t n, int32_t *s);
    // Returns the sum of n codes.
    int32_t (*total)(int is_signed, const uint8_t *x, size_t n);
    // Computes means of sums. valid[i*step] * valid_outer codes of a sum are in the input, and
    // counted[i*step] * counted_outer count; step is 0 or 1.
    void (*mean)(const nacre_i8_mean *m, const int32_t *s, const int32_t *valid, const float *counted, size_t step,
                 int32_t valid_outer, float counted_outer, size_t n, uint8_t *y);
} nacre_i8_pooling_impl;
typedef const nacre_i8_pooling_impl *nacre_i8_pooling_fn(void);

// The words of command i8_pooling. Operands are x, x_scale, x_zero, y_scale, y_zero and y. Scales
// are one float each, zero points one code each, or absent for 0. A maximum takes x and y only. Of
// a mean, ratio is x_scale / y_scale and y_zero is added before rounding, or after.
typedef struct {
    nacre_pooling_extents extents;
    int64_t inner; // above 0
    int64_t is_signed;
    int64_t after; // whether y_zero is added after rounding
    int64_t x_type, y_type; // nacre_dtype of the scales
    int64_t half;  // part half; used for 16-bit floats only
} nacre_i8_pooling_words;

const nacre_kernel *nacre_pool_kernels(size_t *count);

#endif
