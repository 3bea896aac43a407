// Drivers of f32_quantize: grids of scales, broadcasting, threads.
#include "core/simd.h"
#include "quant/numbers.h"

enum {
    QUANT_CHUNK = 1 << 14,
    QUANT_BLOCK = 1 << 10  // elements converted at a time
};


// ---- grids ----

typedef struct {
    const nacre_f32_quantize_impl *impl;
    const nacre_half *half;  // for 16-bit floats
    nacre_quant_grid grid;
    nacre_quant_codes codes;  // of kernels; only the type if back is set
    int back;                 // dequantise
    nacre_dtype stored;  // of codes in memory
    nacre_dtype floats;  // of numbers in memory
    const void *x;
    const float *scale;
    const int32_t *zero;
    const float *table;  // numbers that the codes index, else NULL
    void *y;
} grid_job;

// Returns the type of codes that kernels take for codes that are stored in a type.
static nacre_dtype quant_kernel_type(nacre_dtype type) {
    if (nacre_dtype_bits(type) >= 8 || quant_is_looked_up(type)) return type;
    return quant_is_signed(type) ? NACRE_DTYPE_i8 : NACRE_DTYPE_u8;
}

// Returns the number of elements from element `at` on that have one scale, or consecutive scales,
// and sets *scale to the first scale and *step to the distance of the scales.
static size_t grid_stretch(const nacre_quant_grid *g, size_t at, size_t *scale, size_t *step) {
    const size_t i = at % g->inner, a = at / g->inner % g->axis, o = at / g->inner / g->axis;
    *scale = o * g->per_outer + a / g->block * g->per_axis + i * g->per_inner;
    *step = g->per_inner;
    if (g->per_inner != 0) return g->inner - i;
    if (g->inner == 1 && g->block == 1 && g->per_axis == 1) {
        *step = 1;
        return g->axis - a;
    }
    const size_t end = nacre_min((a / g->block + 1) * g->block, g->axis);
    return (end - a) * g->inner - i;
}

// Converts elements at..at+n-1, which begin at x and y, in types of kernels.
static void grid_run(const grid_job *j, size_t at, size_t n, const char *x, char *y) {
    const size_t size = nacre_dtype_bits(j->codes.type) / 8;
    for (size_t done = 0; done < n;) {
        size_t scale, step;
        const size_t some = nacre_min(grid_stretch(&j->grid, at + done, &scale, &step), n - done);
        if (j->back) {
            j->impl->dequantize(j->codes.type, x + done * size, j->scale + scale, j->zero + scale, step, some,
                                (float *)(void *)y + done);
        } else {
            j->impl->quantize(&j->codes, (const float *)(const void *)x + done, j->scale + scale, j->zero + scale, step,
                              some, y + done * size);
        }
        done += some;
    }
}

// Looks up the numbers of codes at..at+n-1, which begin at x and y.
static void grid_look_up(const grid_job *j, size_t at, size_t n, const uint8_t *x, float *y) {
    if (nacre_dtype_bits(j->stored) == 4) {
        for (size_t i = 0; i < n; i++) y[i] = j->table[x[i / 2] >> i % 2 * 4 & 15];
    } else {
        for (size_t i = 0; i < n; i++) y[i] = j->table[x[i]];
    }
    for (size_t done = 0; done < n;) {
        size_t scale, step;
        const size_t some = nacre_min(grid_stretch(&j->grid, at + done, &scale, &step), n - done);
        const float *const s = j->scale + scale;
        if (step == 0) {
            NACRE_SIMD for (size_t i = 0; i < some; i++) y[done + i] *= s[0];
        } else {
            NACRE_SIMD for (size_t i = 0; i < some; i++) y[done + i] *= s[i];
        }
        done += some;
    }
}

