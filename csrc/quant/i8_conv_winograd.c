// Command i8_conv_winograd.
#include <string.h>

#include "conv/command.h"
#include "core/simd.h"
#include "core/vec.h"
#include "quant/i8_winograd.h"

enum {
    WINOGRAD8_BAND = 192 << 10,  // bytes of points of a band at most, or one row of tiles
    WINOGRAD8_TILES = 24,        // least tiles of a band, so that weights are read once for many
    WINOGRAD8_CHUNKS = 8,        // chunks of work wanted
    // Largest number of channels for which four times the sum of the products fits 32 bits.
    WINOGRAD8_CHANNELS = (1 << 29) / (9 * 255 * 128)
};

typedef struct {
    blocked8_job of;  // extents of the result are rounded up to even; a last row or column may be left out
    const nacre_i8_winograd_impl *impl;
    size_t rows, width;       // of the result
    size_t depth;             // channels, of whole blocks
    size_t groups;            // of blocks of filters
    size_t tiles_w, rows_each, bands;  // tiles of a row; rows of tiles of a band
    size_t parts, groups_each;
    size_t point, weight;     // numbers of a point of all tiles; weights of a group of filters for one point
    size_t products;          // sums of the points of a band for a group of filters
    char *scratch;
    int16_t *points;
} winograd8_job;

static winograd8_job winograd8_of(const nacre_kernel *kernel, const nacre_i8_conv_blocked_words *w) {
    const nacre_conv c = nacre_conv_of(&w->conv.extents);
    winograd8_job j = {.impl = ((nacre_i8_winograd_fn *)kernel->fn)()};
    blocked8_job *const b = &j.of;
    *b = (blocked8_job){.x_bytes = sizeof(int16_t), .images = c.images, .channels = c.channels, .filters = c.filters,
                        .lanes = (size_t)w->block, .x_signed = w->conv.x_signed != 0};
    b->in_blocks = nacre_ceil_div(c.channels, b->lanes);
    b->out_blocks = nacre_ceil_div(c.filters, b->lanes);
    b->unit = b->lanes * b->x_bytes;
    j.depth = b->in_blocks * b->lanes;
    j.groups = nacre_ceil_div(b->out_blocks, NACRE_DENSE_BLOCKS);
    j.weight = j.depth * NACRE_DENSE_BLOCKS * b->lanes;
    if (conv_is_empty(&c)) return j;
    b->d = blocked8_axis_of(&c, 0);
    b->h = blocked8_axis_of(&c, 1);
    b->w = blocked8_axis_of(&c, 2);
    b->row_lines = 1;
    j.rows = b->h.out;
    j.width = b->w.out;
    b->h.out = nacre_round_up(j.rows, 2);
    b->w.out = nacre_round_up(j.width, 2);
    b->line = b->w.out + 2;
    j.tiles_w = b->w.out / 2;
    const size_t tile_rows = b->h.out / 2, tile = NACRE_I8_POINTS * j.depth * sizeof(int16_t);
    const size_t most = nacre_max(WINOGRAD8_BAND / tile, WINOGRAD8_TILES);
    j.rows_each = nacre_ceil_div(tile_rows, nacre_ceil_div(tile_rows, nacre_max(1, most / j.tiles_w)));
    j.bands = nacre_ceil_div(tile_rows, j.rows_each);
    const size_t parts = b->images * j.bands >= WINOGRAD8_CHUNKS ? 1
        : nacre_min(j.groups, nacre_ceil_div(WINOGRAD8_CHUNKS, b->images * j.bands));
    j.groups_each = nacre_ceil_div(j.groups, parts);
    j.parts = nacre_ceil_div(j.groups, j.groups_each);
    b->shared = j.parts > 1;
    b->band_rows = blocked8_reach(&b->h, b->shared ? b->h.out : 2 * j.rows_each);
    j.point = (b->shared ? tile_rows : j.rows_each) * j.tiles_w * j.depth;
    j.products = NACRE_I8_POINTS * j.rows_each * j.tiles_w * NACRE_DENSE_BLOCKS * b->lanes;
    return j;
}

// ---- scratch ----

static size_t winograd8_point_bytes(const winograd8_job *j) {
    return nacre_align_bytes(NACRE_I8_POINTS * j->point * sizeof(int16_t));
}

// Returns the bytes of the rows of one block.
static size_t winograd8_copy_bytes(const winograd8_job *j) {
    return nacre_align_bytes(j->of.band_rows * j->of.line * j->of.unit);
}

static size_t winograd8_sum_bytes(const winograd8_job *j) {
    return nacre_align_bytes(j->products * sizeof(int32_t)) +
        nacre_align_bytes(4 * j->tiles_w * j->of.lanes * sizeof(int32_t));
}

