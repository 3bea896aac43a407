// What the parts of f32_gemm share: the plan of a product.
#ifndef NACRE_MATMUL_F32_GEMM_PLAN_H
#define NACRE_MATMUL_F32_GEMM_PLAN_H

#include "matmul/matmul.h"

enum { GEMM_PITCH = 16 }; // floats between rows that are widened or copied, so that they are in other sets of a cache

typedef enum { TILES, GEMV_DOT, GEMV_AXPY } gemm_path;

typedef struct {
    nacre_f32_gemm g;
    const nacre_team *team;  // whose end is looked for within a chunk
    gemm_path path;
    size_t products;
    size_t i_step, i_count;  // the piece of c that is one chunk of work
    size_t j_step, j_count;
    // Tiles only.
    size_t rows;           // of a panel of a
    size_t m_step;         // rows of a block of a: panels
    size_t k_step;         // of a sum at a time
    size_t n_step;         // columns of a block of b
    size_t n_strip;        // columns of it that all rows of a block of a are multiplied by before the next ones
    int one_strip;         // no strip is needed again, so the room is for one
    size_t a_distinct;     // matrices of a to pack
    size_t a_size;         // of one of them, packed
    size_t b_size;         // of a block of b
    size_t rows_size;      // of a copy of a block of rows of a
    int pairs;             // both operands are bfloat16 and stay so
    int a_plain, b_plain;  // read where they lie; of b of floats only whole panels
    int a_wide;            // rows of 16-bit floats are widened as they lie
    size_t a_row, a_col;   // from one row of a to the next, and from one step of a sum
    int b_row;             // the one row is multiplied by packed panels of 16-bit floats as they are
    size_t c_size;         // of a block of c that is to be rounded
    float *a_packed, *b_blocks, *c_blocks, *rows_blocks;
} gemm_plan;

static inline const void *gemm_at(const nacre_f32_operand *x, size_t offset) {
    return (const char *)x->data + offset * nacre_float_size(x->type);
}

static inline int gemm_is_half(nacre_float_type type) { return type != NACRE_FLOAT32; }

// Chunks of work on a plan: packs a panel of a, and computes a piece of c by tiles.
void nacre_f32_gemm_pack_chunk(void *job, size_t chunk, size_t thread);
void nacre_f32_gemm_tiles_chunk(void *job, size_t chunk, size_t thread);

#endif