// Returns numbers in memory as float32: x itself, or a converted copy in buffer.
static const void *grid_widen(const grid_job *j, const char *x, size_t n, float *buffer) {
    if (j->floats == NACRE_DTYPE_f32) return x;
    if (j->floats == NACRE_DTYPE_i32) {
        NACRE_SIMD for (size_t i = 0; i < n; i++) buffer[i] = (float)((const int32_t *)(const void *)x)[i];
    } else {
        j->half->widen[j->floats](x, buffer, n);
    }
    return buffer;
}

// Stores codes of fewer than 8 bits.
static void grid_pack(nacre_dtype type, const int8_t *codes, size_t n, uint8_t *y) {
    const size_t bits = nacre_dtype_bits(type);
    memset(y, 0, nacre_ceil_div(n * bits, 8));
    for (size_t i = 0; i < n; i++) {
        const size_t at = i * bits / 8, shift = i * bits % 8;
        const unsigned code = (unsigned)codes[i] & ((1u << bits) - 1);
        y[at] |= (uint8_t)(code << shift);
        if (shift + bits > 8) y[at + 1] |= (uint8_t)(code >> (8 - shift));
    }
}

static void grid_unpack(nacre_dtype type, const uint8_t *x, size_t n, int8_t *codes) {
    const size_t bits = nacre_dtype_bits(type);
    const int is_signed = quant_is_signed(type);
    if (bits == 4) {
        for (size_t i = 0; i < n; i++) codes[i] = (int8_t)quant_narrow(x, i, 4, is_signed);
    } else {
        for (size_t i = 0; i < n; i++) codes[i] = (int8_t)quant_narrow(x, i, bits, is_signed);
    }
}

static void grid_block(const grid_job *j, size_t at, size_t n) {
    _Alignas(64) float floats[QUANT_BLOCK];
    int8_t codes[QUANT_BLOCK];
    const size_t code_bits = nacre_dtype_bits(j->stored), float_bits = nacre_dtype_bits(j->floats);
    const char *x = (const char *)j->x + at * (j->back ? code_bits : float_bits) / 8;
    char *const y = (char *)j->y + at * (j->back ? float_bits : code_bits) / 8;
    if (!j->back) {
        x = grid_widen(j, x, n, floats);
        grid_run(j, at, n, x, code_bits < 8 ? (char *)codes : y);
        if (code_bits < 8) grid_pack(j->stored, codes, n, (uint8_t *)y);
        return;
    }
    char *const to = j->floats == NACRE_DTYPE_f32 ? y : (char *)floats;
    if (j->table != NULL) {
        grid_look_up(j, at, n, (const uint8_t *)x, (float *)(void *)to);
    } else {
        if (code_bits < 8) {
            grid_unpack(j->stored, (const uint8_t *)x, n, codes);
            x = (const char *)codes;
        }
        grid_run(j, at, n, x, to);
    }
    if (j->floats != NACRE_DTYPE_f32) j->half->narrow[j->floats](floats, y, n);
}

static void grid_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const grid_job *const j = job;
    const size_t total = j->grid.outer * j->grid.axis * j->grid.inner;
    const size_t end = nacre_min(total, (chunk + 1) * QUANT_CHUNK);
    const size_t step = j->floats == NACRE_DTYPE_f32 && nacre_dtype_bits(j->stored) >= 8 ? QUANT_CHUNK : QUANT_BLOCK;
    for (size_t at = chunk * QUANT_CHUNK; at < end; at += step) grid_block(j, at, nacre_min(step, end - at));
}

static void grid_start(grid_job *j, nacre_team *team) {
    nacre_parallel(team, nacre_ceil_div(j->grid.outer * j->grid.axis * j->grid.inner, QUANT_CHUNK), grid_chunk, j);
}

// ---- dynamic ----

typedef struct {
    const nacre_f32_quantize_impl *impl;
    const float *x;
    size_t n;
    float *ranges;  // least and greatest number of each thread
} range_job;

