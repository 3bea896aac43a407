// Matrix products of doubles; matmul.h says how operands, batches and packed forms are
// laid out.
#ifndef NACRE_MATMUL_F64_GEMM_H
#define NACRE_MATMUL_F64_GEMM_H

#include <stddef.h>

#include "core/kernel.h"
#include "core/parallel.h"
#include "matmul/batch.h"

// c(i,j) = map(clamp(alpha * sum_p a(i,p) b(p,j) + add(i,j) + row[i] + col[j]))

// nacre_f32_finish of doubles.
typedef struct {
    const double *add;
    int clamp;
    double low, high;
    void (*map)(const void *x, void *y, size_t n, const void *params);
    const void *params;
} nacre_f64_finish;

// nacre_f32_epilogue of doubles.
typedef struct {
    double alpha;
    const double *add;
    size_t ld_add;
    const double *row;
    const double *col;
    int clamp;
    double low, high;
    const char *next;   // memory that later tiles read, fetched on the way: so many bytes
    size_t next_bytes;
} nacre_f64_epilogue;

typedef struct nacre_f64_gemm nacre_f64_gemm;
typedef struct nacre_f64_gemm_driver nacre_f64_gemm_driver;

// The parts of a product for one ISA level, as those of nacre_f32_gemm_impl.
typedef struct {
    size_t mr, nr;
    size_t few;      // rows of a lower tile, which fill the multipliers as well
    size_t block_a;  // elements of a block of rows of a: most of the second-level cache; 0 where b has it
    size_t block_b;  // elements of one block of b: a part of the second-level cache, or of the next one where a has that
    // A tile of c from a[i*a_row + p*a_col] and b[p*b_row + j], of which nr columns are read,
    // and few rows if m is at most that, else mr.
    void (*tile)(size_t k, const double *a, size_t a_row, size_t a_col, const double *b, size_t b_row, double *c, size_t ldc, size_t m,
                 size_t n, const nacre_f64_epilogue *e);
    void (*dot)(size_t k, const double *x, const double *b, size_t ldb, double *y, size_t n);
    void (*axpy)(size_t k, const double *x, size_t incx, const double *b, size_t ldb, double *y, size_t n);
    const nacre_f64_gemm_driver *driver;
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
    // As of nacre_f32_gemm.
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

// What other families call.
struct nacre_f64_gemm_driver {
    // In elements; scratch lies at a multiple of 64 bytes.
    size_t (*scratch)(const nacre_f64_gemm *g, size_t threads);
    void (*run)(const nacre_f64_gemm *g, nacre_team *team, double *scratch);
};
extern const nacre_f64_gemm_driver nacre_f64_gemm_drivers;

// The implementation that a part of a command is.
static inline const nacre_f64_gemm_impl *nacre_f64_gemm_part(int64_t word) { return ((nacre_f64_gemm_fn *)nacre_part_fn(word))(); }

// Command f64_gemm has the words and operands of f32_gemm, all of them doubles; its words
// for types are not looked at, and a is not packed.

#endif
