// The kernel rows netlib of f32_gemm and f64_gemm: products by the system's CBLAS, on the threads
// that it chooses, in builds with the tag netlib.
#if NACRE_NETLIB
#include <string.h>

#include "_cgo_export.h"
#include "core/simd.h"
#include "matmul/matmul.h"

enum { FEW = 4 };  // rows or columns of a result up to which CBLAS is not called

// Reports whether the rows of a matrix of that many columns are contiguous and do not overlap, as
// BLAS requires.
static int plain(int64_t row, int64_t col, int64_t cols) { return col == 1 && row >= cols; }

static int is_int(int64_t n) { return n <= INT32_MAX; }

static int dense_fits(const nacre_kernel *kernel, const int64_t *words) {
    (void)kernel;
    const nacre_f32_gemm_words *const w = (const void *)words;
    if (w->m <= FEW || w->n <= FEW || w->k == 0 || w->a_packed || w->b_packed) return 0;
    if (!is_int(w->m) || !is_int(w->n) || !is_int(w->k) || !is_int(w->ldc)) return 0;
    if (!is_int(w->a_row) || !is_int(w->a_col) || !is_int(w->b_row) || !is_int(w->b_col)) return 0;
    const int a = plain(w->a_row, w->a_col, w->k) || plain(w->a_col, w->a_row, w->m);
    return a && (plain(w->b_row, w->b_col, w->n) || plain(w->b_col, w->b_row, w->k));
}

static int f32_fits(const nacre_kernel *kernel, const int64_t *words) {
    const nacre_f32_gemm_words *const w = (const void *)words;
    return w->a_type == NACRE_DTYPE_f32 && w->b_type == NACRE_DTYPE_f32 && w->c_type == NACRE_DTYPE_f32 &&
        dense_fits(kernel, words);
}

static int f64_fits(const nacre_kernel *kernel, const int64_t *words) { return dense_fits(kernel, words); }

#define T float
#define OWN(name) f32_##name
#define CALL nacreNetlibF32
#define ENTRY nacre_f32_netlib_entry
#include "matmul/netlib.inc"

#define T double
#define OWN(name) f64_##name
#define CALL nacreNetlibF64
#define ENTRY nacre_f64_netlib_entry
#include "matmul/netlib.inc"
#else
typedef int nacre_no_netlib;
#endif
