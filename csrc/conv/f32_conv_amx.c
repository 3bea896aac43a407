// Convolutions of blocked values on tiles of bfloat16 parts (core/f32_parts.h).
//
// The value under a band of the result is split into parts, with zeros around it; a step of the
// sums has two blocks of channels. Columns and rows are ordered by their remainder modulo the
// stride, so that consecutive pixels of the result meet consecutive lines for any stride. A band is
// thus one run of pixels. Between two rows of the result the run has pixels with sums that are not
// used. Weights are split when they are needed, a few steps of 32 filters at a time. Pixels with
// numbers that have no parts are computed with floats, and all pixels if weights have none. The
// order of the sums of a pixel depends neither on threads nor on bands.
#include <math.h>
#include <string.h>

#include "conv/command.h"
#include "conv/dense.h"
#include "core/f32_parts.h"

#if NACRE_X86_64

enum {
    PARTS_BLOCK = 16,         // channels of a block
    PARTS_LEFT = 1250 << 10,  // bytes of parts of a band, or 32 pixels: fits the second-level cache
    PARTS_PIXELS = 2048,      // of a band at most
    PARTS_STEPS = 3,          // steps of weights at a time,
    PARTS_MOST_STEPS = 4,     // or all, if there are no more
    PARTS_MORE_BANDS = 4,     // more bands than the cache requires, per thread, that a cut may have
    PARTS_CHANNELS = 24,      // from which most of a step is used
    // Estimates of cycles: 16 pixels and 32 filters in a step; splitting 32 numbers of the value,
    // and of the weights; 16 numbers of the result.
    PARTS_SIXTEEN = 350,
    PARTS_SPLIT_X = 23,
    PARTS_SPLIT_W = 25,
    PARTS_FINISH = 7,
    PARTS_LONG = 200000 // of a piece that another thread may wait for: half of the excess counts
};
#define PARTS_FLOATS 1.15 // for a number of the value and 32 filters

// An axis: tap k reads slot k % slots, k * dilation / stride places after the result's place. A
// slot has a place for every place of the result, and `more`.
typedef struct {
    size_t in, out, kernel, stride, dilation, pad, slots, more;
} parts_axis;

typedef struct {
    nacre_conv c;
    parts_axis h, w;
    size_t in_blocks, out_blocks, groups, pairs, taps, steps, steps_each;
    size_t depth;                    // channels of all steps
    size_t halves, first_block;      // of the channels; pairs and steps are of one half, channels of the current half
    size_t rows_each, columns_each;  // of a band
    size_t down, across, parts;      // bands, and parts of the filters that are computed separately
    size_t part, line, lines;        // places of a row of a slot, of a slot, and of a part of a pair
    size_t left, squares;            // bytes of all parts of a band; squares of it
    char *memory;
    float *half;                     // sums of the second half; NULL if it is added to the result
    size_t per_thread;
    const nacre_team *team;
    const float *x, *weights, *bias, *add;
    float *y;
    nacre_f32_finish finish;
} parts_job;

static size_t parts_divisor(size_t a, size_t b) { return b == 0 ? a : parts_divisor(b, a % b); }

static parts_axis parts_axis_of(const nacre_conv *c, size_t d) {
    parts_axis a = {.in = c->in[d], .out = c->out[d], .kernel = c->kernel[d], .stride = c->stride[d],
                    .dilation = c->dilation[d], .pad = c->pad[d]};
    a.slots = nacre_min(a.stride / parts_divisor(a.stride, a.dilation), a.kernel);
    a.more = (a.kernel - 1) * a.dilation / a.stride;
    return a;
}

static int parts_is_pointwise(const parts_axis *a) {
    return a->kernel == 1 && a->stride == 1 && a->pad == 0 && a->in == a->out;
}

// Returns the largest number of pixels of a band, or one row of a slot.
static size_t parts_most(const parts_job *j) {
    const size_t pixel = j->pairs * NACRE_PARTS * NACRE_AMX_LINE * j->h.slots * j->w.slots;
    return nacre_max(NACRE_PARTS_SIDE, nacre_min(PARTS_PIXELS, PARTS_LEFT / pixel));
}

static size_t parts_left(const parts_job *j, size_t lines) {
    return nacre_align_bytes((j->pairs * NACRE_PARTS * lines + NACRE_PARTS_SIDE) * NACRE_AMX_LINE +
                             j->pairs * (1 + lines));
}

