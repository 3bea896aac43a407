// The words and operands of a product with codes.
#ifndef NACRE_NBITS_PRODUCT_H
#define NACRE_NBITS_PRODUCT_H

#include "nbits/panels.h"

enum {
    NBITS_GRAIN = 1 << 17,    // least multiply-adds of a piece for a thread
    NBITS_FARTHEST = 1 << 26,  // largest bytes of a row that kernels take
    NBITS_WORDS = sizeof(nacre_nbits_words) / 8,
    NBITS_OPERANDS = 8
};

typedef struct {
    const nacre_f32_nbits_impl *impl;     // NULL if rows are rounded
    const nacre_i8_nbits_impl *rounded;   // NULL if they are not
    const nacre_f32_gemm_impl *gemm;
    nacre_nbits w;
    int transposed;
    int packed;
    nacre_nbits_panels panels;  // the order of packed codes
    size_t m;
    const float *a;
    const float *bias;  // or NULL
    float *c;
} nbits_product;

static inline int nbits_regular(const nbits_product *g) {
    return !g->transposed && g->w.group == NULL && !g->w.flat && g->w.row_bytes < NBITS_FARTHEST;
}

// Reports whether the codes can be packed.
static inline int nbits_packable(const nbits_product *g) { return nbits_regular(g) && g->w.table == NULL && !g->w.high_first; }

// Returns the product of the words of a command. group and table only say whether the operands are
// given.
static inline nbits_product nbits_said(const int64_t *words) {
    const nacre_nbits_words *const w = (const void *)words;
    return (nbits_product){
        .gemm = nacre_f32_gemm_part(w->gemm),
        .w = {.n = (size_t)w->n, .k = (size_t)w->k, .bits = (size_t)w->bits, .block = (size_t)w->block, .high_first = w->high_first != 0,
              .row_bytes = (size_t)w->row_bytes, .type = (nacre_dtype)w->type, .row_scales = (size_t)w->row_scales,
              .from = (nacre_nbits_zeros)w->from, .flat = w->flat != 0,
              .group = w->group == 0 ? NULL : (const void *)words, .table = w->table == 0 ? NULL : (const void *)words},
        .transposed = w->transposed != 0,
        .packed = w->packed != 0,
        .m = (size_t)w->m,
    };
}

static inline nbits_product nbits_f32(const nacre_kernel *kernel, const int64_t *words) {
    nbits_product g = nbits_said(words);
    g.impl = ((nacre_f32_nbits_fn *)kernel->fn)();
    g.panels = nacre_nbits_panels_of(&g.w, g.impl->lanes);
    return g;
}

static inline nbits_product nbits_i8(const nacre_kernel *kernel, const int64_t *words) {
    nbits_product g = nbits_said(words);
    g.rounded = ((nacre_i8_nbits_fn *)kernel->fn)();
    g.panels = nacre_nbits_panels_of(&g.w, g.rounded->lanes);
    return g;
}

// Sets the operands. It reports whether all groups are in range.
static inline int nbits_operands(nbits_product *g, const nacre_call *c) {
    g->a = nacre_operand(c, 0);
    g->w.codes = nacre_operand(c, 1);
    g->w.scales = nacre_operand(c, 2);
    g->w.zeros = nacre_operand(c, 3);
    g->w.table = nacre_operand(c, 4);
    g->w.group = nacre_operand(c, 5);
    g->bias = nacre_operand(c, 6);
    g->c = nacre_operand(c, 7);
    for (size_t p = 0; g->w.group != NULL && p < g->w.k; p++) {
        if (g->w.group[p] >= 0 && (size_t)g->w.group[p] < g->w.row_scales) continue;
        nacre_fail(c, NACRE_FAILED_group, (int64_t)p, g->w.group[p], (int64_t)g->w.row_scales, 0);
        return 0;
    }
    return 1;
}

// Adds the bias to n columns of rows of c from column j0 on.
static inline void nbits_add_bias(const nbits_product *g, size_t rows, size_t j0, size_t n, float *c) {
    for (size_t i = 0; g->bias != NULL && i < rows; i++) {
        NACRE_SIMD for (size_t j = j0; j < j0 + n; j++) c[i * g->w.n + j] += g->bias[j];
    }
}

// Runs, fits and scratch of a product of floats that decodes its right operand block by block.
void nbits_gemm_run(const nbits_product *g, nacre_team *team, void *scratch);
int nbits_gemm_fits(const nbits_product *g);
size_t nbits_gemm_scratch(const nbits_product *g, size_t threads);

#endif
