// Matrix products of doubles. matmul.h defines the layouts of operands, batches and packed forms.
#ifndef NACRE_MATMUL_F64_GEMM_H
#define NACRE_MATMUL_F64_GEMM_H

#include <stddef.h>

#include "core/kernel.h"
#include "core/parallel.h"
#include "matmul/batch.h"

// c(i,j) = map(clamp(alpha * sum_p a(i,p) b(p,j) + add(i,j) + row[i] + col[j]))

// nacre_f32_finish for doubles.
typedef struct {
    const double *add;
    int clamp;
    double low, high;
    void (*map)(const void *x, void *y, size_t n, const void *params);
    const void *params;
} nacre_f64_finish;

// nacre_f32_epilogue for doubles.
typedef struct {
    double alpha;
    const double *add;
    size_t ld_add;
    const double *row;
    const double *col;
    int clamp;
    double low, high;
    const char *next;   // next_bytes of memory for later tiles, to be prefetched meanwhile
    size_t next_bytes;
} nacre_f64_epilogue;

typedef struct nacre_f64_gemm nacre_f64_gemm;

// nacre_f32_gemm_path for doubles.
typedef struct {
    int (*fits)(const nacre_f64_gemm *g);
    size_t (*scratch)(const nacre_f64_gemm *g, size_t threads);
    void (*run)(const nacre_f64_gemm *g, nacre_team *team, double *scratch);
} nacre_f64_gemm_path;
extern const nacre_f64_gemm_path nacre_f64_path_tiles, nacre_f64_path_dot, nacre_f64_path_axpy;

// The functions of a product for one level, and the path of a row, as in nacre_f32_gemm_impl.
typedef struct {
    size_t mr, nr;
    size_t few;      // rows of a lower tile that keeps the multipliers as busy
    size_t block_a;  // elements of a block of rows of a, most of the second-level cache; 0 if that cache holds b
    size_t block_b;  // elements of one block of b: part of the second-level cache, or of the next if block_a is not 0
    // Computes a tile of c from a[i*a_row + p*a_col] and b[p*b_row + j]. It reads nr columns of b,
    // and of a few rows if m <= few, else mr.
    void (*tile)(size_t k, const double *a, size_t a_row, size_t a_col, const double *b, size_t b_row, double *c,
                 size_t ldc, size_t m, size_t n, const nacre_f64_epilogue *e);
    void (*dot)(size_t k, const double *x, const double *b, size_t ldb, double *y, size_t n);
    void (*axpy)(size_t k, const double *x, size_t incx, const double *b, size_t ldb, double *y, size_t n);
    const nacre_f64_gemm_path *path;
} nacre_f64_gemm_impl;
typedef const nacre_f64_gemm_impl *nacre_f64_gemm_fn(void);

typedef struct {
    const double *data;
    size_t row, col;
} nacre_f64_operand;

struct nacre_f64_gemm {
    const nacre_f64_gemm_impl *impl;
    size_t m, n, k;
    nacre_f64_operand a, b;
    int b_packed;
    nacre_batch batch;
    // As in nacre_f32_gemm.
    void (*make_b)(const void *source, size_t index, size_t k0, size_t k, size_t j0, size_t n, double *dst);
    const void *source;
    double alpha;
    nacre_f64_finish finish;
    const double *row;
    size_t row_count;
    const double *col;
    double *c;
    size_t ldc;
};

// Returns the implementation in a word that holds a part of a command.
static inline const nacre_f64_gemm_impl *nacre_f64_gemm_part(int64_t word) {
    return ((nacre_f64_gemm_fn *)nacre_part_fn(word))();
}

// Commands f64_gemm and f64_gemv have the words and operands of f32_gemm. All operands are doubles.
// They ignore the words for types, and a is never packed.

#endif