static size_t parts_room(size_t squares) {
    return nacre_align_bytes(PARTS_MOST_STEPS * NACRE_PARTS * NACRE_PARTS_RIGHT +
                             squares * NACRE_PARTS_SUMS * sizeof(float));
}

// Sets the members that depend on the rows and columns of a band.
static void parts_extents(parts_job *j) {
    j->part = j->columns_each + j->w.more;
    j->line = (j->rows_each + j->h.more) * j->part;
    j->lines = j->h.slots * j->w.slots * j->line;
    j->left = parts_left(j, j->lines);
    j->squares = nacre_ceil_div((j->rows_each - 1) * j->part + j->columns_each, NACRE_PARTS_SIDE);
    j->down = nacre_ceil_div(j->h.out, j->rows_each);
    j->across = nacre_ceil_div(j->w.out, j->columns_each);
}

// Cuts the result into bands of at most `most` pixels.
static void parts_bands(parts_job *j, size_t most) {
    j->columns_each = j->w.out;
    if (j->w.out > most) {
        const size_t across = nacre_ceil_div(j->w.out, most);
        j->columns_each = nacre_min(j->w.out, nacre_round_up(nacre_ceil_div(j->w.out, across), NACRE_PARTS_SIDE));
    }
    j->rows_each = nacre_max(1, nacre_min(j->h.out, most / (j->columns_each + j->w.more)));
    j->rows_each = nacre_ceil_div(j->h.out, nacre_ceil_div(j->h.out, j->rows_each));
    parts_extents(j);
}

// Returns the cycles of all bands on that many threads.
static double parts_cycles(const parts_job *j, size_t threads) {
    const size_t span = (j->rows_each - 1) * j->part + j->columns_each,
        pieces = j->halves * j->c.images * j->down * j->across * j->parts;
    const double blocks = (double)j->out_blocks / NACRE_DENSE_BLOCKS, groups = (double)j->groups;
    const double sixteens = (double)nacre_ceil_div(span, NACRE_AMX_ROWS) * blocks * PARTS_SIXTEEN,
        weights = groups * NACRE_PARTS_SIDE * PARTS_SPLIT_W;
    const double pairs = (double)nacre_ceil_div(j->in_blocks, 2) / (double)j->halves; // of an average half
    const double sums = pairs * (double)j->taps * (sixteens + weights) +
        (double)(j->rows_each * j->columns_each * j->out_blocks) * PARTS_FINISH / (double)j->halves;
    const double split = pairs * (double)j->lines * PARTS_SPLIT_X;
    const double piece = (double)nacre_ceil_div(j->groups, j->parts) / groups * sums + split;
    const double wait = threads > 1 && piece > PARTS_LONG ? (piece - PARTS_LONG) / 2 : 0;
    return (double)nacre_ceil_div(pieces, threads) * piece + wait;
}

// Cuts the result for that many threads so that the estimated time is least.
static void parts_cut(parts_job *j, size_t threads) {
    const size_t pixels = j->h.out * j->w.out, most = parts_most(j), least = nacre_ceil_div(pixels, most);
    const size_t last = least + PARTS_MORE_BANDS * threads;
    size_t each = most, parts = 1;
    double best = INFINITY;
    for (size_t bands = least; bands <= last; bands++) {
        const size_t at = nacre_min(most, nacre_round_up(nacre_ceil_div(pixels, bands), NACRE_AMX_ROWS));
        parts_bands(j, at);
        for (size_t n = 1; n <= nacre_min(threads, j->groups); n++) {
            j->parts = n;
            const double cycles = parts_cycles(j, threads);
            if (cycles < best) best = cycles, each = at, parts = n;
        }
        if (at <= NACRE_PARTS_SIDE) break;
    }
    parts_bands(j, each);
    j->parts = parts;
}

