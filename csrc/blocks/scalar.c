// The oracles: blocks unpacked element by element, as package packed says.
#include "blocks/unpack.h"

#define UNPACK(name) static void unpack_##name(const uint8_t *b, size_t count, const int8_t *book, float *y)

// ---- blocks of 32 ----

UNPACK(q4_0) {
    (void)book;
    for (; count > 0; count--, b += 18, y += 32) {
        const float d = block_half(b);
        for (size_t i = 0; i < 16; i++) {
            y[i] = d * (float)((b[2 + i] & 15) - 8);
            y[i + 16] = d * (float)((b[2 + i] >> 4) - 8);
        }
    }
}

UNPACK(q4_1) {
    (void)book;
    for (; count > 0; count--, b += 20, y += 32) {
        const float d = block_half(b), m = block_half(b + 2);
        for (size_t i = 0; i < 16; i++) {
            y[i] = d * (float)(b[4 + i] & 15) + m;
            y[i + 16] = d * (float)(b[4 + i] >> 4) + m;
        }
    }
}

// Returns the code of element i of 32 in 4 bytes of fifth bits and 16 bytes.
static int block_five(const uint8_t *b, size_t i) {
    const int low = i < 16 ? b[4 + i] & 15 : b[4 + i - 16] >> 4;
    return low | (b[i / 8] >> i % 8 & 1) << 4;
}

UNPACK(q5_0) {
    (void)book;
    for (; count > 0; count--, b += 22, y += 32) {
        const float d = block_half(b);
        for (size_t i = 0; i < 32; i++) y[i] = d * (float)(block_five(b + 2, i) - 16);
    }
}

UNPACK(q5_1) {
    (void)book;
    for (; count > 0; count--, b += 24, y += 32) {
        const float d = block_half(b), m = block_half(b + 2);
        for (size_t i = 0; i < 32; i++) y[i] = d * (float)block_five(b + 4, i) + m;
    }
}

UNPACK(q8_0) {
    (void)book;
    for (; count > 0; count--, b += 34, y += 32) {
        const float d = block_half(b);
        for (size_t i = 0; i < 32; i++) y[i] = d * (float)(int8_t)b[2 + i];
    }
}

// ---- K types ----

UNPACK(q2_k) {
    (void)book;
    for (; count > 0; count--, b += 84, y += 256) {
        const float d = block_half(b + 80), least = block_half(b + 82);
        for (size_t i = 0; i < 256; i++) {
            const int s = b[i / 16], q = b[16 + i / 128 * 32 + i % 32] >> i / 32 % 4 * 2 & 3;
            y[i] = d * (float)(s & 15) * (float)q - least * (float)(s >> 4);
        }
    }
}

UNPACK(q3_k) {
    (void)book;
    for (; count > 0; count--, b += 110, y += 256) {
        const float d = block_half(b + 108);
        for (size_t i = 0; i < 256; i++) {
            const int q = b[32 + i / 128 * 32 + i % 32] >> i / 32 % 4 * 2 & 3, third = b[i % 32] >> i / 32 & 1;
            y[i] = d * (float)block_scale3(b + 96, i / 16) * (float)((q | third << 2) - 4);
        }
    }
}

UNPACK(q4_k) {
    (void)book;
    for (; count > 0; count--, b += 144, y += 256) {
        const float d = block_half(b), least = block_half(b + 2);
        for (size_t i = 0; i < 256; i++) {
            const size_t j = i / 32;
            const int q = b[16 + j / 2 * 32 + i % 32] >> j % 2 * 4 & 15;
            y[i] = d * (float)block_scale_k(b + 4, j) * (float)q - least * (float)block_least_k(b + 4, j);
        }
    }
}

UNPACK(q5_k) {
    (void)book;
    for (; count > 0; count--, b += 176, y += 256) {
        const float d = block_half(b), least = block_half(b + 2);
        for (size_t i = 0; i < 256; i++) {
            const size_t j = i / 32;
            const int q = (b[48 + j / 2 * 32 + i % 32] >> j % 2 * 4 & 15) | (b[16 + i % 32] >> j & 1) << 4;
            y[i] = d * (float)block_scale_k(b + 4, j) * (float)q - least * (float)block_least_k(b + 4, j);
        }
    }
}