static void range_chunk(void *job, size_t chunk, size_t thread) {
    const range_job *const j = job;
    const size_t at = chunk * QUANT_CHUNK;
    j->impl->range(j->x + at, nacre_min(QUANT_CHUNK, j->n - at), &j->ranges[2 * thread], &j->ranges[2 * thread + 1]);
}

void nacre_quantize_dynamic(const nacre_f32_quantize_impl *impl, nacre_team *team, size_t n, const float *x, uint8_t *y,
                            float *scale, uint8_t *zero, float *scratch) {
    const size_t threads = nacre_team_threads(team);
    for (size_t t = 0; t < 2 * threads; t++) scratch[t] = 0;
    range_job j = {impl, x, n, scratch};
    nacre_parallel(team, nacre_ceil_div(n, QUANT_CHUNK), range_chunk, &j);
    float low = 0, high = 0;
    for (size_t t = 0; t < threads; t++) {
        if (scratch[2 * t] < low) low = scratch[2 * t];
        if (scratch[2 * t + 1] > high) high = scratch[2 * t + 1];
    }
    *scale = (high == low ? 1.0f : high - low) / 255.0f;
    const float offset = -low / *scale;
    *zero = (uint8_t)(offset > 0 ? offset < 255 ? rintf(offset) : 255 : 0);
    const int32_t z = *zero;
    grid_job g = {
        .impl = impl, .grid = {1, n, 1, n == 0 ? 1 : n, 0, 0, 0}, .codes = {NACRE_DTYPE_u8, 0, 255, NACRE_DTYPE_f32},
        .stored = NACRE_DTYPE_u8, .floats = NACRE_DTYPE_f32, .x = x, .scale = scale, .zero = &z, .y = y,
    };
    if (y != NULL) grid_start(&g, team);
}

// ---- pairs ----

typedef struct {
    const nacre_f32_quantize_impl *impl;
    const nacre_quant_pair *p;
    size_t rank, run, per_chunk, lines;
    const size_t *axes;
    const uint8_t *a, *b;
    uint8_t *c;
} pairs_job;

// Computes lines along the innermost axis. A chunk is some lines, or a part of one.
static void pairs_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const pairs_job *const j = job;
    const size_t outer = j->rank - 1, *const a_step = j->axes + j->rank, *const b_step = a_step + j->rank;
    const size_t end = nacre_min(j->lines * j->run, (chunk + 1) * j->per_chunk);
    for (size_t at = chunk * j->per_chunk; at < end;) {
        const size_t in = at % j->run, n = nacre_min(j->run - in, end - at);
        size_t a = in * a_step[outer], b = in * b_step[outer], index = at / j->run;
        for (size_t d = outer; d-- > 0;) {
            a += index % j->axes[d] * a_step[d];
            b += index % j->axes[d] * b_step[d];
            index /= j->axes[d];
        }
        j->impl->pair(j->p, j->a + a, a_step[outer], j->b + b, b_step[outer], n, j->c + at);
        at += n;
    }
}

void nacre_quant_pairs(const nacre_f32_quantize_impl *impl, nacre_team *team, const nacre_quant_pair *p, size_t rank,
                       const size_t *axes, const uint8_t *a, const uint8_t *b, uint8_t *c) {
    pairs_job j = {impl, p, rank, axes[rank - 1], QUANT_CHUNK, 1, axes, a, b, c};
    for (size_t d = 0; d + 1 < rank; d++) j.lines *= axes[d];
    nacre_parallel(team, nacre_ceil_div(j.lines * j.run, QUANT_CHUNK), pairs_chunk, &j);
}

// ---- commands ----

static const nacre_f32_quantize_impl *quantize_impl(const nacre_call *c) {
    return ((nacre_f32_quantize_fn *)c->kernel->fn)();
}

// quantize_scale_bytes returns the scratch for scales that kernels cannot take as given. Converted
// scales come first, zero points follow.
static size_t quantize_scale_bytes(const nacre_quantize_words *w) {
    return w->scale == NACRE_DTYPE_f32 && w->precision == NACRE_DTYPE_f32 ? 0
        : nacre_align_bytes((size_t)w->scales * sizeof(float));
}