static size_t winograd8_thread_bytes(const winograd8_job *j) {
    return winograd8_copy_bytes(j) + winograd8_sum_bytes(j) + (j->of.shared ? 0 : winograd8_point_bytes(j));
}

static size_t winograd8_place(winograd8_job *j, char *scratch, size_t threads) {
    blocked8_job *const b = &j->of;
    const size_t numbers = nacre_blocked8_place(b, scratch),
        bytes = numbers + (b->shared ? winograd8_point_bytes(j) : 0);
    j->points = (int16_t *)(void *)(scratch + numbers);
    j->scratch = scratch + bytes;
    return bytes + threads * winograd8_thread_bytes(j);
}

static char *winograd8_own(const winograd8_job *j, size_t thread) {
    return j->scratch + thread * winograd8_thread_bytes(j);
}

// ---- points ----

// Computes the points of a block, for `rows` rows of tiles from row o on.
static void winograd8_forward(const winograd8_job *j, size_t image, size_t block, size_t o, size_t rows, char *copy,
                              int16_t *points) {
    blocked8_job one = j->of;
    one.x += block * one.h.in * one.w.in * one.lanes;
    nacre_blocked8_copy(&one, image, 0, 2 * o, 2 * rows, copy);
    nacre_i8_forward f = {.tiles = j->tiles_w, .lanes = one.lanes, .line = one.line * one.lanes, .tile = j->depth,
                          .point = j->point};
    for (size_t r = 0; r < rows; r++) {
        f.x = (const int16_t *)(const void *)copy + 2 * r * f.line;
        f.y = points + r * j->tiles_w * j->depth + block * one.lanes;
        j->impl->forward(&f);
    }
}

// ---- products ----

// The rows of tiles of a chunk.
typedef struct {
    const winograd8_job *j;
    size_t image, o, rows;
    const int16_t *points;  // of the first row
    int32_t *products, *sums;
} winograd8_band;

// Computes the sums of points of a group of blocks of filters: [points][tiles][blocks][lanes].
static void winograd8_multiply(const winograd8_band *b, size_t group, size_t blocks) {
    const winograd8_job *const j = b->j;
    const size_t tiles = b->rows * j->tiles_w, lanes = blocks * j->of.lanes, bytes = j->depth * lanes * sizeof(int16_t),
        step = 0;
    const dense_cut cut = nacre_dense_cut_by(j->impl->pixels, tiles);
    const size_t portion = nacre_ceil_div(bytes, cut.full + cut.tails);
    nacre_i8_tile t = {.blocks = blocks, .lanes = j->of.lanes, .pitch = j->depth * sizeof(int16_t), .step = &step,
                       .steps = 1, .whole = 1,
                       .groups = j->depth / 2, .sums = b->products, .next_step = nacre_ceil_div(portion, j->depth / 2)};
    t.w = j->of.weights + group * NACRE_I8_POINTS * j->weight * sizeof(int16_t);
    for (size_t p = 0; p < NACRE_I8_POINTS; p++, t.w += bytes) {
        t.x = (const char *)(b->points + p * j->point);
        t.next = t.w + bytes;
        for (size_t i = 0; i < cut.full + cut.tails; i++) {
            t.pixels = i < cut.full ? cut.most : cut.tail[i - cut.full];
            j->impl->tile(&t);
            t.sums += t.pixels * lanes;
            t.x += t.pixels * t.pitch;
            t.next += portion;
        }
    }
}

// Computes the rows of the result of one block of filters.
static void winograd8_back(const winograd8_band *b, size_t block, size_t first, size_t blocks) {
    const winograd8_job *const j = b->j;
    const size_t lanes = j->of.lanes, lane = block * lanes, wide = blocks * lanes, points = b->rows * j->tiles_w * wide;
    nacre_i8_tile_finish f = {.pixels = j->width, .lanes = lanes, .row = lanes, .start = j->of.start + lane,
                              .scale = j->of.scale + lane, .add = j->of.add + lane,
                              .then = &j->of.numbers.then, .zero = j->of.numbers.y.zero};
    nacre_i8_back v = {.tiles = j->tiles_w, .lanes = lanes, .x = b->products + (block - first) * lanes, .tile = wide,
                       .point = points, .y = b->sums};
    for (size_t r = 0; r < b->rows; r++, v.x += j->tiles_w * wide) {
        j->impl->back(&v);
        for (size_t i = 0; i < 2 && 2 * (b->o + r) + i < j->rows; i++) {
            const size_t at = ((b->image * j->of.out_blocks + block) * j->rows + 2 * (b->o + r) + i) * j->width * lanes;
            f.sums = b->sums + i * 2 * j->tiles_w * lanes;
            f.codes = j->of.numbers.then.codes == NULL ? NULL : j->of.numbers.then.codes + at;
            f.y = j->of.y + at;
            j->impl->finish(&f);
        }
    }
}