// Returns the job of a command that sums the channels in that many parts, 1 or 2.
static parts_job parts_of(const nacre_conv_dense_words *w, size_t halves, size_t threads) {
    parts_job j = {.c = nacre_conv_of(&w->conv.extents)};
    const parts_axis one = {1, 1, 1, 1, 1, 0, 1, 0};
    j.h = j.c.axes == 1 ? one : parts_axis_of(&j.c, 0);
    j.w = parts_axis_of(&j.c, j.c.axes - 1);
    if (parts_is_pointwise(&j.h) && parts_is_pointwise(&j.w)) {
        // The rows of such a value are consecutive, like its pixels.
        j.w.in = j.w.out = j.w.out * j.h.out;
        j.h = one;
    }
    j.in_blocks = nacre_ceil_div(j.c.channels, PARTS_BLOCK);
    j.out_blocks = nacre_ceil_div(j.c.filters, PARTS_BLOCK);
    j.groups = nacre_ceil_div(j.out_blocks, NACRE_DENSE_BLOCKS);
    j.halves = halves;
    j.pairs = nacre_ceil_div(j.in_blocks, 2 * j.halves);
    j.taps = j.h.kernel * j.w.kernel;
    j.depth = j.c.channels * j.taps;
    j.steps = j.pairs * j.taps;
    j.steps_each = j.steps <= PARTS_MOST_STEPS ? j.steps : PARTS_STEPS;
    parts_cut(&j, threads);
    j.per_thread = parts_room(j.squares) + j.left;
    return j;
}

// Reports whether parts take less time than floats. The estimate is for one thread, so that results
// do not depend on the number of threads.
static int parts_pay(const parts_job *j) {
    const double pixels = (double)(j->c.images * j->h.out * j->w.out),
        sums = (double)(j->c.channels * j->taps) * (double)j->out_blocks / NACRE_DENSE_BLOCKS;
    return parts_cycles(j, 1) < PARTS_FLOATS * pixels * sums;
}

static int parts_can(const nacre_conv_dense_words *w) {
    return !w->plain && w->conv.extents.groups == 1 && w->conv.extents.axes <= 2 && w->block == PARTS_BLOCK &&
        (NACRE_AMX_ALWAYS || (size_t)w->conv.extents.channels >= PARTS_CHANNELS);
}

static int parts_takes(const nacre_kernel *kernel, const int64_t *words, size_t halves) {
    const nacre_conv_dense_words *const w = (const void *)words;
    if (!parts_can(w) || !nacre_dense_fits(kernel, words)) return 0;
    const parts_job j = parts_of(w, halves, 1);
    return NACRE_AMX_ALWAYS || (j.h.out * j.w.out >= NACRE_AMX_ROWS && parts_pay(&j));
}

static int parts_fits(const nacre_kernel *kernel, const int64_t *words) {
    return !nacre_dense_halved((const void *)words) && parts_takes(kernel, words, 1);
}

static int parts_halves_fits(const nacre_kernel *kernel, const int64_t *words) {
    return nacre_dense_halved((const void *)words) && parts_takes(kernel, words, 2);
}

// Returns the floats of the sums of the second half.
static size_t parts_half(const nacre_conv_dense_words *w, size_t halves) {
    return halves > 1 ? nacre_dense_half(w) : 0;
}

// Returns enough for any number of bands. It does not fall if the value grows.
static size_t parts_bytes(const int64_t *words, size_t halves, size_t threads) {
    const nacre_conv_dense_words *const w = (const void *)words;
    const parts_job j = parts_of(w, halves, 1);
    const size_t most = nacre_round_up(parts_most(&j), NACRE_PARTS_SIDE), row = nacre_min(j.w.out, most) + j.w.more;
    const size_t pixels = nacre_min(j.h.out * row, nacre_max(most, row));
    const size_t lines = j.h.slots * j.w.slots * (pixels + j.h.more * row);
    return threads * (parts_room(nacre_ceil_div(pixels, NACRE_PARTS_SIDE)) + parts_left(&j, lines) +
                      nacre_align_bytes(sizeof(size_t))) + parts_half(w, halves) * sizeof(float);
}

static size_t parts_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    (void)kernel;
    return parts_bytes(words, 1, threads);
}

static size_t parts_halves_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    (void)kernel;
    return parts_bytes(words, 2, threads);
}

// ---- the value ----

// A band: rows from o and columns from p of the result.
typedef struct {
    size_t image, o, rows, p, columns;
} parts_band;