UNPACK(q6_k) {
    (void)book;
    for (; count > 0; count--, b += 210, y += 256) {
        const float d = block_half(b + 208);
        for (size_t i = 0; i < 256; i++) {
            const size_t h = i / 128, k = i % 128 / 32, l = i % 32;
            const int q = (b[64 * h + k % 2 * 32 + l] >> k / 2 * 4 & 15) | (b[128 + 32 * h + l] >> 2 * k & 3) << 4;
            y[i] = d * (float)(int8_t)b[192 + i / 16] * (float)(q - 32);
        }
    }
}

// ---- codes of 4 bits that stand for numbers ----

static void block_values(const uint8_t *q, size_t n, const int8_t *values, float d, float *y) {
    for (size_t i = 0; i < n; i++) {
        y[i] = d * (float)values[q[i] & 15];
        y[i + n] = d * (float)values[q[i] >> 4];
    }
}

UNPACK(iq4_nl) {
    (void)book;
    for (; count > 0; count--, b += 18, y += 32) block_values(b + 2, 16, block_values_nl, block_half(b), y);
}

UNPACK(iq4_xs) {
    (void)book;
    for (; count > 0; count--, b += 136, y += 256) {
        const float d = block_half(b);
        for (size_t j = 0; j < 8; j++) {
            block_values(b + 8 + 16 * j, 16, block_values_nl, d * (float)block_scale_xs(b, j), y + 32 * j);
        }
    }
}

UNPACK(mxfp4) {
    (void)book;
    for (; count > 0; count--, b += 17, y += 32) block_values(b + 1, 16, block_values_fp4, block_half_e8m0(b[0]), y);
}

UNPACK(nvfp4) {
    (void)book;
    for (; count > 0; count--, b += 36, y += 64) {
        for (size_t g = 0; g < 4; g++) block_values(b + 4 + 8 * g, 8, block_values_fp4, block_half_e4m3(b[g]), y + 16 * g);
    }
}

// ---- two, three and four values ----

UNPACK(tq1_0) {
    (void)book;
    static const uint8_t powers[5] = {1, 3, 9, 27, 81};
    for (; count > 0; count--, b += 54, y += 256) {
        const float d = block_half(b + 52);
        for (size_t i = 0; i < 256; i++) {
            const size_t at = i < 160 ? i % 32 : i < 240 ? 32 + (i - 160) % 16 : 48 + (i - 240) % 4;
            const size_t digit = i < 160 ? i / 32 : i < 240 ? (i - 160) / 16 : (i - 240) / 4;
            y[i] = d * (float)(((uint8_t)(b[at] * powers[digit]) * 3 >> 8) - 1);
        }
    }
}

UNPACK(tq2_0) {
    (void)book;
    for (; count > 0; count--, b += 66, y += 256) {
        const float d = block_half(b + 64);
        for (size_t i = 0; i < 256; i++) y[i] = d * (float)((b[i / 128 * 32 + i % 32] >> i / 32 % 4 * 2 & 3) - 1);
    }
}

UNPACK(q1_0) {
    (void)book;
    for (; count > 0; count--, b += 18, y += 128) {
        const float d = block_half(b);
        for (size_t i = 0; i < 128; i++) y[i] = d * (b[2 + i / 8] >> i % 8 & 1 ? 1.0f : -1.0f);
    }
}

UNPACK(q2_0) {
    (void)book;
    for (; count > 0; count--, b += 18, y += 64) {
        const float d = block_half(b);
        for (size_t i = 0; i < 64; i++) y[i] = d * (float)((b[2 + i / 4] >> i % 4 * 2 & 3) - 1);
    }
}

// ---- code books ----

// Writes n numbers of a vector with their signs, scaled.
static void block_vector(const int8_t *vector, unsigned signs, size_t n, float scale, float *y) {
    for (size_t i = 0; i < n; i++) y[i] = scale * (float)(signs >> i & 1 ? -vector[i] : vector[i]);
}

UNPACK(iq2_xxs) {
    for (; count > 0; count--, b += 66, y += 256) {
        const float d = block_half(b);
        for (size_t g = 0; g < 8; g++) {
            const uint8_t *const at = b + 2 + 8 * g;
            const uint32_t w = block_u32(at + 4);
            const float scale = d * (0.5f + (float)(w >> 28)) * 0.25f;
            for (size_t k = 0; k < 4; k++) block_vector(book + 8 * at[k], block_signs(w >> 7 * k), 8, scale, y + 32 * g + 8 * k);
        }
    }
}

UNPACK(iq2_xs) {
    for (; count > 0; count--, b += 74, y += 256) {
        const float d = block_half(b);
        for (size_t k = 0; k < 32; k++) {
            const uint32_t w = block_u16(b + 2 + 2 * k);
            const float scale = d * (0.5f + (float)(b[66 + k / 4] >> k / 2 % 2 * 4 & 15)) * 0.25f;
            block_vector(book + 8 * (w & 511), block_signs(w >> 9), 8, scale, y + 8 * k);
        }
    }
}

