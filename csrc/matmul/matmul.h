// Matrix products.
//
// Operands have any two strides, so transposes cost nothing: element (i,j) of X is X[i*x_row +
// j*x_col]. Results are rows of ldc elements. A batch is a number of products of the same extents
// at offsets that broadcasting gives.
#ifndef NACRE_MATMUL_MATMUL_H
#define NACRE_MATMUL_MATMUL_H

#include <stddef.h>
#include <stdint.h>

#include "core/half.h"
#include "core/kernel.h"
#include "core/numbers.h"
#include "core/parallel.h"
#include "half/half.h"
#include "matmul/batch.h"
#include "matmul/f64_gemm.h"

const nacre_kernel *nacre_matmul_kernels(size_t *count);

// ---- f32_gemm -------------------------------------------------------------
//
// c(i,j) = map(clamp(alpha * sum_p a(i,p) b(p,j) + add(i,j) + row[i] + col[j]))

// The operations of a product on its sums. It adds `add`, which has the layout of the result and
// may be the result itself before the product; clamps to low..high, where a NaN stays NaN; and
// applies map in place. A zero value does nothing.
typedef struct {
    const float *add;
    int clamp;
    float low, high;
    void (*map)(const void *x, void *y, size_t n, const void *params);
    const void *params;
} nacre_f32_finish;

// The epilogue of a tile, without map. add, row and col are NULL if absent. Every implementation
// applies it in one place.
typedef struct {
    float alpha;
    const float *add;  // rows are ld_add apart
    size_t ld_add;
    const float *row;
    const float *col;
    int clamp;
    float low, high;
    int bare;           // alpha is 1 and all else is absent
    const void *next;   // next_bytes of memory for later tiles, to be prefetched meanwhile
    size_t next_bytes;
} nacre_f32_epilogue;

typedef struct nacre_f32_gemm nacre_f32_gemm;
typedef struct nacre_f32_gemm_driver nacre_f32_gemm_driver;

enum { NACRE_GEMM_PANELS = 4 };

// One way to compute products. fits reports whether it takes a product of these extents. A product
// that it takes may be computed with any of m, n and k shorter. scratch returns the elements of
// scratch that run needs on a pool of that many threads, aligned to 64 bytes; the result depends on
// all of g but addresses, and does not fall if m, n or k grows.
typedef struct {
    int (*fits)(const nacre_f32_gemm *g);
    size_t (*scratch)(const nacre_f32_gemm *g, size_t threads);
    void (*run)(const nacre_f32_gemm *g, nacre_team *team, float *scratch);
} nacre_f32_gemm_path;

// The paths: tiles, which take all products; tiles of pairs of bfloat16; lines, which take few rows
// by unpacked floats, as dot products or as sums of rows of b; and tiles of parts
// (core/f32_parts.h), which take large products. The last path computes a product by parts if they
// take it, else by tiles.
extern const nacre_f32_gemm_path nacre_f32_path_tiles, nacre_f32_path_pairs, nacre_f32_path_dot, nacre_f32_path_axpy,
                                 nacre_f32_path_parts, nacre_f32_path_parts_or_tiles;

// Tiles of products of two bfloat16 operands. The functions are as in nacre_f32_gemm_impl but for
// the types. a and b are read as given, a[i*a_row + p] and b[p*b_row + j].
typedef struct {
    void (*tile)(size_t k, const uint16_t *a, size_t a_row, const uint16_t *b, size_t b_row, float *c, size_t ldc,
                 size_t m, size_t n, const nacre_f32_epilogue *e);
    void (*row)(size_t count, size_t k, const uint16_t *a, const void *const *b, float *const *c, size_t n,
                const nacre_f32_epilogue *e);
} nacre_f32_gemm_pairs;

