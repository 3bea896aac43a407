// Packing of codes, scales and zero points into panels.
#include <string.h>

#include "nbits/panels.h"

// Returns a word of codes with code 4*s + b in byte b, at bit s*bits, from one with code i at bit
// i*bits.
static uint32_t pack_word(uint32_t v, size_t bits) {
    if (bits == 8) return v;
    if (bits == 4) {
        uint32_t halves[2] = {v & 0xffff, v >> 16};
        for (size_t i = 0; i < 2; i++) {
            uint32_t x = halves[i];
            x = (x | x << 8) & 0x00ff00ff;
            halves[i] = (x | x << 4) & 0x0f0f0f0f;
        }
        return halves[0] | halves[1] << 4;
    }
    uint32_t packed = 0;
    for (size_t s = 0; s < 4; s++) {
        uint32_t x = v >> s * 8 & 0xff;
        x = (x | x << 12) & 0x000f000f;
        x = (x | x << 6) & 0x03030303;
        packed |= x << s * 2;
    }
    return packed;
}

// Packs one row of codes of a slab, from byte `at` of the row on.
static void pack_lane(const nacre_nbits *w, size_t lanes, const uint8_t *row, size_t at, size_t depth, uint8_t *dst) {
    const size_t end = nacre_min((w->k * w->bits + 7) / 8, w->row_bytes);
    for (size_t word = 0; word < depth * w->bits / 32; word++, at += 4) {
        uint32_t v = 0;
        if (at < end) memcpy(&v, row + at, nacre_min(end - at, sizeof v));
        v = pack_word(v, w->bits);
        memcpy(dst + word * lanes * sizeof v, &v, sizeof v);
    }
}

void nacre_nbits_pack_codes(const nacre_nbits *w, size_t lanes, const uint8_t *src, uint8_t *dst) {
    const nacre_nbits_panels p = nacre_nbits_panels_of(w, lanes);
    for (size_t j = 0; j < w->n; j += lanes, dst += p.bytes) {
        uint8_t *slab = dst;
        for (size_t s = 0; s < p.count; s++) {
            const size_t depth = nacre_nbits_slab_depth(&p, s), live = nacre_min(lanes, w->n - j);
            if (live < lanes) memset(slab, 0, nacre_nbits_code_bytes(w, lanes, depth));
            for (size_t l = 0; l < live; l++) pack_lane(w, lanes, src + (j + l) * w->row_bytes, s * p.depth * w->bits / 8, depth, slab + 4 * l);
            slab += nacre_nbits_slab_bytes(w, lanes, depth);
        }
    }
}

// Writes one element of size bytes for each lane and slab, at the given offset behind the codes.
// get writes the element of block i of row j.
typedef void pack_get(const nacre_nbits *w, const void *src, size_t j, size_t i, uint8_t *dst);

static void pack_elements(const nacre_nbits *w, size_t lanes, size_t size, size_t behind, const void *src, pack_get *get, uint8_t *dst) {
    const nacre_nbits_panels p = nacre_nbits_panels_of(w, lanes);
    for (size_t j = 0; j < w->n; j += lanes, dst += p.bytes) {
        uint8_t *slab = dst;
        for (size_t s = 0; s < p.count; s++) {
            const size_t depth = nacre_nbits_slab_depth(&p, s), live = nacre_min(lanes, w->n - j), block = s * p.depth / w->block;
            uint8_t *const at = slab + nacre_nbits_code_bytes(w, lanes, depth) + behind;
            for (size_t l = 0; l < live; l++) get(w, src, j + l, block, at + l * size);
            memset(at + live * size, 0, (lanes - live) * size);
            slab += nacre_nbits_slab_bytes(w, lanes, depth);
        }
    }
}

static void get_float(const nacre_nbits *w, const void *src, size_t j, size_t i, uint8_t *dst) {
    const size_t size = nacre_float_size(w->type);
    memcpy(dst, (const uint8_t *)src + (j * w->row_scales + i) * size, size);
}

static void get_code(const nacre_nbits *w, const void *src, size_t j, size_t i, uint8_t *dst) {
    *dst = (uint8_t)nacre_nbits_code((const uint8_t *)src + j * ((w->row_scales * w->bits + 7) / 8), i, w->bits);
}

void nacre_nbits_pack_scales(const nacre_nbits *w, size_t lanes, const void *src, uint8_t *dst) {
    pack_elements(w, lanes, nacre_float_size(w->type), 0, src, get_float, dst);
}

void nacre_nbits_pack_zeros(const nacre_nbits *w, size_t lanes, const void *src, uint8_t *dst) {
    const int codes = w->from == NACRE_NBITS_CODES;
    pack_elements(w, lanes, codes ? 1 : nacre_float_size(w->type), nacre_nbits_scale_bytes(w, lanes), src, codes ? get_code : get_float, dst);
}