static size_t quantize_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    (void)threads;
    const nacre_quantize_words *const w = (const void *)words;
    return quantize_scale_bytes(w) + nacre_align_bytes((size_t)w->scales * sizeof(int32_t));
}

static float quantize_rounded(int64_t precision, float x) {
    switch (precision) {
        case NACRE_DTYPE_f16: return nacre_f16_to_f32(nacre_f32_to_f16(x));
        case NACRE_DTYPE_bf16: return nacre_bf16_to_f32(nacre_f32_to_bf16(x));
        default: return x;
    }
}

static const float *quantize_scales(const nacre_call *c) {
    const nacre_quantize_words *const w = (const void *)c->words;
    const void *const given = nacre_operand(c, 1);
    if (quantize_scale_bytes(w) == 0) return given;
    float *const list = c->scratch;
    for (size_t i = 0; i < (size_t)w->scales; i++) {
        list[i] = quantize_rounded(w->precision, quant_float((nacre_dtype)w->scale, given, i));
    }
    return list;
}

static const int32_t *quantize_zeros(const nacre_call *c) {
    const nacre_quantize_words *const w = (const void *)c->words;
    const void *const given = nacre_operand(c, 2);
    if (given != NULL && w->zero == NACRE_DTYPE_i32) return given;
    int32_t *const list = (int32_t *)(void *)((char *)c->scratch + quantize_scale_bytes(w));
    for (size_t i = 0; i < (size_t)w->scales; i++) {
        list[i] = given == NULL ? 0 : quant_integer((nacre_dtype)w->zero, given, i);
    }
    return list;
}

// Returns the least code that numbers are rounded to. Nothing is rounded to 32 bits.
static int32_t quant_low(nacre_dtype type) {
    const size_t bits = nacre_dtype_bits(type);
    return quant_is_signed(type) && bits < 32 ? -(1 << (bits - 1)) : 0;
}

static void quantize_command(const nacre_call *c, int back) {
    const nacre_quantize_words *const w = (const void *)c->words;
    const nacre_dtype stored = (nacre_dtype)(back ? w->x : w->y);
    const int looked_up = quant_is_looked_up(stored);
    grid_job j = {
        .impl = quantize_impl(c),
        .grid = {(size_t)w->outer, (size_t)w->axis, (size_t)w->inner, (size_t)w->block, (size_t)w->per_outer,
                 (size_t)w->per_axis, (size_t)w->per_inner},
        .codes = {.type = quant_kernel_type(stored), .low = quant_low(stored), .precision = (nacre_dtype)w->precision},
        .back = back,
        .stored = stored,
        .floats = (nacre_dtype)(back ? w->y : w->x),
        .x = nacre_operand(c, 0),
        .scale = quantize_scales(c),
        .zero = looked_up ? NULL : quantize_zeros(c),
        .table = looked_up ? nacre_operand(c, 2) : NULL,
        .y = nacre_operand(c, 3),
    };
    if (!back) j.codes.high = (int32_t)((1u << nacre_dtype_bits(stored)) - 1) + j.codes.low;
    if (w->half != 0) j.half = ((nacre_half_fn *)nacre_part_fn(w->half))();
    grid_start(&j, c->team);
}

static void quantize_to_codes(const nacre_call *c) { quantize_command(c, 0); }
static void quantize_from_codes(const nacre_call *c) { quantize_command(c, 1); }

static size_t quantize_dynamic_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    (void)k;
    (void)words;
    return 2 * threads * sizeof(float);
}

static void quantize_dynamic_command(const nacre_call *c) {
    const nacre_quantize_dynamic_words *const w = (const void *)c->words;
    float scale;
    uint8_t zero;
    nacre_quantize_dynamic(quantize_impl(c), c->team, (size_t)w->n, nacre_operand(c, 0), nacre_operand(c, 1), &scale,
                           &zero, c->scratch);
    float *const to_scale = nacre_operand(c, 2);
    uint8_t *const to_zero = nacre_operand(c, 3);
    if (to_scale != NULL) *to_scale = scale;
    if (to_zero != NULL) *to_zero = zero;
}