static parts_band parts_band_of(const parts_job *j, size_t band) {
    parts_band b = {.image = band / j->across / j->down, .o = band / j->across % j->down * j->rows_each,
                    .p = band % j->across * j->columns_each};
    b.rows = nacre_min(j->rows_each, j->h.out - b.o);
    b.columns = nacre_min(j->columns_each, j->w.out - b.p);
    return b;
}

// Returns the channels of a block.
static size_t parts_channels(const parts_job *j, size_t block) {
    return block * PARTS_BLOCK >= j->c.channels ? 0 : nacre_min(PARTS_BLOCK, j->c.channels - block * PARTS_BLOCK);
}

// Returns the flags of lines with numbers that have no parts: [pairs] says whether a pair has such
// lines; [pairs][lines], valid only for those pairs, says which.
static uint8_t *parts_odd(const parts_job *j, char *left) {
    return (uint8_t *)left + (j->pairs * NACRE_PARTS * j->lines + NACRE_PARTS_SIDE) * NACRE_AMX_LINE;
}

NACRE_TARGET_BEGIN(NACRE_AVX512)

static void parts_zeros(const parts_job *j, char *dst, size_t n) {
    for (size_t q = 0; q < NACRE_PARTS; q++) memset(dst + q * j->lines * NACRE_AMX_LINE, 0, n * NACRE_AMX_LINE);
}

static uint8_t *parts_odd_lines(const parts_job *j, char *left, size_t pair) {
    return parts_odd(j, left) + j->pairs + pair * j->lines;
}

// Splits n places of a pair, a stride apart, into lines from line `line` of the pair on. Lines with
// numbers that have no parts become zeros.
static void parts_split_lines(const parts_job *j, size_t pair, const float *x, size_t gap, size_t first, size_t second,
                              size_t n, char *left, size_t line) {
    const size_t row = j->w.stride * PARTS_BLOCK, part = j->lines * NACRE_AMX_LINE;
    char *dst = left + pair * NACRE_PARTS * part + line * NACRE_AMX_LINE;
    if (!nacre_parts_lines(NACRE_PARTS, x, row, gap, first, second, n, dst, part)) return;
    uint8_t *const odd = parts_odd_lines(j, left, pair), *const has = parts_odd(j, left) + pair;
    if (!*has) memset(odd, 0, j->lines);
    *has = 1;
    for (size_t i = 0; i < n; i++, x += row, dst += NACRE_AMX_LINE) {
        odd[line + i] = (uint8_t)nacre_parts_lines(NACRE_PARTS, x, row, gap, first, second, 1, dst, part);
        if (odd[line + i]) parts_zeros(j, dst, 1);
    }
}

// Splits a row of a slot into lines from `line` on: n places from place `at` of the padded axis on,
// a stride apart.
static void parts_slot_row(const parts_job *j, size_t pair, const float *x, size_t gap, size_t first, size_t second,
                           size_t at, size_t n, char *left, size_t line) {
    const parts_axis *const a = &j->w;
    const size_t end = a->in + a->pad;
    const size_t before = at < a->pad ? nacre_min(n, nacre_strides(a->pad - at, a->stride)) : 0,
        from = at + before * a->stride;
    const size_t inside = from < end ? nacre_min(n - before, nacre_strides(end - from, a->stride)) : 0;
    char *const dst = left + (pair * NACRE_PARTS * j->lines + line) * NACRE_AMX_LINE;
    parts_zeros(j, dst, before);
    if (inside > 0) {
        parts_split_lines(j, pair, x + (from - a->pad) * PARTS_BLOCK, gap, first, second, inside, left, line + before);
    }
    parts_zeros(j, dst + (before + inside) * NACRE_AMX_LINE, n - before - inside);
}

// Splits two blocks of channels of the value under a band.
static void parts_split_pair(const parts_job *j, const parts_band *b, size_t pair, char *left) {
    const size_t plane = j->h.in * j->w.in * PARTS_BLOCK, first = parts_channels(j, 2 * pair),
        second = parts_channels(j, 2 * pair + 1);
    const float *const x = j->x + (b->image * j->in_blocks + 2 * pair) * plane;
    const size_t rows = b->rows + j->h.more, columns = b->columns + j->w.more;
    parts_odd(j, left)[pair] = 0;
    for (size_t hs = 0; hs < j->h.slots; hs++) {
        for (size_t ws = 0; ws < j->w.slots; ws++) {
            const size_t down = b->o * j->h.stride + hs * j->h.dilation % j->h.stride,
                across = b->p * j->w.stride + ws * j->w.dilation % j->w.stride;
            size_t line = (hs * j->w.slots + ws) * j->line;
            for (size_t r = 0; r < rows; r++, line += j->part) {
                const size_t at = down + r * j->h.stride;
                if (at < j->h.pad || at - j->h.pad >= j->h.in) {
                    parts_zeros(j, left + (pair * NACRE_PARTS * j->lines + line) * NACRE_AMX_LINE, columns);
                    continue;
                }
                parts_slot_row(j, pair, x + (at - j->h.pad) * j->w.in * PARTS_BLOCK, plane, first, second, across,
                               columns, left, line);
            }
        }
    }
}

