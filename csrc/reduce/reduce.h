// Reductions of one axis of a contiguous value [outer, n, inner] to [outer, inner].
#ifndef NACRE_REDUCE_REDUCE_H
#define NACRE_REDUCE_REDUCE_H

#include <stddef.h>
#include <stdint.h>

#include "core/half.h"
#include "core/kernel.h"
#include "core/numbers.h"
#include "core/turn.h"

const nacre_kernel *nacre_reduce_kernels(size_t *count);

typedef enum {
    NACRE_REDUCE_SUM,
    NACRE_REDUCE_SUMSQ,   // of squares
    NACRE_REDUCE_SUMABS,  // of absolute values
    NACRE_REDUCE_PROD,
    NACRE_REDUCE_MAX,  // NaN if there is one
    NACRE_REDUCE_MIN,  // NaN if there is one
} nacre_reduce_op;

// Blocks that a command hands to a kernel: at most so many elements of a row, rows of
// a column, and columns. It combines the blocks' results in double.
enum { NACRE_REDUCE_ROW = 4096, NACRE_REDUCE_ROWS = 128, NACRE_REDUCE_COLS = NACRE_TURN_COLS };

// Op f32_reduce:
//     out[c] = op over r < rows of x[r * stride + c], for c < cols
// rows > 0. A row of a contiguous value is the case stride 1, cols 1.
typedef void nacre_f32_reduce_fn(const float *x, size_t rows, size_t stride, size_t cols, nacre_reduce_op op, float *out);

// What becomes of a result, rounded to float before.
typedef enum { NACRE_REDUCE_PLAIN, NACRE_REDUCE_SQRT, NACRE_REDUCE_LOG } nacre_reduce_root;

// Command: out[o, i] = root of (op over k < n of x[o, k, i]) / divisor. Of no elements
// the sum is 0, the product 1, the largest -infinity and the smallest infinity. Sums
// and products over blocks are formed in double and rounded once. Operands: x, out.
typedef struct {
    int64_t outer, n, inner;
    int64_t op;       // nacre_reduce_op
    int64_t divisor;  // elements of a mean; 1 for others
    int64_t root;     // nacre_reduce_root
    int64_t x_type, out_type;
    int64_t half;  // part; 0 where both types are float
    int64_t exp;   // part, f32_exp, for log(sum over k of exp(x[o, k, i])), whose op is a sum; else 0
} nacre_f32_reduce_words;

extern const nacre_entry nacre_f32_reduce_entry;

// Op f32_arg:
//     out[c] = where among x[r * stride + c], r < n, the largest or, with least, the smallest is
// for c < cols; n > 0. A NaN is beyond every number. Of equals the first counts, or the last.
// A row of a contiguous value is the case stride 1, cols 1.
typedef void nacre_f32_arg_fn(const float *x, size_t n, size_t stride, size_t cols, int least, int last, int64_t *out);

enum { NACRE_ARG_PLACES = 1 << 24 };  // elements of a lane that vectors can count

// What f32_arg has for one column.
int64_t nacre_arg_lane(const float *x, size_t n, size_t stride, int least, int last);
nacre_f32_arg_fn nacre_f32_arg__scalar;

// Command: out[o, i] = the place along k of x[o, k, i]. Operands: x, and out of int64.
typedef struct {
    int64_t outer, n, inner;  // n > 0
    int64_t least, last;
} nacre_f32_arg_words;

extern const nacre_entry nacre_f32_arg_entry;

enum { NACRE_SCAN_COLS = 1024 };  // columns at most that a kernel is given, where they are neighbours

// Op f32_scan: sums or products of the elements of columns up to each, or before each.
//     y[k * step + c * lane] = op over r <= k, or r < k, of x[r * step + c * lane]
// for k < n and c < cols, one after the other. Of nothing the sum is 0 and the product 1.
typedef void nacre_f32_scan_fn(const float *x, size_t n, ptrdiff_t step, size_t cols, size_t lane, int product, int exclusive, float *y);

nacre_f32_scan_fn nacre_f32_scan__scalar;

// Command: the same along k of x[o, k, i], from the last element on with reverse. Operands:
// x, y.
typedef struct {
    int64_t outer, n, inner;
    int64_t product, exclusive, reverse;
} nacre_f32_scan_words;

extern const nacre_entry nacre_f32_scan_entry;

enum { NACRE_TOPK_MOST = 128 };  // elements that f32_topk finds at most

// Op f32_topk: the k largest or, with least, smallest of n neighbours, best first, and their
// places; k <= n, k <= NACRE_TOPK_MOST. Of equals the first is better. A NaN is above all
// numbers.
typedef void nacre_f32_topk_fn(const float *x, size_t n, size_t k, int least, float *best, int64_t *places);

nacre_f32_topk_fn nacre_f32_topk__scalar;

// Whether a, which comes later, is better than b.
static inline int nacre_topk_ahead(float a, float b, int least) {
    return least ? a < b || (b != b && a == a) : a > b || (a != a && b == b);
}

// Puts v of place i among the `count` best so far, of which there is room for k. Returns how
// many there are then.
static inline size_t nacre_topk_insert(float v, size_t i, size_t count, size_t k, int least, float *best, int64_t *places) {
    size_t to = count < k ? count : k - 1;
    if (count == k && !nacre_topk_ahead(v, best[to], least)) return count;
    for (; to > 0 && nacre_topk_ahead(v, best[to - 1], least); to--) {
        best[to] = best[to - 1];
        places[to] = places[to - 1];
    }
    best[to] = v;
    places[to] = (int64_t)i;
    return count < k ? count + 1 : k;
}

// Command: for rows of n neighbours. Operands: x, the values and the places, int64; either
// of these may be left out.
typedef struct {
    int64_t rows, n, k;
    int64_t least;
} nacre_f32_topk_words;

extern const nacre_entry nacre_f32_topk_entry;

// Ops i64_reduce and i32_reduce: out = op over r < rows of x[r * stride]; SUM and PROD
// wrap, MAX and MIN need rows > 0.
typedef void nacre_int_reduce_fn(const void *x, size_t rows, size_t stride, nacre_reduce_op op, void *out);

// Command: out[o, i] = op over k < n of x[o, k, i]. Operands: x, out.
typedef struct {
    int64_t outer, n, inner;
    int64_t op;    // nacre_reduce_op, none of absolute values or squares
    int64_t size;  // bytes of an element
} nacre_int_reduce_words;

extern const nacre_entry nacre_int_reduce_entry;

#endif
