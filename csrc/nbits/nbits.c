#include "nbits/nbits.h"

extern const nacre_entry nacre_nbits_gemv_entry, nacre_nbits_gemm_entry, nacre_nbits_columns_entry, nacre_nbits_gather_entry;

// The signature of the kernel rows of each op.
typedef nacre_f32_nbits_fn nbits_row_f32_nbits;

#define NACRE_FAMILY nbits
#include "core/table.inc"

float nacre_nbits_scale(const nacre_nbits *w, size_t j, size_t i) { return nacre_nbits_float(w->scales, w->type, j * w->row_scales + i); }

float nacre_nbits_zero(const nacre_nbits *w, size_t j, size_t i) {
    switch (w->from) {
    case NACRE_NBITS_CODES: return (float)nacre_nbits_code((const uint8_t *)w->zeros + j * ((w->row_scales * w->bits + 7) / 8), i, w->bits);
    case NACRE_NBITS_FLOATS: return nacre_nbits_float(w->zeros, w->type, j * w->row_scales + i);
    default: return (float)(1u << (w->bits - 1));
    }
}

float nacre_nbits_at(const nacre_nbits *w, size_t j, size_t p) {
    const size_t i = w->flat ? j * w->k + p : p, row = w->flat ? 0 : j;
    const unsigned code = nacre_nbits_code(w->codes + row * w->row_bytes, i ^ (size_t)(w->high_first != 0), w->bits);
    const size_t block = w->group != NULL ? (size_t)w->group[p] : i / w->block;
    const float scale = nacre_nbits_scale(w, row, block);
    return w->table != NULL ? w->table[code] * scale : ((float)code - nacre_nbits_zero(w, row, block)) * scale;
}
