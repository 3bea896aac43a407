// The oracles of products with panels.
#include <math.h>

#include "blocks/panels.h"
#include "core/simd.h"

enum { SCALAR_LANES = 4, SCALAR_MOST = 4 };

// Returns a * b + c, rounded as the fma of this processor's vectors.
static inline float panels_fma(float a, float b, float c) {
#if NACRE_WASM
    return a * b + c;
#else
    return fmaf(a, b, c);
#endif
}

// Returns bits of code i of a unit from the words of one of its parts.
static unsigned panels_bits_scalar(const uint8_t *part, size_t bits, size_t lane, size_t i) {
    const size_t step = i / 4, per = 8 / bits;
    return part[(step / per * SCALAR_LANES + lane) * 4 + i % 4] >> step % per * bits & ((1u << bits) - 1);
}

// Returns the byte of a code, which is its number plus the middle of the form.
static uint8_t panels_code_scalar(const nacre_block_form *f, const uint8_t *unit, size_t lane, size_t i) {
    unsigned code = panels_bits_scalar(unit, f->low, lane, i);
    if (f->high != 0) code |= panels_bits_scalar(unit + SCALAR_LANES * 4 * f->low, f->high, lane, i) << f->low;
    return f->table != NULL ? f->table[code] : (uint8_t)code;
}

static float panels_half_scalar(const uint8_t *halves, size_t i, size_t lane) {
    uint16_t v;
    memcpy(&v, halves + (i * SCALAR_LANES + lane) * 2, sizeof v);
    return nacre_f16_to_f32(v);
}

// Returns number i of a lane in floats of a type.
static float panels_float_scalar(const uint8_t *floats, nacre_dtype type, size_t i, size_t lane) {
    const uint8_t *const p = floats + (i * SCALAR_LANES + lane) * nacre_float_size(type);
    float v;
    uint16_t half;
    memcpy(&half, p, sizeof half);
    switch (type) {
    case NACRE_DTYPE_f16: return nacre_f16_to_f32(half);
    case NACRE_DTYPE_bf16: return nacre_bf16_to_f32(half);
    default: memcpy(&v, p, sizeof v); return v;
    }
}

// Sets the scale of a group of codes, and its zero point less the middle.
static void panels_codes_scalar(const nacre_block_form *f, const uint8_t *tail, size_t lane, size_t g, float *scale, float *zero) {
    const size_t groups = nacre_block_groups(f);
    const uint8_t *const zeros = tail + groups * SCALAR_LANES * nacre_float_size(f->floats);
    *scale = panels_float_scalar(tail, f->floats, g, lane);
    if (f->scales == NACRE_SCALES_CODES) *zero = (float)zeros[g * SCALAR_LANES + lane] - f->middle;
    if (f->scales == NACRE_SCALES_POINTS) *zero = panels_float_scalar(zeros, f->floats, g, lane) - f->middle;
}

static void panels_scales_scalar(const nacre_block_form *f, const uint8_t *halves, size_t lane, size_t g, float *scale, float *add) {
    const size_t groups = nacre_block_groups(f);
    const uint8_t *const bytes = halves + 2 * SCALAR_LANES * nacre_block_halves(f) + lane;
    const uint8_t b = nacre_block_bytes(f) == 0 ? 0 : bytes[g * SCALAR_LANES];
    switch (f->scales) {
    case NACRE_SCALES_HALF: *scale = panels_half_scalar(halves, 0, lane); break;
    case NACRE_SCALES_LEAST:
        *scale = panels_half_scalar(halves, 0, lane);
        *add = panels_half_scalar(halves, 1, lane);
        break;
    case NACRE_SCALES_BFLOAT: {
        uint16_t v;
        memcpy(&v, halves + lane * 2, sizeof v);
        *scale = nacre_bf16_to_f32(v);
        break;
    }
    case NACRE_SCALES_SIGNED: *scale = panels_half_scalar(halves, 0, lane) * (float)(int8_t)b; break;
    case NACRE_SCALES_EIGHTHS: *scale = panels_half_scalar(halves, 0, lane) * (float)b / 8; break;
    case NACRE_SCALES_PAIRS:
        *scale = panels_half_scalar(halves, 0, lane) * (float)b;
        *add = -(panels_half_scalar(halves, 1, lane) * (float)bytes[(groups + g) * SCALAR_LANES]);
        break;
    case NACRE_SCALES_NIBBLES:
        *scale = panels_half_scalar(halves, 0, lane) * (float)(b & 15);
        *add = -(panels_half_scalar(halves, 1, lane) * (float)(b >> 4));
        break;
    case NACRE_SCALES_FLOATS:
    case NACRE_SCALES_CODES:
    case NACRE_SCALES_POINTS: panels_codes_scalar(f, halves, lane, g, scale, add); break;
    case NACRE_SCALES_E4M3: *scale = ldexpf(b < 8 ? (float)b : (float)(8 + b % 8), (b < 8 ? 1 : b / 8) - 11); break;
    }
}

