// Reductions of one axis: a contiguous value [outer, n, inner] becomes [outer, inner].
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
    NACRE_REDUCE_SUMSQ,   // sum of squares
    NACRE_REDUCE_SUMABS,  // sum of absolute values
    NACRE_REDUCE_PROD,
    NACRE_REDUCE_MAX,  // NaN if any element is NaN
    NACRE_REDUCE_MIN,  // NaN if any element is NaN
} nacre_reduce_op;

// A command calls a kernel on blocks: at most NACRE_REDUCE_ROW elements of one row, or at most
// NACRE_REDUCE_ROWS rows of at most NACRE_REDUCE_COLS columns. It combines the results of blocks in
// double precision.
enum { NACRE_REDUCE_ROW = 4096, NACRE_REDUCE_ROWS = 128, NACRE_REDUCE_COLS = NACRE_TURN_COLS };

// Op f32_reduce:
//     out[c] = op over r < rows of x[r * stride + c], for c < cols
// rows > 0. With stride 1 and cols 1, it reduces a contiguous row.
typedef void nacre_f32_reduce_fn(const float *x, size_t rows, size_t stride, size_t cols, nacre_reduce_op op,
                                 float *out);

// nacre_reduce_root is the function applied to a result after it is rounded to float.
typedef enum { NACRE_REDUCE_PLAIN, NACRE_REDUCE_SQRT, NACRE_REDUCE_LOG } nacre_reduce_root;

// Command: out[o, i] = root((op over k < n of x[o, k, i]) / divisor). If n is 0, a sum is 0, a
// product 1, a maximum -infinity and a minimum infinity. Results of blocks are combined in double
// precision and rounded once. Operands: x, out. The kernel rows named turned take an inner of 1 and
// an n of at most NACRE_TURN_ROW, without exp, and turn rows of a matrix into columns first.
typedef struct {
    int64_t outer, n, inner;
    int64_t op;       // nacre_reduce_op
    int64_t divisor;  // elements of a mean; 1 for others
    int64_t root;     // nacre_reduce_root
    int64_t x_type, out_type;
    int64_t half;  // part half; 0 if both types are float
    int64_t exp;   // part f32_exp: computes log(sum over k of exp(x[o, k, i])), with op SUM; else 0
} nacre_f32_reduce_words;

extern const nacre_entry nacre_f32_reduce_turned_entry, nacre_f32_reduce_entry;

// Op f32_arg: for c < cols,
//     out[c] = the r < n at which x[r * stride + c] is largest, or smallest if least is set
// n > 0. A NaN is better than every number. Among equals the first one counts, or the last one if
// last is set. With stride 1 and cols 1, it searches a contiguous row.
typedef void nacre_f32_arg_fn(const float *x, size_t n, size_t stride, size_t cols, int least, int last, int64_t *out);

enum { NACRE_ARG_PLACES = 1 << 24 };  // longest lane whose positions a float counts exactly

// nacre_arg_lane computes f32_arg for one column.
int64_t nacre_arg_lane(const float *x, size_t n, size_t stride, int least, int last);
nacre_f32_arg_fn nacre_f32_arg__scalar;

// Command: out[o, i] = the result of f32_arg over k of x[o, k, i]. Operands: x, out (int64). The
// kernel rows named turned are as in f32_reduce.
typedef struct {
    int64_t outer, n, inner;  // n > 0
    int64_t least, last;
} nacre_f32_arg_words;

extern const nacre_entry nacre_f32_arg_turned_entry, nacre_f32_arg_entry;

enum { NACRE_SCAN_COLS = 1024 };  // most columns per call of the kernel, if lane is 1

// Op f32_scan: running sums or products along columns, inclusive (r <= k) or exclusive (r < k):
//     y[k * step + c * lane] = op over r <= k, or r < k, of x[r * step + c * lane]
// for k < n and c < cols, in the order of r. An empty sum is 0, an empty product 1.
typedef void nacre_f32_scan_fn(const float *x, size_t n, ptrdiff_t step, size_t cols, size_t lane, int product,
                               int exclusive, float *y);

nacre_f32_scan_fn nacre_f32_scan__scalar;

// Command: f32_scan along k of x[o, k, i]. With reverse, it starts at the last element. Operands:
// x, y.
typedef struct {
    int64_t outer, n, inner;
    int64_t product, exclusive, reverse;
} nacre_f32_scan_words;

extern const nacre_entry nacre_f32_scan_entry;

enum { NACRE_TOPK_MOST = 128 };  // largest k of f32_topk

// Op f32_topk: the k largest of n contiguous elements, or the k smallest if least is set, best
// first, with their positions. k <= n and k <= NACRE_TOPK_MOST. Among equals the first one is
// better. A NaN is larger than every number.
typedef void nacre_f32_topk_fn(const float *x, size_t n, size_t k, int least, float *best, int64_t *places);

nacre_f32_topk_fn nacre_f32_topk__scalar;

// nacre_topk_ahead reports whether a is better than b, if b comes first.
static inline int nacre_topk_ahead(float a, float b, int least) {
    return least ? a < b || (b != b && a == a) : a > b || (a != a && b == b);
}

// nacre_topk_insert inserts v, at position i, into the list of the `count` best elements so far,
// which holds at most k. It returns the new count.
static inline size_t nacre_topk_insert(float v, size_t i, size_t count, size_t k, int least, float *best,
                                       int64_t *places) {
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

// Command: f32_topk for each of `rows` rows of n elements. Operands: x, the values, the positions
// (int64). Either output may be left out.
typedef struct {
    int64_t rows, n, k;
    int64_t least;
} nacre_f32_topk_words;

extern const nacre_entry nacre_f32_topk_entry;

// Ops i64_reduce and i32_reduce: out = op over r < rows of x[r * stride]. SUM and PROD wrap around;
// MAX and MIN need rows > 0.
typedef void nacre_int_reduce_fn(const void *x, size_t rows, size_t stride, nacre_reduce_op op, void *out);

// Command: out[o, i] = op over k < n of x[o, k, i]. Operands: x, out.
typedef struct {
    int64_t outer, n, inner;
    int64_t op;    // nacre_reduce_op: SUM, PROD, MAX or MIN
    int64_t size;  // bytes of an element
} nacre_int_reduce_words;

extern const nacre_entry nacre_int_reduce_entry;

#endif
