// The plan of a product, shared by the files of f32_gemm.
#ifndef NACRE_MATMUL_F32_GEMM_PLAN_H
#define NACRE_MATMUL_F32_GEMM_PLAN_H

#include "matmul/matmul.h"

enum { GEMM_PITCH = 16 }; // floats added between rows that are copied, so that they use other sets of a cache

typedef enum { TILES, PAIRS, GEMV_DOT, GEMV_AXPY } gemm_path;

typedef struct {
    nacre_f32_gemm g;
    const nacre_team *team;  // chunks check whether it has stopped
    gemm_path path;
    int lines;               // the path is GEMV_DOT or GEMV_AXPY
    size_t products;
    size_t i_step, i_count;  // the piece of c in one chunk of work
    size_t j_step, j_count;
    // Tiles only.
    size_t rows;           // of a panel of a
    size_t m_step;         // of a block of rows of a, a multiple of rows
    size_t k_step;         // depth of one block of a sum
    size_t n_step;         // columns of a block of b
    size_t n_strip;        // of a block of b, multiplied by all rows of a block of a before the next ones
    int one_strip;         // no strip is needed again, so there is memory for one
    size_t a_distinct;     // matrices of a to pack
    size_t a_size;         // of one of them, packed
    size_t b_size;         // of a block of b
    size_t rows_size;      // of a copy of a block of rows of a
    int pairs;             // the path is PAIRS: operands are not widened
    int a_plain, b_plain;  // read unpacked; of a b of floats only whole panels
    int a_wide;            // rows of 16-bit floats are widened but not packed
    size_t a_row, a_col;   // from one row of a to the next, and from one p to the next
    int b_row;             // the single row is multiplied by packed panels of 16-bit floats without widening
    size_t c_size;         // of a block of floats of c, to be rounded
    float *a_packed, *b_blocks, *c_blocks, *rows_blocks;
} gemm_plan;

static inline const void *gemm_at(const nacre_f32_operand *x, size_t offset) {
    return (const char *)x->data + offset * nacre_float_size(x->type);
}

static inline int gemm_is_half(nacre_dtype type) { return type != NACRE_DTYPE_f32; }

// Chunks of work on a plan. The first packs a panel of a, the second computes a piece of c by
// tiles.
void nacre_f32_gemm_pack_chunk(void *job, size_t chunk, size_t thread);
void nacre_f32_gemm_tiles_chunk(void *job, size_t chunk, size_t thread);

#endif