// ---- weights ----

// Returns the weights of step (block, tap) of a group of `blocks` blocks.
static const float *parts_weights(const parts_job *j, size_t group, size_t blocks, size_t block, size_t tap) {
    const size_t from = (j->first_block + block) * PARTS_BLOCK * j->taps + tap * parts_channels(j, block);
    return j->weights + (group * NACRE_DENSE_BLOCKS * j->depth + blocks * from) * PARTS_BLOCK;
}

// Splits the weights of a step. It reports whether a number has no parts.
static int parts_split_weights(const parts_job *j, size_t group, size_t blocks, size_t s, char *dst) {
    const size_t pair = s / j->taps, tap = s % j->taps, row = blocks * PARTS_BLOCK;
    const size_t first = parts_channels(j, 2 * pair), second = parts_channels(j, 2 * pair + 1);
    const float *const w = parts_weights(j, group, blocks, 2 * pair, tap);
    const size_t gap = second == 0 ? 0 : (size_t)(parts_weights(j, group, blocks, 2 * pair + 1, tap) - w);
    int odd = 0;
    for (size_t h = 0; h < blocks; h++, dst += NACRE_AMX_BYTES) {
        const float *const from = w + h * PARTS_BLOCK;
        odd |= nacre_parts_lines(NACRE_PARTS, from, row, gap, PARTS_BLOCK, PARTS_BLOCK, second, dst, NACRE_PARTS_RIGHT);
        odd |= nacre_parts_lines(NACRE_PARTS, from + second * row, row, 0, PARTS_BLOCK, 0, first - second,
                                 dst + second * NACRE_AMX_LINE, NACRE_PARTS_RIGHT);
        for (size_t q = 0; q < NACRE_PARTS && first < PARTS_BLOCK; q++) {
            memset(dst + q * NACRE_PARTS_RIGHT + first * NACRE_AMX_LINE, 0, (PARTS_BLOCK - first) * NACRE_AMX_LINE);
        }
    }
    return odd;
}

// ---- sums ----

// The filters of a group, for a band.
typedef struct {
    const parts_band *b;
    size_t group, blocks;
    const char *left;
    char *right;
    float *sums;
} parts_group;

// Writes n pixels of a block from their sums in consecutive rows of a square.
static void parts_store(const parts_job *j, const float *sums, __m512 start, size_t at, size_t n) {
    const nacre_f32_finish *const f = &j->finish;
    const __m512 low = _mm512_set1_ps(f->clamp ? f->low : -INFINITY),
        high = _mm512_set1_ps(f->clamp ? f->high : INFINITY);
    float *const y = j->y + at;
    if (j->add == NULL) {
        for (size_t i = 0; i < n * PARTS_BLOCK; i += PARTS_BLOCK) {
            const __m512 v = _mm512_add_ps(_mm512_loadu_ps(sums + 2 * i), start);
            _mm512_storeu_ps(y + i, _mm512_min_ps(high, _mm512_max_ps(low, v)));
        }
        return;
    }
    const float *const add = j->add + at;
    for (size_t i = 0; i < n * PARTS_BLOCK; i += PARTS_BLOCK) {
        const __m512 v = _mm512_add_ps(_mm512_add_ps(_mm512_loadu_ps(sums + 2 * i), start), _mm512_loadu_ps(add + i));
        _mm512_storeu_ps(y + i, _mm512_min_ps(high, _mm512_max_ps(low, v)));
    }
}

