// Elementwise operations: unary functions, broadcasting binary operations and comparisons,
// selection, conversion between element types.
//
// A kernel computes a run of elements of one C type. The drivers below add what is the same for all
// kernels: broadcasting, threads, and conversion in small blocks, so that float16 uses float32
// kernels and mixed types are converted to one.
//
// An output may be the same memory as an input with elements of the same size; any other overlap is
// not allowed.
#ifndef NACRE_ELTWISE_ELTWISE_H
#define NACRE_ELTWISE_ELTWISE_H

#include <stddef.h>
#include <stdint.h>

#include "core/kernel.h"
#include "core/numbers.h"
#include "core/parallel.h"

// The type of a kernel row's function depends on its op:
//   T_to_U      nacre_convert_fn from elements of T to elements of U
//   T_<unary>   nacre_unary_fn; params are two numbers of type T, such as the
//               attributes alpha and beta, or zeros if the function has none
//   T_<binary>  nacre_binary_fn; step_a and step_b are 1, or 0 for an operand
//               that is one number; comparisons write bytes 0 and 1
//   where_<n>   nacre_where_fn for elements of n bytes; cond is bytes, and any
//               byte but 0 chooses a; steps as in binary
// Runs have at least one element.
typedef void (*nacre_convert_fn)(const void *x, void *y, size_t n);
typedef void (*nacre_unary_fn)(const void *x, void *y, size_t n, const void *params);
typedef void (*nacre_binary_fn)(const void *a, size_t step_a, const void *b, size_t step_b, void *y, size_t n);
typedef void (*nacre_where_fn)(const uint8_t *cond, size_t step_cond, const void *a, size_t step_a, const void *b,
                               size_t step_b, void *y, size_t n);

// The size of elements in memory, and the conversion between them and the type of the kernel. via
// is NULL if the types are equal.
typedef struct {
    size_t bytes;  // per element
    nacre_convert_fn via;
} nacre_storage;

const nacre_kernel *nacre_eltwise_kernels(size_t *count);

// ---- commands ----
//
// A storage is the bytes of an element in memory and the kernel row of the conversion between it
// and the type of the kernel, or 0 if these are equal.
typedef struct {
    int64_t bytes, via;
} nacre_storage_words;

// Unary kernels: operands x and y, and one number each that replaces the params. The numbers may be
// absent.
typedef struct {
    int64_t n;
    nacre_storage_words x, y;
    int64_t params[2];  // two numbers of the type of the kernel, side by side
    int64_t size;       // bytes of such a number
} nacre_unary_words;

// Conversions: operands x and y. later, unless it is 0, converts the results of the kernel row's
// function.
typedef struct {
    int64_t n, x_bytes, y_bytes, later;
} nacre_convert_words;

// Binary kernels: operands a, b and y.
typedef struct {
    nacre_storage_words a, b, y;
    int64_t rank;
    int64_t dims[];  // extents of y, of a and of b; an extent of a or b is 1 or y's
} nacre_binary_words;

// Selections: operands cond, a, b and y.
typedef struct {
    int64_t bytes, rank;
    int64_t dims[];  // extents of y, of cond, of a and of b
} nacre_where_words;

// Kernel row eltwise_fused: operands x, b and y; see nacre_fused.
typedef struct {
    int64_t unary, unary_first, binary, period, n;
    nacre_storage_words in, out;
    int64_t params[2];
} nacre_fused_words;

// Kernel row f32_gated_add: operands x[rows, n], y[rows, n], gate[rows] and out[rows, n]:
//     out[r, i] = add(x[r, i], mul(y[r, i], gate[r]))
// mul and add are parts, kernel rows of f32_mul and f32_add. out may be x.
typedef struct {
    int64_t mul, add, rows, n;
} nacre_gated_words;

// Kernel row f32_snake: operands x[rows, n], alpha[channels], ratio[channels] and y[rows, n]:
//     y[r, i] = x[r, i] + ratio[c] sin(alpha[c] x[r, i])^2, with c = r mod channels
// mul, add and sin are parts, kernel rows of f32_mul, f32_add and f32_sin, and round every step. y may
// be x.
typedef struct {
    int64_t mul, add, sin, rows, channels, n;
} nacre_snake_words;

// Sets y[i] to fn(x[i]) for n elements. fn may be NULL, to only convert. At least one of fn,
// x_storage.via and y_storage.via is not NULL. costly says that fn computes one number after the
// other.
void nacre_eltwise_map(nacre_team *team, nacre_unary_fn fn, int costly, const void *x, nacre_storage x_storage, void *y,
                       nacre_storage y_storage, size_t n, const void *params);

// Computes y = fn(a, b) with broadcasting. dims holds rank extents of y, then rank of a and rank of
// b. Each extent of a or b is 1 or y's.
void nacre_eltwise_binary(nacre_team *team, nacre_binary_fn fn, const void *a, nacre_storage a_storage, const void *b,
                          nacre_storage b_storage, void *y, nacre_storage y_storage, const int64_t *dims, size_t rank);

// Computes y = cond ? a : b with broadcasting; dims as above, with the extents of cond between the
// extents of y and of a.
void nacre_eltwise_where(nacre_team *team, nacre_where_fn fn, const uint8_t *cond, const void *a, const void *b,
                         void *y, size_t bytes, const int64_t *dims, size_t rank);

// A unary and a binary kernel in one pass: y = binary(unary(x), b) if the unary comes first, else
// unary(binary(x, b)). b has `period` elements and is repeated. in is the storage of x and b. y may
// be x.
typedef struct {
    nacre_unary_fn unary;
    const void *params;
    int unary_first;
    nacre_binary_fn binary;
    size_t period;
    nacre_storage in, out;
} nacre_fused;
void nacre_eltwise_fused(nacre_team *team, const nacre_fused *f, const void *x, const void *b, void *y, size_t n);

// The commands of the family's kernel rows.
extern const nacre_entry nacre_unary_entry, nacre_convert_entry, nacre_binary_entry, nacre_where_entry,
    nacre_fused_entry;
extern const nacre_entry nacre_gated_entry, nacre_snake_entry;

#endif
