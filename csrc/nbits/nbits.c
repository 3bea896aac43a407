#include "nbits/nbits.h"

#include "core/target.h"

// The signature of each op's rows.
typedef nacre_f32_nbits_fn nbits_row_f32_nbits;
typedef nacre_i8_nbits_fn nbits_row_i8_nbits;

#define NACRE_KERNEL(op, variant, isa, function) extern nbits_row_##op function;
#include "nbits/kernels.inc"
#undef NACRE_KERNEL

static const nacre_kernel nbits_rows[] = {
#define NACRE_KERNEL(op, variant, isa, function) {#op, #variant, isa, (nacre_fn)function, NULL},
#include "nbits/kernels.inc"
#undef NACRE_KERNEL
};

const nacre_kernel *nacre_nbits_kernels(size_t *count) {
    *count = sizeof nbits_rows / sizeof nbits_rows[0];
    return nbits_rows;
}

static float nbits_float(const void *p, nacre_float_type type, size_t i) {
    switch (type) {
    case NACRE_FLOAT16: return nacre_f16_to_f32(((const uint16_t *)p)[i]);
    case NACRE_BFLOAT16: return nacre_bf16_to_f32(((const uint16_t *)p)[i]);
    default: return ((const float *)p)[i];
    }
}

static unsigned nbits_code(const uint8_t *codes, size_t i, size_t bits, int high_first) {
    const size_t bit = (i ^ (size_t)(high_first != 0)) * bits;
    return codes[bit / 8] >> bit % 8 & ((1u << bits) - 1);
}

float nacre_nbits_scale(const nacre_nbits *w, size_t j, size_t i) { return nbits_float(w->scales, w->type, j * w->row_scales + i); }

float nacre_nbits_zero(const nacre_nbits *w, size_t j, size_t i) {
    switch (w->from) {
    case NACRE_NBITS_CODES: return (float)nbits_code((const uint8_t *)w->zeros + j * ((w->row_scales * w->bits + 7) / 8), i, w->bits, 0);
    case NACRE_NBITS_FLOATS: return nbits_float(w->zeros, w->type, j * w->row_scales + i);
    default: return (float)(1u << (w->bits - 1));
    }
}

float nacre_nbits_at(const nacre_nbits *w, size_t j, size_t p) {
    const size_t i = w->flat ? j * w->k + p : p, row = w->flat ? 0 : j;
    const unsigned code = nbits_code(w->codes + row * w->row_bytes, i, w->bits, w->high_first);
    const size_t block = w->group != NULL ? (size_t)w->group[p] : i / w->block;
    const float scale = nacre_nbits_scale(w, row, block);
    return w->table != NULL ? w->table[code] * scale : ((float)code - nacre_nbits_zero(w, row, block)) * scale;
}
