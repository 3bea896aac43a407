// Packing of codes, scales and zero points into panels.
#include <string.h>

#include "blocks/panels.h"

// Returns a word of codes with code 4*s + b in byte b, at bit s*bits, from one with code i at bit
// i*bits.
static uint32_t codes_word(uint32_t v, size_t bits) {
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

// Slabs of a panel, one after the other.
typedef struct {
    const nacre_block_form *whole;
    nacre_block_form last, form;  // form is of this slab
    size_t lanes, count;
    size_t s, first;  // the number of this slab, and of its first code
    uint8_t *slab;
} codes_slabs;

static codes_slabs codes_begin(const nacre_block_form *f, const nacre_block_codes *c, size_t lanes, uint8_t *panel) {
    codes_slabs at = {.whole = f, .last = nacre_block_last(f, c->k), .lanes = lanes, .count = nacre_ceil_div(c->k, nacre_block_depth(f)), .slab = panel};
    at.form = c->k < nacre_block_depth(f) ? at.last : *f;
    return at;
}

static void codes_next(codes_slabs *at, const nacre_block_codes *c) {
    at->slab += nacre_block_slab(&at->form, at->lanes);
    at->first += nacre_block_depth(&at->form);
    at->s++;
    at->form = c->k - nacre_min(at->first, c->k) < nacre_block_depth(at->whole) ? at->last : *at->whole;
}

// Packs one row of codes of a slab, from byte `at` of the row on.
static void codes_lane(const nacre_block_form *f, const nacre_block_codes *c, size_t lanes, const uint8_t *row, size_t at, uint8_t *dst) {
    const size_t bits = f->low, end = nacre_min((c->k * bits + 7) / 8, c->row_bytes);
    for (size_t word = 0; word < f->units * bits; word++, at += 4) {
        uint32_t v = 0;
        if (at < end) memcpy(&v, row + at, nacre_min(end - at, sizeof v));
        v = codes_word(v, bits);
        memcpy(dst + word * lanes * sizeof v, &v, sizeof v);
    }
}

void nacre_block_pack_codes(const nacre_block_form *f, const nacre_block_codes *c, size_t lanes, const uint8_t *src, uint8_t *dst) {
    for (size_t j = 0; j < c->n; j += lanes, dst += nacre_block_panel(f, lanes, c->k)) {
        const size_t rows = nacre_min(lanes, c->n - j);
        for (codes_slabs at = codes_begin(f, c, lanes, dst); at.s < at.count; codes_next(&at, c)) {
            if (rows < lanes) memset(at.slab, 0, at.form.units * nacre_block_unit(f, lanes));
            for (size_t l = 0; l < rows; l++) {
                codes_lane(&at.form, c, lanes, src + (j + l) * c->row_bytes, at.first * f->low / 8, at.slab + 4 * l);
            }
        }
    }
}

// Writes an element of size bytes for each lane and group, from the given byte behind the codes of a
// slab on. bits are of an element in rows of src that begin at bytes.
static void codes_elements(const nacre_block_form *f, const nacre_block_codes *c, size_t lanes, size_t bits, size_t size, int zeros,
                           const uint8_t *src, uint8_t *dst) {
    const size_t row = (c->row_scales * bits + 7) / 8;
    for (size_t j = 0; j < c->n; j += lanes, dst += nacre_block_panel(f, lanes, c->k)) {
        const size_t rows = nacre_min(lanes, c->n - j);
        for (codes_slabs at = codes_begin(f, c, lanes, dst); at.s < at.count; codes_next(&at, c)) {
            const size_t groups = nacre_block_groups(&at.form);
            uint8_t *to = at.slab + at.form.units * nacre_block_unit(f, lanes);
            if (zeros) to += groups * lanes * nacre_float_size(f->floats);
            for (size_t g = 0; g < groups; g++, to += lanes * size) {
                const size_t i = nacre_min((at.first + g * at.form.group) / c->block, c->row_scales - 1);
                memset(to, 0, lanes * size);
                for (size_t l = 0; l < rows; l++) {
                    const uint8_t *const from = src + (j + l) * row + i * bits / 8;
                    if (bits < 8) {
                        to[l] = (uint8_t)(*from >> i * bits % 8 & ((1u << bits) - 1));
                    } else {
                        memcpy(to + l * size, from, size);
                    }
                }
            }
        }
    }
}

void nacre_block_pack_scales(const nacre_block_form *f, const nacre_block_codes *c, size_t lanes, const uint8_t *src, uint8_t *dst) {
    const size_t size = nacre_float_size(f->floats);
    codes_elements(f, c, lanes, 8 * size, size, 0, src, dst);
}

void nacre_block_pack_zeros(const nacre_block_form *f, const nacre_block_codes *c, size_t lanes, const uint8_t *src, uint8_t *dst) {
    const int codes = f->scales == NACRE_SCALES_CODES;
    const size_t size = codes ? 1 : nacre_float_size(f->floats);
    codes_elements(f, c, lanes, codes ? f->low : 8 * size, size, 1, src, dst);
}