// Computes the filters of a part for the rows of a band.
static void winograd8_chunk(void *job, size_t chunk, size_t thread) {
    const winograd8_job *const j = job;
    const size_t part = chunk % j->parts, band = chunk / j->parts % j->bands;
    char *const own = winograd8_own(j, thread);
    winograd8_band b = {.j = j, .image = chunk / j->parts / j->bands, .o = band * j->rows_each};
    b.rows = nacre_min(j->rows_each, j->of.h.out / 2 - b.o);
    b.products = (int32_t *)(void *)(own + winograd8_copy_bytes(j));
    b.sums = b.products + nacre_align_bytes(j->products * sizeof(int32_t)) / sizeof(int32_t);
    if (j->of.shared) {
        b.points = j->points + b.o * j->tiles_w * j->depth;
    } else {
        int16_t *const points = (int16_t *)(void *)(own + winograd8_copy_bytes(j) + winograd8_sum_bytes(j));
        for (size_t k = 0; k < j->of.in_blocks; k++) winograd8_forward(j, b.image, k, b.o, b.rows, own, points);
        b.points = points;
    }
    for (size_t g = part * j->groups_each; g < nacre_min(j->groups, (part + 1) * j->groups_each); g++) {
        const size_t first = g * NACRE_DENSE_BLOCKS, blocks = nacre_min(NACRE_DENSE_BLOCKS, j->of.out_blocks - first);
        winograd8_multiply(&b, g, blocks);
        for (size_t k = 0; k < blocks; k++) winograd8_back(&b, first + k, first, blocks);
    }
}

static void winograd8_fill_chunk(void *job, size_t chunk, size_t thread) {
    const winograd8_job *const j = job;
    winograd8_forward(j, 0, chunk, 0, j->of.h.out / 2, winograd8_own(j, thread), j->points);
}

// ---- the command ----

// Returns the bytes of the packed weights. The sums of the weights of filters follow them.
static size_t winograd8_weight_bytes(const winograd8_job *j) {
    return nacre_align_bytes(NACRE_I8_POINTS * j->depth * j->of.out_blocks * j->of.lanes * sizeof(int16_t));
}

static void winograd8_command(const nacre_call *c) {
    const nacre_i8_conv_blocked_words *const w = (const void *)c->words;
    winograd8_job j = winograd8_of(c->kernel, w);
    blocked8_job *const b = &j.of;
    b->x = nacre_operand(c, CONV8_X);
    b->weights = nacre_operand(c, CONV8_W);
    b->y = nacre_operand(c, CONV8_Y);
    b->numbers = i8_conv_numbers_of(c, &w->conv);
    winograd8_place(&j, c->scratch, nacre_team_threads(c->team));
    nacre_blocked8_put(b, c, &w->conv, (const int32_t *)(const void *)(b->weights + winograd8_weight_bytes(&j)));
    if (!b->shared) {
        nacre_parallel(c->team, b->images * j.bands, winograd8_chunk, &j);
        return;
    }
    const size_t in = j.depth * b->h.in * b->w.in, out = b->out_blocks * b->lanes * j.rows * j.width,
        images = b->images;
    b->images = 1;
    for (size_t i = 0; i < images; i++) {
        nacre_parallel(c->team, b->in_blocks, winograd8_fill_chunk, &j);
        nacre_parallel(c->team, j.bands * j.parts, winograd8_chunk, &j);
        b->x += in;
        b->y += out;
        if (b->numbers.then.codes != NULL) b->numbers.then.codes += out;
    }
}

static size_t winograd8_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    winograd8_job j = winograd8_of(kernel, (const void *)words);
    return winograd8_place(&j, NULL, threads);
}

static int winograd8_fits(const nacre_kernel *kernel, const int64_t *words) {
    const nacre_i8_conv_blocked_words *const w = (const void *)words;
    const nacre_conv c = nacre_conv_of(&w->conv.extents);
    const nacre_i8_winograd_impl *const impl = ((nacre_i8_winograd_fn *)kernel->fn)();
    if (c.groups != 1 || c.axes != 2 || w->plain || w->w_moved || conv_is_empty(&c) || c.channels == 0 ||
        c.channels > WINOGRAD8_CHANNELS) {
        return 0;
    }
    for (size_t d = 0; d < 2; d++) {
        if (c.kernel[d] != 3 || c.stride[d] != 1 || c.dilation[d] != 1) return 0;
    }
    return w->block <= NACRE_CONV_BLOCK && w->block % 2 == 0 && (impl->lanes == 1 || impl->lanes == (size_t)w->block);
}