// Writes the pixels of a square.
static void parts_finish(const parts_job *j, const parts_group *g, size_t square, const float *sums) {
    const parts_band *const b = g->b;
    const size_t filter = g->group * NACRE_DENSE_BLOCKS * PARTS_BLOCK, plane = j->h.out * j->w.out * PARTS_BLOCK;
    const size_t place = square * NACRE_PARTS_SIDE,
        corner = (b->image * j->out_blocks + g->group * NACRE_DENSE_BLOCKS) * plane;
    __m512 start[NACRE_DENSE_BLOCKS];
    for (size_t h = 0; h < NACRE_DENSE_BLOCKS; h++) {
        const size_t at = filter + h * PARTS_BLOCK,
            n = at < j->c.filters ? nacre_min(PARTS_BLOCK, j->c.filters - at) : 0;
        start[h] = j->bias == NULL ? _mm512_setzero_ps()
            : _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), j->bias + (n > 0 ? at : 0));
    }
    size_t r = place / j->part, c = place % j->part, n;
    for (size_t i = 0; i < NACRE_PARTS_SIDE && r < b->rows; i += n) {
        n = nacre_min(j->part - c, NACRE_PARTS_SIDE - i);
        if (c < b->columns) {
            n = nacre_min(n, b->columns - c);
            const size_t at = corner + ((b->o + r) * j->w.out + b->p + c) * PARTS_BLOCK;
            for (size_t h = 0; h < g->blocks; h++) {
                parts_store(j, sums + i * NACRE_PARTS_SIDE + h * PARTS_BLOCK, start[h], at + h * plane, n);
            }
        }
        c += n;
        if (c == j->part) c = 0, r++;
    }
}

NACRE_TARGET_END

// Applies map to the rows of a group.
static void parts_map(const parts_job *j, const parts_group *g) {
    const parts_band *const b = g->b;
    const size_t plane = j->h.out * j->w.out * PARTS_BLOCK,
        corner = (b->image * j->out_blocks + g->group * NACRE_DENSE_BLOCKS) * plane;
    for (size_t h = 0; h < g->blocks; h++) {
        for (size_t r = 0; r < b->rows; r++) {
            float *const y = j->y + corner + h * plane + ((b->o + r) * j->w.out + b->p) * PARTS_BLOCK;
            j->finish.map(y, y, b->columns * PARTS_BLOCK, j->finish.params);
        }
    }
}

// Adds a step, computed with floats, to the pixels of a group with a set flag in odd, or to all
// pixels if odd is NULL.
static void parts_plainly(const parts_job *j, const parts_group *g, size_t s, const uint8_t *odd) {
    const parts_band *const b = g->b;
    const size_t pair = s / j->taps, tap = s % j->taps, ky = tap / j->w.kernel, kx = tap % j->w.kernel;
    const float zeros[PARTS_BLOCK] = {0};
    for (size_t r = 0; r < b->rows; r++) {
        for (size_t c = 0; c < b->columns; c++) {
            if (odd != NULL && !odd[r * j->part + c]) continue;
            const size_t at = r * j->part + c, row = (b->o + r) * j->h.stride + ky * j->h.dilation,
                column = (b->p + c) * j->w.stride + kx * j->w.dilation;
            const int outside = row < j->h.pad || row - j->h.pad >= j->h.in || column < j->w.pad ||
                column - j->w.pad >= j->w.in;
            float *const sums = g->sums + at / NACRE_PARTS_SIDE * NACRE_PARTS_SUMS +
                at % NACRE_PARTS_SIDE * NACRE_PARTS_SIDE;
            for (size_t block = 2 * pair; block < nacre_min(2 * pair + 2, j->in_blocks); block++) {
                const size_t at_x = outside ? 0
                    : (((b->image * j->in_blocks + block) * j->h.in + row - j->h.pad) * j->w.in +
                       column - j->w.pad) * PARTS_BLOCK;
                nacre_parts_plain(outside ? zeros : j->x + at_x, 0, parts_channels(j, block), 1,
                                  parts_weights(j, g->group, g->blocks, block, tap), g->blocks * PARTS_BLOCK,
                                  g->blocks * PARTS_BLOCK, sums);
            }
        }
    }
}