// The functions of a product for one level, and the path by which a row computes. A kernel row of
// ops f32_gemm and f32_gemv has the signature nacre_f32_gemm_fn and returns them.
typedef struct {
    size_t mr, nr;        // rows and columns of a tile
    size_t plain_rows;    // rows of a up to which packing b costs more than it saves
    size_t plain_spread;  // rows of a times gemm_spread of rows of b must be less if b is unpacked; 0 for no limit
    size_t block_a;       // elements of a block of rows of a, most of the second-level cache; 0 if b has that cache
    size_t block_b;       // elements of one block of b: part of the second-level cache, or of the next one

    // Computes a tile of c, 1 <= m <= mr rows and 1 <= n <= nr columns, from a packed panel of each
    // operand: a[p*lda + i] with lda >= m, and b[p*nr + j]. If e is NULL, it stores the sums.
    void (*tile)(size_t k, const float *a, size_t lda, const float *b, float *c, size_t ldc, size_t m, size_t n,
                 const nacre_f32_epilogue *e);
    // Computes the same from operands with other strides: a[i*a_row + p*a_col] and b[p*b_row + j].
    // It reads whole vectors of b that cover the n columns.
    void (*strided)(size_t k, const float *a, size_t a_row, size_t a_col, const float *b, size_t b_row, float *c,
                    size_t ldc, size_t m, size_t n, const nacre_f32_epilogue *e);
    // Computes one row of 1..NACRE_GEMM_PANELS tiles: tile q from panel b[q] to c[q] with epilogue
    // e[q]. Panels have elements of the given type. The results equal single calls of tile.
    void (*row)(nacre_dtype type, size_t count, size_t k, const float *a, size_t lda, const void *const *b,
                float *const *c, size_t n, const nacre_f32_epilogue *e);
    // y[j] = sum_p x[p] b[j*ldb + p] for j < n.
    void (*dot)(size_t k, const float *x, const float *b, size_t ldb, float *y, size_t n);
    // y[j] += sum_p x[p*incx] b[p*ldb + j] for j < n.
    void (*axpy)(size_t k, const float *x, size_t incx, const float *b, size_t ldb, float *y, size_t n);
    nacre_half_fn *half;  // conversions of the same level
    const nacre_f32_gemm_driver *driver;
    const nacre_f32_gemm_path *path;
    const nacre_f32_gemm_pairs *pairs;  // tiles of bfloat16, or NULL if it is widened
} nacre_f32_gemm_impl;
typedef const nacre_f32_gemm_impl *nacre_f32_gemm_fn(void);

// An operand as it is stored, or as nacre_f32_gemm_pack_a or _b wrote it; row and col are then
// ignored. 16-bit floats are widened block by block as they are multiplied.
typedef struct {
    const void *data;
    int packed;
    nacre_dtype type;
    size_t row, col;
} nacre_f32_operand;

struct nacre_f32_gemm {
    const nacre_f32_gemm_impl *impl;
    size_t m, n, k;
    nacre_f32_operand a, b;
    nacre_batch batch;
    // If not NULL, make_b computes b when it is needed: it writes rows k0..k0+k-1 of columns
    // j0..j0+n-1 of the b of product `index` as panels of nr columns, each k deep, with zeros
    // beyond the last column.
    void (*make_b)(const void *source, size_t index, size_t k0, size_t k, size_t j0, size_t n, float *dst);
    const void *source;
    float alpha;
    nacre_f32_finish finish;
    const float *row;   // row_count vectors of m; product q uses vector q % row_count
    size_t row_count;
    const float *col;   // n, shared by all products
    void *c;
    nacre_dtype c_type;
    size_t ldc;
};

// Packed forms: panels of rows of a, or of nr columns of b, each k deep, with elements of the
// operand's type. Sizes are in elements and multiples of 16.
size_t nacre_f32_gemm_packed_a(const nacre_f32_gemm_impl *impl, size_t m, size_t k);
size_t nacre_f32_gemm_packed_b(const nacre_f32_gemm_impl *impl, size_t n, size_t k);
void nacre_f32_gemm_pack_a(const nacre_f32_gemm_impl *impl, size_t m, size_t k, const nacre_f32_operand *a, void *dst);
void nacre_f32_gemm_pack_b(const nacre_f32_gemm_impl *impl, size_t n, size_t k, const nacre_f32_operand *b, void *dst);

// Returns the rows of a packed panel of a: m rows spread evenly over the fewest panels.
size_t nacre_f32_gemm_panel_rows(const nacre_f32_gemm_impl *impl, size_t m);

// Sets dst[p*width + l] to src[l*lane + p*step] for p < k and l < lanes <= width, and to 0 for the
// other l < width. 16-bit floats are widened.
void nacre_f32_pack_panel(const nacre_half *half, size_t k, size_t lanes, const void *src, nacre_dtype type,
                          size_t lane, size_t step, size_t width, float *dst);