// Extents and strides of axes. Axes of extent 1 are left out. Neighbouring axes are merged if both
// operands step alike along them.
typedef struct {
    size_t rank;
    size_t extent[NACRE_QUANT_AXES], step[2][NACRE_QUANT_AXES];  // innermost first
} pair_axes;

static void pair_add_axis(pair_axes *p, size_t extent, const size_t *step) {
    const size_t last = p->rank - 1;
    if (p->rank > 0 && step[0] == p->step[0][last] * p->extent[last] && step[1] == p->step[1][last] * p->extent[last]) {
        p->extent[last] *= extent;
        return;
    }
    if (p->rank == NACRE_QUANT_AXES) return;
    p->extent[p->rank] = extent;
    p->step[0][p->rank] = step[0];
    p->step[1][p->rank++] = step[1];
}

static void pair_command(const nacre_call *c) {
    const nacre_i8_pair_words *const w = (const void *)c->words;
    const size_t rank = (size_t)w->rank;
    pair_axes p = {.rank = 0};
    size_t run[2] = {1, 1};
    for (size_t d = rank; d-- > 0;) {
        const size_t extent = (size_t)w->dims[d];
        if (extent == 0) return;
        size_t step[2];
        for (size_t k = 0; k < 2; k++) {
            const size_t own = (size_t)w->dims[(k + 1) * rank + d];
            step[k] = own == 1 ? 0 : run[k];
            run[k] *= own;
        }
        if (extent != 1) pair_add_axis(&p, extent, step);
    }
    if (p.rank == 0) pair_add_axis(&p, 1, (const size_t[]){0, 0});
    size_t axes[3 * NACRE_QUANT_AXES];
    for (size_t d = 0; d < p.rank; d++) {
        axes[d] = p.extent[p.rank - 1 - d];
        for (size_t k = 0; k < 2; k++) axes[(k + 1) * p.rank + d] = p.step[k][p.rank - 1 - d];
    }
    const nacre_dtype code = w->is_signed ? NACRE_DTYPE_i8 : NACRE_DTYPE_u8;
    const quant_tensor a = quant_tensor_of(c, 1, w->a_scale, code), b = quant_tensor_of(c, 4, w->b_scale, code);
    const quant_tensor y = quant_tensor_of(c, 6, w->c_scale, code);
    nacre_quant_pair pair = {.is_signed = (int)w->is_signed, .product = (int)w->product, .a_zero = a.zero,
                             .b_zero = b.zero, .c_zero = y.zero};
    pair.a_ratio = w->product ? a.scale * b.scale / y.scale : a.scale / y.scale;
    pair.b_ratio = w->product ? 0 : b.scale / y.scale;
    nacre_quant_pairs(quantize_impl(c), c->team, &pair, p.rank, axes, nacre_operand(c, 0), nacre_operand(c, 3),
                      nacre_operand(c, 8));
}

const nacre_entry nacre_quantize_entry = {
    .words = sizeof(nacre_quantize_words) / 8, .operands = 4, .run = quantize_to_codes, .scratch = quantize_scratch};
const nacre_entry nacre_dequantize_entry = {
    .words = sizeof(nacre_quantize_words) / 8, .operands = 4, .run = quantize_from_codes, .scratch = quantize_scratch};
const nacre_entry nacre_quantize_dynamic_entry = {
    .words = sizeof(nacre_quantize_dynamic_words) / 8, .operands = 4, .run = quantize_dynamic_command,
    .scratch = quantize_dynamic_scratch};
const nacre_entry nacre_i8_pair_entry = {.words = sizeof(nacre_i8_pair_words) / 8, .operands = 9, .run = pair_command};