// Prefetches the share of square q, of `squares`, in the weights of the steps from s on.
static void parts_ahead(const parts_job *j, const parts_group *g, size_t s, size_t q, size_t squares,
                        nacre_parts_square *t) {
    const size_t runs = 2 * j->steps_each, each = nacre_ceil_div(runs, squares);
    t->next_rows = 0;
    for (size_t run = q * each; run < nacre_min(runs, (q + 1) * each); run++) {
        const size_t step = s + run / 2, block = step / j->taps * 2 + run % 2;
        if (step >= j->steps || block >= j->in_blocks) continue;
        const char *const w = (const char *)parts_weights(j, g->group, g->blocks, block, step % j->taps);
        const size_t bytes = parts_channels(j, block) * g->blocks * PARTS_BLOCK * sizeof(float);
        if (t->next_rows == 0) {
            t->next = w;
            t->next_row = 2 * NACRE_AMX_LINE;
            t->next_rows = bytes / t->next_row;
            continue;
        }
        for (size_t i = 0; i < bytes; i += NACRE_AMX_LINE) __builtin_prefetch(w + i, 0, 2);
    }
}

// Adds n steps from s on to all squares of a group.
static void parts_add(const parts_job *j, const parts_group *g, size_t s, size_t n) {
    const parts_band *const b = g->b;
    const size_t part = j->lines * NACRE_AMX_LINE, span = (b->rows - 1) * j->part + b->columns,
        squares = nacre_ceil_div(span, NACRE_PARTS_SIDE);
    size_t step[PARTS_MOST_STEPS];
    const uint8_t *lines[PARTS_MOST_STEPS];
    int odd = 0, odd_weights = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t pair = (s + i) / j->taps, tap = (s + i) % j->taps, ky = tap / j->w.kernel, kx = tap % j->w.kernel;
        const size_t slot = ky % j->h.slots * j->w.slots + kx % j->w.slots;
        const size_t line = slot * j->line + ky * j->h.dilation / j->h.stride * j->part +
            kx * j->w.dilation / j->w.stride;
        step[i] = pair * NACRE_PARTS * part + line * NACRE_AMX_LINE;
        lines[i] = parts_odd(j, (char *)g->left)[pair] ? parts_odd_lines(j, (char *)g->left, pair) + line : NULL;
        odd |= lines[i] != NULL;
        odd_weights |= parts_split_weights(j, g->group, g->blocks, s + i,
                                           g->right + i * NACRE_PARTS * NACRE_PARTS_RIGHT);
    }
    const int last = s + n == j->steps;
    if (odd_weights && s == 0) memset(g->sums, 0, squares * NACRE_PARTS_SUMS * sizeof(float));
    nacre_parts_square t = {.a_parts = NACRE_PARTS, .b_parts = NACRE_PARTS, .steps = n, .a_part = part, .step = step,
                            .b = g->right, .columns = g->blocks * PARTS_BLOCK, .add = s > 0};
    for (size_t q = 0; q < squares && !odd_weights; q++) {
        parts_ahead(j, g, s + n, q, squares, &t);
        t.a = g->left + q * NACRE_PARTS_SIDE * NACRE_AMX_LINE;
        t.rows = nacre_min(NACRE_PARTS_SIDE, span - q * NACRE_PARTS_SIDE);
        t.sums = g->sums + q * NACRE_PARTS_SUMS;
        nacre_parts_multiply(&t);
        if (last && !odd) parts_finish(j, g, q, t.sums);
    }
    if (!odd && !odd_weights) return;
    for (size_t i = 0; i < n; i++) {
        if (odd_weights || lines[i] != NULL) parts_plainly(j, g, s + i, odd_weights ? NULL : lines[i]);
    }
    for (size_t q = 0; q < squares && last; q++) parts_finish(j, g, q, g->sums + q * NACRE_PARTS_SUMS);
}

// Computes the groups of a part of the filters for a band.
static void parts_groups(const parts_job *j, const parts_band *b, size_t part, const char *left, char *memory) {
    const size_t first = part * j->groups / j->parts, end = (part + 1) * j->groups / j->parts;
    parts_group g = {.b = b, .left = left, .right = memory,
                     .sums = (float *)(void *)(memory + PARTS_MOST_STEPS * NACRE_PARTS * NACRE_PARTS_RIGHT)};
    nacre_amx_begin();
    for (g.group = first; g.group < end && !nacre_stopped(j->team); g.group++) {
        g.blocks = nacre_min(NACRE_DENSE_BLOCKS, j->out_blocks - g.group * NACRE_DENSE_BLOCKS);
        for (size_t s = 0; s < j->steps; s += j->steps_each) {
            parts_add(j, &g, s, nacre_min(j->steps_each, j->steps - s));
        }
        if (j->finish.map != NULL) parts_map(j, &g);
    }
    nacre_amx_end();
}