static void panels_expand_scalar(const nacre_block_form *f, const uint8_t *slab, size_t count, nacre_block_slabs *s) {
    const size_t depth = nacre_block_depth(f), groups = nacre_block_groups(f), unit = nacre_block_unit(f, SCALAR_LANES);
    for (size_t c = 0; c < count; c++, slab += nacre_block_slab(f, SCALAR_LANES)) {
        for (size_t lane = 0; lane < SCALAR_LANES; lane++) {
            for (size_t i = 0; i < depth; i++) {
                const uint8_t *const at = slab + i / NACRE_BLOCKS_UNIT * unit;
                s->codes[((c * depth + i) / 4 * SCALAR_LANES + lane) * 4 + i % 4] = panels_code_scalar(f, at, lane, i % NACRE_BLOCKS_UNIT);
            }
            for (size_t g = 0; g < groups; g++) {
                const size_t to = (c * groups + g) * SCALAR_LANES + lane;
                panels_scales_scalar(f, slab + f->units * unit, lane, g, &s->scales[to], &s->adds[to]);
            }
        }
    }
}

// Returns the number of code p of a lane.
static int panels_number_scalar(const nacre_block_form *f, const nacre_block_slabs *s, size_t lane, size_t p) {
    return s->codes[(p / 4 * SCALAR_LANES + lane) * 4 + p % 4] - f->middle;
}

static float panels_element_scalar(const nacre_block_form *f, const nacre_block_slabs *s, size_t lane, size_t p) {
    const size_t at = p / f->group * SCALAR_LANES + lane;
    const float number = (float)panels_number_scalar(f, s, lane, p), v = (nacre_block_zeros(f) ? number - s->adds[at] : number) * s->scales[at];
    return nacre_block_adds(f) ? v + s->adds[at] : v;
}

// ---- floats ----

static void f32_panels_arrange_scalar(const nacre_block_form *f, size_t rows, size_t k, size_t apart, const float *a, uint8_t *to) {
    float *x = (float *)(void *)to;
    const size_t deep = nacre_round_up(nacre_round_up(k, NACRE_BLOCKS_UNIT), f->group);
    for (size_t p = 0; p < deep; p++) {
        for (size_t r = 0; r < rows; r++) *x++ = p < k ? a[r * apart + p] : 0;
        for (size_t r = 0; r < rows && (p + 1) % f->group == 0; r++) *x++ = 0;  // sums are not used here
    }
}

static void f32_panels_dot_scalar(const nacre_block_form *f, const nacre_block_slabs *s, size_t groups, size_t rows, const uint8_t *from,
                                  float *y) {
    const float *const x = (const float *)(const void *)from;
    for (size_t r = 0; r < rows; r++) {
        for (size_t lane = 0; lane < SCALAR_LANES; lane++) {
            double sum = y[r * SCALAR_LANES + lane];
            for (size_t p = 0; p < groups * f->group; p++) {
                sum += (double)x[(p + p / f->group) * rows + r] * panels_element_scalar(f, s, lane, p);
            }
            y[r * SCALAR_LANES + lane] = (float)sum;
        }
    }
}