static size_t winograd8_packed(const nacre_kernel *kernel, const int64_t *words, size_t operand) {
    if (operand != CONV8_W) return 0;
    const winograd8_job j = winograd8_of(kernel, (const void *)words);
    return winograd8_weight_bytes(&j) + nacre_align_bytes(j.of.out_blocks * j.of.lanes * sizeof(int32_t));
}

// Computes twice the points of three numbers that are `step` apart.
static void winograd8_points(const int *x, size_t step, int *y, size_t gap) {
    y[0] = 2 * x[0];
    y[gap] = x[0] + x[step] + x[2 * step];
    y[2 * gap] = x[0] - x[step] + x[2 * step];
    y[3 * gap] = 2 * x[2 * step];
}

// Weights are [filters][channels][3][3]. Packed they are four times their points, [groups of
// filters] [points][pairs of channels][blocks of filters][lanes][2], with zeros after the last
// filter and the last channel, followed by the sums of weights. Unsigned codes have a zero point of
// 128.
static void winograd8_pack(const nacre_kernel *kernel, const int64_t *words, size_t operand, const void *src,
                           void *dst) {
    (void)operand;
    const nacre_i8_conv_blocked_words *const w = (const void *)words;
    const winograd8_job j = winograd8_of(kernel, w);
    const size_t lanes = j.of.lanes;
    const uint8_t *const from = src, flip = w->conv.w_signed ? 0 : 128;
    int16_t *const out = dst;
    int32_t *const sums = (int32_t *)(void *)((char *)dst + winograd8_weight_bytes(&j));
    memset(dst, 0, winograd8_packed(kernel, words, CONV8_W));
    for (size_t f = 0; f < j.of.filters; f++) {
        const size_t group = f / (NACRE_DENSE_BLOCKS * lanes),
            wide = nacre_min(NACRE_DENSE_BLOCKS, j.of.out_blocks - group * NACRE_DENSE_BLOCKS) * lanes;
        for (size_t c = 0; c < j.of.channels; c++) {
            int x[9], part[12], points[NACRE_I8_POINTS];
            for (size_t k = 0; k < 9; k++) {
                x[k] = (int8_t)(from[(f * j.of.channels + c) * 9 + k] ^ flip);
                sums[f] += x[k];
            }
            for (size_t k = 0; k < 3; k++) winograd8_points(x + k, 3, part + k, 3);
            for (size_t k = 0; k < NACRE_I8_SIDE; k++) winograd8_points(part + 3 * k, 1, points + NACRE_I8_SIDE * k, 1);
            int16_t *const to = out + group * NACRE_I8_POINTS * j.weight +
                (c / 2 * wide + f % (NACRE_DENSE_BLOCKS * lanes)) * 2 + c % 2;
            for (size_t p = 0; p < NACRE_I8_POINTS; p++) to[p * j.depth * wide] = (int16_t)points[p];
        }
    }
}

const nacre_entry nacre_i8_conv_winograd_entry = {
    .words = sizeof(nacre_i8_conv_blocked_words) / 8, .operands = CONV8_OPERANDS, .run = winograd8_command,
    .fits = winograd8_fits, .scratch = winograd8_scratch, .packed = winograd8_packed, .pack = winograd8_pack,
};

// ---- the oracle ----

static void winograd8_tile_scalar(const nacre_i8_tile *t) {
    const int16_t *const x = (const int16_t *)(const void *)t->x, *const w = (const int16_t *)(const void *)t->w;
    for (size_t l = 0; l < t->blocks * t->lanes; l++) {
        uint32_t sum = 0;
        for (size_t i = 0; i < 2 * t->groups; i++) {
            sum += (uint32_t)(x[i] * w[(i / 2 * t->blocks * t->lanes + l) * 2 + i % 2]);
        }
        t->sums[l] = (int32_t)sum;
    }
}

#define OWN(name) winograd8_##name##_scalar
#define LANES f->lanes
#define LANES_AT_MOST NACRE_CONV_BLOCK
#include "quant/i8_blocked_finish.inc"
#include "quant/i8_winograd.inc"

const nacre_i8_winograd_impl *nacre_i8_conv_winograd__scalar(void) {
    static const nacre_i8_winograd_impl impl = {1, {1}, winograd8_tile_scalar, OWN(forward), OWN(back),
                                                OWN(tile_finish)};
    return &impl;
}
#undef OWN
#undef LANES
#undef LANES_AT_MOST