// Returns the place of 1 + the number of the band that a thread has split, or 0 for none.
static size_t *parts_held(const parts_job *j, size_t thread) {
    return (size_t *)(void *)j->memory + thread * (nacre_align_bytes(sizeof(size_t)) / sizeof(size_t));
}

// Returns the job for a half of the channels. The second half is summed in memory of its own, or
// added to the result by a thread that computes both.
static parts_job parts_half_of(const parts_job *j, size_t half) {
    parts_job v = *j;
    if (j->halves == 1) return v;
    v.first_block = half * 2 * j->pairs;
    v.c.channels = nacre_min(j->c.channels - v.first_block * PARTS_BLOCK, 2 * j->pairs * PARTS_BLOCK);
    v.pairs = nacre_ceil_div(v.c.channels, 2 * PARTS_BLOCK);
    v.steps = v.pairs;
    v.x += v.first_block * j->h.in * j->w.in * PARTS_BLOCK;
    if (half > 0) v.bias = v.add = NULL;
    if (half > 0 && j->half == NULL) {
        v.add = j->y;
        return v;
    }
    if (half > 0) v.y = j->half;
    v.finish = (nacre_f32_finish){0};
    return v;
}

static void parts_chunk(void *job, size_t chunk, size_t thread) {
    const parts_job *const all = job;
    const size_t number = chunk / all->parts, bands = all->c.images * all->down * all->across;
    const parts_job half = parts_half_of(all, number / bands), *const j = &half;
    const parts_band b = parts_band_of(j, number % bands);
    char *const memory = (char *)parts_held(j, nacre_team_threads(j->team)) + thread * j->per_thread,
        *const left = memory + j->per_thread - j->left;
    size_t *const held = parts_held(j, thread);
    for (size_t pair = 0; pair < j->pairs && *held != number + 1; pair++) parts_split_pair(j, &b, pair, left);
    *held = number + 1;
    parts_groups(j, &b, chunk % j->parts, left, memory);
}

static void parts_run(const nacre_call *c, size_t halves) {
    const nacre_conv_dense_words *const w = (const void *)c->words;
    parts_job j = parts_of(w, halves, nacre_team_threads(c->team));
    j.team = c->team;
    j.x = nacre_operand(c, CONV_X);
    j.weights = nacre_operand(c, CONV_W);
    j.bias = nacre_operand(c, CONV_BIAS);
    j.add = nacre_operand(c, CONV_ADD);
    j.y = nacre_operand(c, CONV_Y);
    j.finish = conv_finish(&w->conv);
    j.half = j.halves > 1 && nacre_team_threads(c->team) > 1 ? c->scratch : NULL;
    j.memory = (char *)((float *)c->scratch + parts_half(w, halves));
    for (size_t thread = 0; thread < nacre_team_threads(c->team); thread++) *parts_held(&j, thread) = 0;
    nacre_parallel(c->team, j.halves * j.c.images * j.down * j.across * j.parts, parts_chunk, &j);
    if (j.half != NULL) nacre_dense_join(c, j.half);
}

static void parts_command(const nacre_call *c) { parts_run(c, 1); }
static void parts_halves_command(const nacre_call *c) { parts_run(c, 2); }

const nacre_entry nacre_f32_conv_parts_entry = {
    .words = sizeof(nacre_conv_dense_words) / 8, .operands = CONV_OPERANDS, .run = parts_command, .fits = parts_fits,
    .scratch = parts_scratch, .packed = nacre_dense_packed, .pack = nacre_dense_pack, .unaligned = 1,
};
const nacre_entry nacre_f32_conv_parts_halves_entry = {
    .words = sizeof(nacre_conv_dense_words) / 8, .operands = CONV_OPERANDS, .run = parts_halves_command,
    .fits = parts_halves_fits, .scratch = parts_halves_scratch, .packed = nacre_dense_packed,
    .pack = nacre_dense_pack, .unaligned = 1,
};

#endif