// The functions above as members, for families that get an implementation as a part of a command.
struct nacre_f32_gemm_driver {
    size_t (*packed_a)(const nacre_f32_gemm_impl *impl, size_t m, size_t k);
    size_t (*packed_b)(const nacre_f32_gemm_impl *impl, size_t n, size_t k);
    void (*pack_a)(const nacre_f32_gemm_impl *impl, size_t m, size_t k, const nacre_f32_operand *a, void *dst);
    void (*pack_b)(const nacre_f32_gemm_impl *impl, size_t n, size_t k, const nacre_f32_operand *b, void *dst);
    size_t (*panel_rows)(const nacre_f32_gemm_impl *impl, size_t m);
    void (*pack_panel)(const nacre_half *half, size_t k, size_t lanes, const void *src, nacre_dtype type, size_t lane,
                       size_t step, size_t width, float *dst);
};
extern const nacre_f32_gemm_driver nacre_f32_gemm_drivers;

// Returns the implementation in a word that holds a part of a command.
static inline const nacre_f32_gemm_impl *nacre_f32_gemm_part(int64_t word) {
    return ((nacre_f32_gemm_fn *)nacre_part_fn(word))();
}

// The words of commands f32_gemm and f32_gemv. Operands are a, b, row, col, add and c. row, col and
// add may be absent. a and b may be packed by the entry's pack.
typedef struct {
    int64_t m, n, k;
    int64_t a_type, a_packed, a_row, a_col;
    int64_t b_type, b_packed, b_row, b_col;
    int64_t c_type, ldc;
    double alpha;
    int64_t clamp;
    double low, high;
    int64_t map;  // part: a function of float32 elements
    int64_t params[2];
    int64_t rank;    // axes of the batch
    int64_t axes[];  // as in nacre_batch
} nacre_f32_gemm_words;

// The kernel of commands f32_narrow and f64_narrow, which have the words and operands of f32_gemm.
// They take unpacked matrices of few columns and little depth, without row and add. It computes
//     c[r * n + j] = col[j] + sum over p < k of a[r * lda + p] * b[p * width + j], r < m, j < n,
// where width is nacre_narrow_width(n), the number of elements of col. It writes rows of c in
// order, and may overwrite elements after a row that is not the last.
typedef void nacre_narrow_fn(const void *a, size_t lda, const void *b, const void *col, size_t k, size_t m, size_t n,
                             void *c);

// The words of commands u32_gemm and u64_gemm. Operands are a, b and c.
typedef struct {
    int64_t m, n, k;
    int64_t a_row, a_col, b_row, b_col, ldc;
    int64_t rank;
    int64_t axes[];
} nacre_wide_gemm_words;

// ---- u32_gemm, u64_gemm -----------------------------------------------------
//
// c(i,j) = sum_p a(i,p) b(p,j); sums wrap, so these serve signed ones as well.

typedef struct {
    size_t m, n, k;
    size_t a_row, a_col, b_row, b_col, ldc;
    nacre_batch batch;
} nacre_wide_gemm;
// scratch has NACRE_WIDE_SCRATCH elements per thread of the pool.
typedef void nacre_wide_gemm_fn(const nacre_wide_gemm *g, nacre_team *team, const void *a, const void *b, void *c,
                                void *scratch);
enum { NACRE_WIDE_SCRATCH = 32768 };

// ---- int_gemm -----------------------------------------------------------------
//
// c(i,j) = sum_p a(i,p) b(p,j) of signed or unsigned integers of 1, 2, 4, 8 or 16 bits. Elements
// narrower than a byte follow each other without gaps, the first in the lowest bits, and rows begin
// anywhere in a byte. Results wrap; the bits after the last element are 0.

typedef struct {
    int64_t m, n, k;
    int64_t bits, is_signed;  // of elements of a and b
    int64_t out_bits;         // of results: bits, or at least 8
    int64_t rank;             // axes of the batch
    int64_t axes[];           // as in nacre_batch
} nacre_int_gemm_words;

// A kernel row of the op: sum[j] += a[p] * b[p * NACRE_INT_COLUMNS + j] over p < k, for each j < n,
// in 32 bits that wrap.
typedef void nacre_int_gemm_fn(const uint32_t *a, const uint32_t *b, size_t k, size_t n, uint32_t *sum);
enum { NACRE_INT_COLUMNS = 128 };

#endif
