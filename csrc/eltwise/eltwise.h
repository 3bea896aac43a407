// Elementwise operations: unary functions, broadcasting binary operations and
// comparisons, selection, conversion between element types.
//
// A kernel computes a run of elements of one C type. The drivers below add what
// all kernels share: broadcasting, threads, and conversion in small blocks, by
// which float16 runs through float32 kernels and mixed types meet in one.
//
// An output may be the same memory as an input with elements of the same size;
// any other overlap is not allowed.
#ifndef NACRE_ELTWISE_ELTWISE_H
#define NACRE_ELTWISE_ELTWISE_H

#include <stddef.h>
#include <stdint.h>

#include "core/kernel.h"
#include "core/numbers.h"
#include "core/parallel.h"

// What a row's function is, told by its op:
//   T_to_U      nacre_convert_fn from elements of T to those of U
//   T_<unary>   nacre_unary_fn; params are two numbers of type T, such as the
//               attributes alpha and beta, or zeros where the function has none
//   T_<binary>  nacre_binary_fn; step_a and step_b are 1, or 0 for an operand
//               that is one number; comparisons write bytes 0 and 1
//   where_<n>   nacre_where_fn for elements of n bytes; cond is bytes, all of
//               which but 0 choose a; steps as in binary
// Runs have at least one element.
typedef void (*nacre_convert_fn)(const void *x, void *y, size_t n);
typedef void (*nacre_unary_fn)(const void *x, void *y, size_t n, const void *params);
typedef void (*nacre_binary_fn)(const void *a, size_t step_a, const void *b, size_t step_b, void *y, size_t n);
typedef void (*nacre_where_fn)(const uint8_t *cond, size_t step_cond, const void *a, size_t step_a, const void *b,
                               size_t step_b, void *y, size_t n);

// Elements in memory, and the conversion between them and the type that the
// kernel computes in; via is NULL where these are the same.
typedef struct {
    size_t bytes;  // per element
    nacre_convert_fn via;
} nacre_lane;

const nacre_kernel *nacre_eltwise_kernels(size_t *count);

// ---- commands ----
//
// A lane is the bytes of an element in memory and the row of the conversion between it
// and the type that the kernel computes in; 0 where these are the same.
typedef struct {
    int64_t bytes, via;
} nacre_lane_words;

// Unary kernels: operands x and y, and numbers that take the place of the params, one
// each, both of which may be left out.
typedef struct {
    int64_t n;
    nacre_lane_words x, y;
    int64_t params[2];  // two numbers of the type that the kernel computes in, side by side
    int64_t size;       // bytes of such a number
} nacre_unary_words;

// Conversions: operands x and y. Later, unless it is 0, converts what the row's function
// makes.
typedef struct {
    int64_t n, x_bytes, y_bytes, later;
} nacre_convert_words;

// Binary kernels: operands a, b and y.
typedef struct {
    nacre_lane_words a, b, y;
    int64_t rank;
    int64_t dims[];  // extents of y, of a and of b, where each is that of y or 1
} nacre_binary_words;

// Selections: operands cond, a, b and y.
typedef struct {
    int64_t bytes, rank;
    int64_t dims[];  // extents of y, of cond, of a and of b
} nacre_where_words;

// Row eltwise_fused: operands x, b and y; see nacre_fused.
typedef struct {
    int64_t unary, unary_first, binary, period, n;
    nacre_lane_words in, out;
    int64_t params[2];
} nacre_fused_words;

// Row f32_gated_add: operands x[rows, n], y[rows, n], gate[rows] and out[rows, n]:
//     out[r, i] = add(x[r, i], mul(y[r, i], gate[r]))
// mul and add are parts, rows of f32_mul and f32_add. out may be x.
typedef struct {
    int64_t mul, add, rows, n;
} nacre_gated_words;

// y[i] = fn(x[i]) for n elements; fn may be NULL, which only converts. At least
// one of fn, x_lane.via and y_lane.via is there. costly tells that fn computes one number
// after the other.
void nacre_eltwise_map(nacre_team *team, nacre_unary_fn fn, int costly, const void *x, nacre_lane x_lane, void *y,
                       nacre_lane y_lane, size_t n, const void *params);

// y = fn(a, b) with broadcasting. dims holds rank extents of y, then rank of a
// and rank of b, where each is that of y or 1.
void nacre_eltwise_binary(nacre_team *team, nacre_binary_fn fn, const void *a, nacre_lane a_lane, const void *b,
                          nacre_lane b_lane, void *y, nacre_lane y_lane, const size_t *dims, size_t rank);

// y = cond ? a : b with broadcasting; dims as above, with the extents of cond
// between those of y and those of a.
void nacre_eltwise_where(nacre_team *team, nacre_where_fn fn, const uint8_t *cond, const void *a, const void *b,
                         void *y, size_t bytes, const size_t *dims, size_t rank);

// A unary and a binary kernel in one walk: y = binary(unary(x), b) if the unary
// comes first, else unary(binary(x, b)). b has `period` elements and starts anew
// after them. in is the lane of x and b. y may be x.
typedef struct {
    nacre_unary_fn unary;
    const void *params;
    int unary_first;
    nacre_binary_fn binary;
    size_t period;
    nacre_lane in, out;
} nacre_fused;
void nacre_eltwise_fused(nacre_team *team, const nacre_fused *f, const void *x, const void *b, void *y, size_t n);

// The commands of the family's rows.
extern const nacre_entry nacre_unary_entry, nacre_convert_entry, nacre_binary_entry, nacre_where_entry, nacre_fused_entry;
extern const nacre_entry nacre_gated_entry;

#endif