static void f32_panels_decode_scalar(const nacre_block_form *f, const nacre_block_slabs *s, size_t first, size_t k, size_t width,
                                     float *dst) {
    for (size_t p = 0; p < k; p++) {
        for (size_t lane = 0; lane < SCALAR_LANES; lane++) dst[p * width + lane] = panels_element_scalar(f, s, lane, first + p);
    }
}

const nacre_block_panels_impl *nacre_f32_block_panels__scalar(void) {
    static const nacre_block_panels_impl impl = {
        .lanes = SCALAR_LANES, .most = SCALAR_MOST, .row_bytes = sizeof(float), .row_tail = sizeof(float), .arrange = f32_panels_arrange_scalar,
        .expand = panels_expand_scalar, .dot = f32_panels_dot_scalar, .decode = f32_panels_decode_scalar};
    return &impl;
}

// ---- rounded rows ----

#define ROUND(name) i8_panels_##name##_scalar
#include "core/round8.inc"

static void i8_panels_arrange_scalar(const nacre_block_form *f, size_t rows, size_t k, size_t apart, const float *a, uint8_t *x) {
    const size_t size = nacre_block_rounded(f);
    for (size_t p = 0; p < nacre_round_up(k, NACRE_BLOCKS_UNIT); p += f->group, x += (f->group + 12) * rows) {
        for (size_t r = 0; r < rows; r++) {
            const size_t block = p / size * size, have = nacre_min(size, nacre_max(k, block) - block);
            int8_t q[NACRE_BLOCKS_DEPTH] = {0};
            float by;
            const float scale = i8_panels_scale_of_scalar(a + r * apart + block, have, &by);
            if (by != 0) i8_panels_round_slab_scalar(a + r * apart + block, have, by, q);
            int32_t sum = 0;
            for (size_t i = 0; i < f->group; i++) {
                x[(i / 4 * rows + r) * 4 + i % 4] = (uint8_t)q[p - block + i];
                sum += q[p - block + i];
            }
            const int32_t start = -sum * f->middle;
            const float total = (float)sum * scale;
            uint8_t *const tail = x + f->group * rows + 4 * r;
            memcpy(tail, &start, sizeof start);
            memcpy(tail + 4 * rows, &scale, sizeof scale);
            memcpy(tail + 8 * rows, &total, sizeof total);
        }
    }
}

static void i8_panels_dot_scalar(const nacre_block_form *f, const nacre_block_slabs *s, size_t groups, size_t rows, const uint8_t *x,
                                 float *y) {
    for (size_t g = 0; g < groups; g++, x += (f->group + 12) * rows) {
        for (size_t r = 0; r < rows; r++) {
            float scale, total;
            memcpy(&scale, x + (f->group + 4) * rows + 4 * r, sizeof scale);
            memcpy(&total, x + (f->group + 8) * rows + 4 * r, sizeof total);
            for (size_t lane = 0; lane < SCALAR_LANES; lane++) {
                const size_t at = g * SCALAR_LANES + lane;
                int32_t dot = 0;
                for (size_t i = 0; i < f->group; i++) {
                    dot += panels_number_scalar(f, s, lane, g * f->group + i) * (int8_t)x[(i / 4 * rows + r) * 4 + i % 4];
                }
                float *const to = &y[r * SCALAR_LANES + lane];
                *to = panels_fma((float)dot, s->scales[at] * scale, *to);
                if (nacre_block_adds(f)) *to = panels_fma(s->adds[at], total, *to);
                if (nacre_block_zeros(f)) *to = panels_fma(-(s->adds[at] * s->scales[at]), total, *to);
            }
        }
    }
}

const nacre_block_panels_impl *nacre_i8_block_panels__scalar(void) {
    static const nacre_block_panels_impl impl = {
        .lanes = SCALAR_LANES, .most = SCALAR_MOST, .row_bytes = 1, .row_tail = 12, .arrange = i8_panels_arrange_scalar,
        .expand = panels_expand_scalar, .dot = i8_panels_dot_scalar};
    return &impl;
}