UNPACK(iq2_s) {
    for (; count > 0; count--, b += 82, y += 256) {
        const float d = block_half(b);
        for (size_t k = 0; k < 32; k++) {
            const size_t row = b[2 + k] | (size_t)(b[66 + k / 4] >> k % 4 * 2 & 3) << 8;
            const float scale = d * (0.5f + (float)(b[74 + k / 4] >> k / 2 % 2 * 4 & 15)) * 0.25f;
            block_vector(book + 8 * row, b[34 + k], 8, scale, y + 8 * k);
        }
    }
}

UNPACK(iq3_xxs) {
    for (; count > 0; count--, b += 98, y += 256) {
        const float d = block_half(b);
        for (size_t k = 0; k < 64; k++) {
            const uint32_t w = block_u32(b + 66 + k / 8 * 4);
            const float scale = d * (0.5f + (float)(w >> 28)) * 0.5f;
            block_vector(book + 8 * b[2 + k], block_signs(w >> k / 2 % 4 * 7) >> k % 2 * 4, 4, scale, y + 4 * k);
        }
    }
}

UNPACK(iq3_s) {
    for (; count > 0; count--, b += 110, y += 256) {
        const float d = block_half(b);
        for (size_t k = 0; k < 64; k++) {
            const size_t row = b[2 + k] | (size_t)(b[66 + k / 8] >> k % 8 & 1) << 8;
            const float scale = d * (float)(1 + 2 * (b[106 + k / 16] >> k / 8 % 2 * 4 & 15));
            block_vector(book + 8 * row, (unsigned)b[74 + k / 2] >> k % 2 * 4, 4, scale, y + 4 * k);
        }
    }
}

// Writes a vector plus an eighth, or minus one, scaled.
static void block_shifted(const int8_t *vector, int minus, float scale, float *y) {
    for (size_t i = 0; i < 8; i++) y[i] = scale * ((float)vector[i] + (minus ? -0.125f : 0.125f));
}

UNPACK(iq1_s) {
    for (; count > 0; count--, b += 50, y += 256) {
        const float d = block_half(b);
        for (size_t k = 0; k < 32; k++) {
            const uint32_t w = block_u16(b + 34 + k / 4 * 2);
            const size_t row = b[2 + k] | (size_t)(w >> k % 4 * 3 & 7) << 8;
            block_shifted(book + 8 * row, w >> 15 != 0, d * (float)(2 * (w >> 12 & 7) + 1), y + 8 * k);
        }
    }
}

UNPACK(iq1_m) {
    for (; count > 0; count--, b += 56, y += 256) {
        const float d = nacre_f16_to_f32((uint16_t)(b[49] >> 4 | b[51] >> 4 << 4 | b[53] >> 4 << 8 | b[55] >> 4 << 12));
        for (size_t k = 0; k < 32; k++) {
            const unsigned high = b[32 + k / 2] >> k % 2 * 4 & 15, s = block_u16(b + 48 + k / 8 * 2) >> k / 2 % 4 * 3 & 7;
            block_shifted(book + 8 * (b[k] | (size_t)(high & 7) << 8), (high & 8) != 0, d * (float)(2 * s + 1), y + 8 * k);
        }
    }
}

nacre_unpack_fn *const nacre_unpack_scalar[NACRE_BLOCK_TYPES] = {
#define NACRE_BLOCK_TYPE(name, elements, bytes) unpack_##name,
#include "blocks/types.inc"
#undef NACRE_BLOCK_TYPE
};

static void f32_blocks_dot_scalar(const nacre_blocks *w, const float *x, size_t m, size_t j0, size_t n, float *y, size_t ldy) {
    float piece[NACRE_BLOCKS_ELEMENTS];
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t p = 0; p < w->k; p++) {
                if (p % w->elements == 0) w->unpack(w->data + (j0 + j) * w->row_bytes + p / w->elements * w->bytes, 1, w->book, piece);
                sum += (double)x[i * w->k + p] * piece[p % w->elements];
            }
            y[i * ldy + j] = (float)sum;
        }
    }
}

const nacre_f32_blocks_impl *nacre_f32_blocks__scalar(void) {
    static const nacre_f32_blocks_impl impl = {nacre_unpack_scalar, f32_blocks_dot_scalar};
    return &impl;
}
