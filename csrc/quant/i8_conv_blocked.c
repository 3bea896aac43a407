// Command i8_conv_blocked.
#include <string.h>

#include "conv/command.h"
#include "core/simd.h"
#include "core/vec.h"
#include "quant/i8_blocked.h"
#include "quant/i8_sum.h"

enum {
    BLOCKED8_BAND = 192 << 10,  // bytes of the value under a band of rows at most, or one row
    BLOCKED8_CHUNKS = 8,        // chunks of work wanted, if they are long enough
    BLOCKED8_GRAIN = 1 << 20,   // multiply-adds of a chunk of work
    BLOCKED8_TILES = 4          // tiles with sums that become codes together
};

// The steps that a group of blocks of filters meets, first..stop-1. The first `whole` have all
// channels of a step.
typedef struct {
    size_t first, stop, whole;
} blocked8_span;

static size_t blocked8_groups(const blocked8_job *j) { return nacre_ceil_div(j->out_blocks, j->blocks); }

static size_t blocked8_blocks(const blocked8_job *j, size_t group) {
    return nacre_min(j->blocks, j->out_blocks - group * j->blocks);
}

// Returns the steps that groups first..last of the convolution meet.
static blocked8_span blocked8_span_of_groups(const blocked8_job *j, size_t first, size_t last) {
    blocked8_span s = {0, j->steps, j->whole};
    if (j->group_channels == j->channels) return s;
    s.first = first * j->group_channels / j->step_channels * j->taps;
    s.stop = nacre_ceil_div((last + 1) * j->group_channels, j->step_channels) * j->taps;
    s.whole = nacre_min(s.stop, j->whole) - s.first;
    return s;
}

static blocked8_span blocked8_span_of(const blocked8_job *j, size_t group) {
    const size_t wide = j->blocks * j->lanes, last = nacre_min(j->filters, (group + 1) * wide) - 1;
    return blocked8_span_of_groups(j, group * wide / j->group_filters, last / j->group_filters);
}

// Returns the channels of the steps of a span.
static size_t blocked8_span_depth(const blocked8_job *j, blocked8_span s) {
    return (s.whole * j->groups + (s.stop - s.first - s.whole) * j->rest) * j->impl->group;
}

static size_t blocked8_depth(const blocked8_job *j, size_t group) {
    return blocked8_span_depth(j, blocked8_span_of(j, group));
}

static size_t blocked8_count_weights(const blocked8_job *j) {
    size_t sum = 0;
    for (size_t g = 0; g < blocked8_groups(j); g++) sum += blocked8_depth(j, g) * blocked8_blocks(j, g) * j->lanes;
    return sum;
}

static size_t blocked8_copy_bytes(const blocked8_job *j) {
    return nacre_align_bytes(j->in_blocks * blocked8_copy_lines(j) * j->line * j->unit);
}

// The packed weights are followed by the sums of the weights of filters and, if weights have zero
// points, by weights of 1 for a block, for each group of the convolution.
static size_t blocked8_weight_bytes(const blocked8_job *j) { return nacre_align_bytes(j->weight_count); }

static size_t blocked8_sum_bytes(const blocked8_job *j) {
    return nacre_align_bytes(j->out_blocks * j->lanes * sizeof(int32_t));
}

static size_t blocked8_one_bytes(const blocked8_job *j) {
    size_t sum = 0;
    for (size_t g = 0; j->moved && g < j->filters / j->group_filters; g++) {
        sum += blocked8_span_depth(j, blocked8_span_of_groups(j, g, g)) * j->lanes;
    }
    return nacre_align_bytes(sum);
}

// Returns the bytes of totals of a thread.
static size_t blocked8_total_bytes(const blocked8_job *j) {
    return j->moved ? nacre_align_bytes(j->filters / j->group_filters * j->rows_each * j->width * sizeof(int32_t)) : 0;
}

static size_t blocked8_row_pixels(const blocked8_job *j, size_t o) {
    return j->flat ? nacre_min(j->width, j->pixels - o * j->width) : j->width;
}

// Cuts the work: rows into bands if the weights are few, and filters into parts.
static void blocked8_divide(blocked8_job *j) {
    const size_t rows = j->h.out, row = nacre_max(j->in_blocks * j->d.kernel * j->line * j->unit, 1),
        halo = blocked8_reach(&j->h, 1);
    const size_t weights = j->weight_count, room = BLOCKED8_BAND / row;
    j->rows_each = room > halo ? 1 + (room - halo) / j->h.stride : 1;
    if (weights <= row * rows) {
        j->rows_each = nacre_min(j->rows_each, nacre_max(nacre_ceil_div(rows, BLOCKED8_CHUNKS), 2));
    }
    j->rows_each = nacre_min(j->rows_each, rows);
    j->bands = nacre_ceil_div(rows, j->rows_each);
    const size_t groups = blocked8_groups(j), work = nacre_max(j->rows_each * j->width * weights, 1);
    j->parts = j->images * j->bands >= BLOCKED8_CHUNKS ? 1
        : nacre_min(groups, nacre_ceil_div(BLOCKED8_CHUNKS, j->images * j->bands));
    j->parts = nacre_max(1, nacre_min(j->parts, work / BLOCKED8_GRAIN));
    j->groups_each = nacre_ceil_div(groups, j->parts);
    j->parts = nacre_ceil_div(groups, j->groups_each);
    j->shared = j->copied && j->parts > 1;
    j->band_rows = blocked8_reach(&j->h, j->shared ? rows : j->rows_each);
}

static void blocked8_flatten(blocked8_job *j) {
    const size_t most = nacre_max(1,
        BLOCKED8_BAND / (j->in_blocks * j->unit) / NACRE_DENSE_PIXELS / 2) * NACRE_DENSE_PIXELS;
    j->flat = 1;
    j->images /= j->d.out;
    j->pixels *= j->d.out;
    j->d.in = j->d.out = 1;
    j->width = nacre_min(j->pixels,
                         nacre_min(most, nacre_round_up(nacre_ceil_div(j->pixels, BLOCKED8_CHUNKS),
                                                        NACRE_DENSE_PIXELS)));
    j->w.in = j->w.out = j->width;
    j->h.in = j->h.out = nacre_ceil_div(j->pixels, j->width);
}

// Reports whether the kernel meets padding before the value or beyond its end.
static int blocked8_beyond(const blocked8_axis *a) { return a->pad != 0 || blocked8_reach(a, a->out) > a->in; }

static size_t blocked8_divisor(size_t a, size_t b) { return b == 0 ? a : blocked8_divisor(b, a % b); }

// Returns a job with the members that packed weights depend on.
static blocked8_job blocked8_form(const nacre_kernel *kernel, const nacre_i8_conv_blocked_words *w) {
    const nacre_conv c = nacre_conv_of(&w->conv.extents);
    blocked8_job j = {.impl = ((nacre_i8_blocked_fn *)kernel->fn)(), .channels = c.groups * c.channels,
                      .filters = c.groups * c.filters, .group_channels = c.channels, .group_filters = c.filters,
                      .lanes = (size_t)w->block,
                      .plain = w->plain != 0, .x_signed = w->conv.x_signed != 0, .moved = w->w_moved != 0};
    j.x_bytes = j.impl->x_bytes;
    j.x_unsigned = j.impl->x_unsigned;
    const size_t channels = j.plain ? BLOCKED8_PLAIN : j.lanes;  // of a pixel that steps meet
    j.in_blocks = nacre_ceil_div(j.channels, channels);
    j.out_blocks = nacre_ceil_div(j.filters, j.lanes);
    j.taps = conv_count(c.kernel, c.axes);
    j.window = c.channels * j.taps;
    j.step_channels = c.groups == 1 ? channels : blocked8_divisor(channels, c.channels);
    if (j.step_channels % j.impl->group != 0) j.step_channels = j.impl->group;
    j.steps = nacre_ceil_div(j.channels, j.step_channels) * j.taps;
    j.whole = j.plain ? j.steps : j.channels / j.step_channels * j.taps;
    j.groups = j.step_channels / j.impl->group;
    j.rest = j.plain ? 0 : nacre_ceil_div(j.channels % j.step_channels, j.impl->group);
    j.unit = channels * j.x_bytes;
    // Single blocks meet fewer channels of other groups, but take more time for each.
    j.blocks = 1;
    const size_t single = blocked8_count_weights(&j);
    j.blocks = NACRE_DENSE_BLOCKS;
    j.weight_count = blocked8_count_weights(&j);
    if (single + single / 4 <= j.weight_count) {
        j.blocks = 1;
        j.weight_count = single;
    }
    return j;
}

static blocked8_job blocked8_of(const nacre_kernel *kernel, const nacre_i8_conv_blocked_words *w) {
    const nacre_conv c = nacre_conv_of(&w->conv.extents);
    blocked8_job j = blocked8_form(kernel, w);
    j.d = blocked8_axis_of(&c, 0);
    j.h = blocked8_axis_of(&c, 1);
    j.w = blocked8_axis_of(&c, 2);
    j.images = c.images * j.d.out;
    j.pixels = j.h.out * j.w.out;
    j.run = j.w.dilation == 1 && j.rest == 0 && j.step_channels * j.x_bytes == j.unit ? j.w.kernel : 1;
    j.width = j.w.out;
    j.flip = j.x_signed == j.x_unsigned ? 128 : 0;
    const int beyond = blocked8_beyond(&j.d) || blocked8_beyond(&j.h) || blocked8_beyond(&j.w);
    j.copied = j.plain || beyond || j.x_bytes != 1 || j.flip != 0;
    if (!j.plain && !beyond && j.taps == 1 && j.h.stride == 1 && j.w.stride == 1 && j.d.in == j.d.out &&
        j.h.in == j.h.out && j.w.in == j.w.out) {
        blocked8_flatten(&j);
    }
    j.line = j.copied ? blocked8_reach(&j.w, j.w.out) : j.w.in;
    j.cut = nacre_dense_cut_by(j.impl->pixels, j.width);
    j.last = nacre_dense_cut_by(j.impl->pixels, blocked8_row_pixels(&j, j.h.out - 1));
    blocked8_divide(&j);
    j.row_lines = 1;
    j.slice_lines = j.band_rows;
    return j;
}

// ---- sums ----

typedef struct {
    const blocked8_job *j;
    const char *x;  // base of the steps, for the first row of the band
    size_t x_row;   // bytes from the value of one row to the value of the next
    size_t image, o, rows;
    int32_t *totals;  // of codes under the kernel: [groups of the convolution][rows][width], if w has zero points
} blocked8_band;

// Returns a tile of a band for the steps of a span.
static nacre_i8_tile blocked8_tile_of(const blocked8_job *j, blocked8_span s, size_t blocks, const int8_t *weights,
                                      int32_t *sums) {
    return (nacre_i8_tile){.blocks = blocks, .lanes = j->lanes, .pitch = j->w.stride * j->unit,
                           .step = j->step + s.first / j->run,
                           .steps = (s.stop - s.first) / j->run, .whole = s.whole / j->run,
                           .groups = j->groups * j->run, .rest = j->rest, .w = weights, .sums = sums, .next = weights};
}

static const dense_cut *blocked8_cut(const blocked8_job *j, size_t o) { return o + 1 < j->h.out ? &j->cut : &j->last; }

static int32_t *blocked8_totals_of(const blocked8_band *b, size_t group, size_t o) {
    return b->totals + (group * b->j->rows_each + o - b->o) * b->j->width;
}

// Computes the totals of groups first..last of the convolution: sums by weights of 1.
static void blocked8_sum_codes(const blocked8_band *b, size_t first, size_t last) {
    const blocked8_job *const j = b->j;
    int32_t sums[NACRE_DENSE_PIXELS * NACRE_CONV_BLOCK];
    const int8_t *ones = j->weights + blocked8_weight_bytes(j) + blocked8_sum_bytes(j);
    for (size_t g = 0; g <= last; g++) {
        const blocked8_span s = blocked8_span_of_groups(j, g, g);
        nacre_i8_tile t = blocked8_tile_of(j, s, 1, ones, sums);
        ones += blocked8_span_depth(j, s) * j->lanes;
        for (size_t o = b->o; g >= first && o < b->o + b->rows; o++) {
            const dense_cut *const cut = blocked8_cut(j, o);
            int32_t *to = blocked8_totals_of(b, g, o);
            t.x = b->x + (o - b->o) * b->x_row;
            for (size_t i = 0; i < cut->full + cut->tails; i++) {
                t.pixels = i < cut->full ? cut->most : cut->tail[i - cut->full];
                j->impl->tile(&t);
                for (size_t p = 0; p < t.pixels; p++) *to++ = sums[p * j->lanes];
                t.x += t.pixels * t.pitch;
            }
        }
    }
}

// Subtracts the share of the weights' zero points from the sums of pixels from `pixel` on.
static void blocked8_move(const blocked8_band *b, size_t first, size_t o, size_t pixel, const nacre_i8_tile *t) {
    const blocked8_job *const j = b->j;
    const size_t begin = first * j->lanes, stop = nacre_min(j->filters, begin + t->blocks * j->lanes);
    nacre_i8_move m = {.pixels = t->pixels, .row = t->blocks * j->lanes};
    for (size_t filter = begin; filter < stop; filter += m.lanes) {
        const size_t group = filter / j->group_filters;
        m.lanes = nacre_min(stop, (group + 1) * j->group_filters) - filter;
        m.sums = t->sums + filter - begin;
        m.w_zero = j->w_zero + filter;
        m.totals = blocked8_totals_of(b, group, o) + pixel;
        j->impl->move(&m);
    }
}

// Computes the codes of pixels from `pixel` on of row o of the result, of blocks from `first` on.
static void blocked8_finish(const blocked8_band *b, size_t first, size_t o, size_t pixel, const nacre_i8_tile *t,
                            size_t pixels) {
    const blocked8_job *const j = b->j;
    const size_t image = b->image / j->d.out, slice = b->image % j->d.out;
    nacre_i8_tile_finish f = {.pixels = pixels, .lanes = j->lanes, .row = t->blocks * j->lanes,
                              .then = &j->numbers.then, .zero = j->numbers.y.zero};
    for (size_t k = 0; k < t->blocks; k++) {
        const size_t lane = (first + k) * j->lanes;
        const size_t at = (((image * j->out_blocks + first + k) * j->d.out + slice) * j->pixels + o * j->width +
                           pixel) * j->lanes;
        f.sums = t->sums + k * j->lanes;
        f.start = j->start + lane;
        f.scale = j->scale + lane;
        f.add = j->add + lane;
        f.codes = j->numbers.then.codes == NULL ? NULL : j->numbers.then.codes + at;
        f.y = j->y + at;
        j->impl->finish(&f);
    }
}

// Computes row o of the result, of blocks from `first` on.
static void blocked8_row(const blocked8_band *b, size_t first, size_t o, nacre_i8_tile *t, size_t portion) {
    const blocked8_job *const j = b->j;
    const dense_cut *const cut = blocked8_cut(j, o);
    const size_t tiles = cut->full + cut->tails;
    int32_t *const sums = t->sums;
    size_t pixel = 0, pixels = 0;  // pixels have sums and no codes yet
    t->x = b->x + (o - b->o) * b->x_row;
    for (size_t i = 0; i < tiles; i++) {
        t->pixels = i < cut->full ? cut->most : cut->tail[i - cut->full];
        j->impl->tile(t);
        if (j->moved) blocked8_move(b, first, o, pixel + pixels, t);
        pixels += t->pixels;
        t->sums += t->pixels * t->blocks * j->lanes;
        t->x += t->pixels * t->pitch;
        t->next += portion;
        if ((i + 1) % BLOCKED8_TILES != 0 && i + 1 < tiles) continue;
        t->sums = sums;
        blocked8_finish(b, first, o, pixel, t, pixels);
        pixel += pixels;
        pixels = 0;
    }
}

// Computes the filters of a group for the rows of a band.
static void blocked8_group(const blocked8_band *b, size_t group) {
    const blocked8_job *const j = b->j;
    int32_t sums[BLOCKED8_TILES * NACRE_DENSE_PIXELS * NACRE_DENSE_BLOCKS * NACRE_CONV_BLOCK];
    const size_t blocks = blocked8_blocks(j, group), depth = blocked8_depth(j, group),
        tiles = b->rows * (j->cut.full + j->cut.tails);
    const size_t portion = nacre_ceil_div(depth * blocks * j->lanes, tiles);
    nacre_i8_tile t = blocked8_tile_of(j, blocked8_span_of(j, group), blocks, j->weights + j->place[group], sums);
    t.next = j->weights + j->place[group + 1];
    t.next_step = nacre_ceil_div(portion, depth / j->impl->group);
    for (size_t r = 0; r < b->rows; r++) blocked8_row(b, group * j->blocks, b->o + r, &t, portion);
}

// Computes the filters of a part for the rows of a band.
static void blocked8_chunk(void *job, size_t chunk, size_t thread) {
    const blocked8_job *const j = job;
    const size_t part = chunk % j->parts, band = chunk / j->parts % j->bands;
    blocked8_band b = {.j = j, .image = j->first + chunk / j->parts / j->bands, .o = band * j->rows_each};
    b.rows = nacre_min(j->rows_each, j->h.out - b.o);
    b.x_row = j->h.stride * j->line * j->unit;
    if (!j->copied) {
        const size_t slice = b.image % j->d.out * j->d.stride;
        b.x = (const char *)j->x + (b.image / j->d.out * j->in_blocks * j->d.in + slice) * blocked8_slice(j) * j->unit +
            b.o * b.x_row;
    } else if (j->shared) {
        b.x = j->copies + b.o * b.x_row;
    } else {
        char *const copy = j->copies + thread * blocked8_copy_bytes(j);
        for (size_t k = 0; k < j->in_blocks; k++) nacre_blocked8_copy(j, b.image, k, b.o, b.rows, copy);
        b.x = copy;
    }
    const size_t first = part * j->groups_each, stop = nacre_min(blocked8_groups(j), first + j->groups_each),
        wide = j->blocks * j->lanes;
    if (j->moved) {
        b.totals = j->totals + thread * (blocked8_total_bytes(j) / sizeof(int32_t));
        blocked8_sum_codes(&b, first * wide / j->group_filters,
                           (nacre_min(j->filters, stop * wide) - 1) / j->group_filters);
    }
    for (size_t g = first; g < stop; g++) blocked8_group(&b, g);
}

static void blocked8_fill_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const blocked8_job *const j = job;
    nacre_blocked8_copy(j, j->first, chunk, 0, j->h.out, j->copies);
}

// Sets the offsets of steps, relative to the value under the first pixel of a row, and of weights.
static void blocked8_places(blocked8_job *j) {
    const size_t slice = j->copied ? j->slice_lines * j->line : j->d.dilation * blocked8_slice(j);
    const size_t plane = j->copied ? blocked8_copy_lines(j) * j->line : j->d.in * blocked8_slice(j);
    for (size_t at = 0, s = 0; s < j->steps / j->run; at += j->step_channels * j->x_bytes) {
        for (size_t row = 0; row < j->d.kernel * j->h.kernel; row++) {
            const size_t first = at / j->unit * plane + row / j->h.kernel * slice +
                row % j->h.kernel * j->h.dilation * j->line;
            for (size_t kx = 0; kx < j->w.kernel; kx += j->run, s++) {
                j->step[s] = (first + kx * j->w.dilation) * j->unit + at % j->unit;
            }
        }
    }
    j->place[0] = 0;
    for (size_t g = 0; g < blocked8_groups(j); g++) {
        j->place[g + 1] = j->place[g] + blocked8_depth(j, g) * blocked8_blocks(j, g) * j->lanes;
    }
}

// ---- the command ----

// Lays out scratch and returns its bytes. The memory for copies comes last.
static size_t blocked8_place(blocked8_job *j, char *scratch, size_t threads) {
    const size_t numbers = nacre_blocked8_place(j, scratch);
    j->step = (size_t *)(void *)(scratch + numbers);
    j->place = j->step + j->steps;
    const size_t places = numbers + nacre_align_bytes((j->steps + blocked8_groups(j) + 1) * sizeof(size_t));
    j->totals = (int32_t *)(void *)(scratch + places);
    const size_t bytes = places + threads * blocked8_total_bytes(j);
    j->copies = scratch + bytes;
    return bytes + (j->copied ? blocked8_copy_bytes(j) * (j->shared ? 1 : threads) : 0);
}

static void blocked8_command(const nacre_call *c) {
    const nacre_i8_conv_blocked_words *const w = (const void *)c->words;
    blocked8_job j = blocked8_of(c->kernel, w);
    j.x = nacre_operand(c, CONV8_X);
    j.weights = nacre_operand(c, CONV8_W);
    j.y = nacre_operand(c, CONV8_Y);
    j.numbers = i8_conv_numbers_of(c, &w->conv);
    blocked8_place(&j, c->scratch, nacre_team_threads(c->team));
    nacre_blocked8_put(&j, c, &w->conv, (const int32_t *)(const void *)(j.weights + blocked8_weight_bytes(&j)));
    blocked8_places(&j);
    if (!j.shared) {
        nacre_parallel(c->team, j.images * j.bands * j.parts, blocked8_chunk, &j);
        return;
    }
    for (; j.first < j.images; j.first++) {
        nacre_parallel(c->team, j.in_blocks, blocked8_fill_chunk, &j);
        nacre_parallel(c->team, j.bands * j.parts, blocked8_chunk, &j);
    }
}

static size_t blocked8_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    blocked8_job j = blocked8_of(kernel, (const void *)words);
    return blocked8_place(&j, NULL, threads);
}

static int blocked8_fits(const nacre_kernel *kernel, const int64_t *words) {
    const nacre_i8_conv_blocked_words *const w = (const void *)words;
    const nacre_conv c = nacre_conv_of(&w->conv.extents);
    const nacre_i8_blocked_impl *const impl = ((nacre_i8_blocked_fn *)kernel->fn)();
    return c.axes <= 3 && w->block <= NACRE_CONV_BLOCK && w->block % 4 == 0 && c.channels > 0 && !conv_is_empty(&c) &&
           (!w->plain || (c.groups == 1 && c.channels <= BLOCKED8_PLAIN)) &&
               (impl->lanes == 1 || impl->lanes == (size_t)w->block);
}

static size_t blocked8_packed(const nacre_kernel *kernel, const int64_t *words, size_t operand) {
    if (operand != CONV8_W) return 0;
    const blocked8_job j = blocked8_form(kernel, (const void *)words);
    return blocked8_weight_bytes(&j) + blocked8_sum_bytes(&j) + blocked8_one_bytes(&j);
}

// Writes weights of 1 for the channels of each group of the convolution, [steps][groups of
// channels][lanes][group], and 0 for others.
static void blocked8_pack_ones(const blocked8_job *j, int8_t *out) {
    const size_t each = j->lanes * j->impl->group;
    for (size_t g = 0; j->moved && g < j->filters / j->group_filters; g++) {
        const blocked8_span span = blocked8_span_of_groups(j, g, g);
        for (size_t s = span.first; s < span.stop; s++) {
            for (size_t e = 0; e < (s < j->whole ? j->groups : j->rest) * each; e++) {
                const size_t channel = s / j->taps * j->step_channels + e / each * j->impl->group + e % j->impl->group;
                *out++ = channel / j->group_channels == g;
            }
        }
    }
}

// Packs a group of channels of a filter, which are step apart.
NACRE_INLINE void blocked8_pack_whole(const uint8_t *w, size_t step, size_t group, uint8_t flip, int8_t *out) {
    if (group == 4) {
        const uint8_t four[] = {w[0] ^ flip, w[step] ^ flip, w[2 * step] ^ flip, w[3 * step] ^ flip};
        memcpy(out, four, sizeof four);
        return;
    }
    for (size_t i = 0; i < group; i++) out[i] = (int8_t)(w[i * step] ^ flip);
}

// Packs the weights of a tap, for `channels` channels from `first` on: groups of channels, each for
// the filters from..from+lanes-1. Filters and channels that do not exist get zeros.
NACRE_INLINE void blocked8_pack_tap(const blocked8_job *j, size_t group, const uint8_t *w, size_t tap, size_t first,
                                    size_t channels, size_t from, size_t lanes, uint8_t flip, int8_t *out) {
    const size_t taps = j->taps, each = j->group_channels;
    for (size_t c = first; c < first + channels; c += group) {
        size_t before = from / j->group_filters * each, next = (from / j->group_filters + 1) * j->group_filters;
        for (size_t f = from; f < from + lanes; f++, out += group) {
            if (f == next) {
                before += each;
                next += j->group_filters;
            }
            const size_t own = c - before;  // channel within the filter's group; wraps if it is before the group
            const size_t at = (f * each + own) * taps + tap;
            if (f < j->filters && own < each && each - own >= group) {
                blocked8_pack_whole(w + at, taps, group, flip, out);
            } else {
                for (size_t i = 0; i < group; i++) {
                    out[i] = f < j->filters && own + i < each ? (int8_t)(w[at + i * taps] ^ flip) : 0;
                }
            }
        }
    }
}

// Packs four channels of a filter, which have n taps, for all taps, which go to places step apart.
NACRE_INLINE void blocked8_pack_four(const uint8_t *w, size_t n, uint32_t flip, int8_t *out, size_t step) {
    size_t tap = 0;
#if NACRE_X86_64
    for (; tap + 8 <= n; tap += 8, w += 8) {
        const __m128i a = _mm_loadl_epi64((const __m128i *)(const void *)w);
        const __m128i b = _mm_loadl_epi64((const __m128i *)(const void *)(w + n));
        const __m128i c = _mm_loadl_epi64((const __m128i *)(const void *)(w + 2 * n));
        const __m128i d = _mm_loadl_epi64((const __m128i *)(const void *)(w + 3 * n));
        const __m128i ab = _mm_unpacklo_epi8(a, b), cd = _mm_unpacklo_epi8(c, d), flips = _mm_set1_epi32((int)flip);
        uint32_t eight[8];
        _mm_storeu_si128((__m128i *)(void *)eight, _mm_xor_si128(_mm_unpacklo_epi16(ab, cd), flips));
        _mm_storeu_si128((__m128i *)(void *)(eight + 4), _mm_xor_si128(_mm_unpackhi_epi16(ab, cd), flips));
        for (size_t i = 0; i < 8; i++, out += step) memcpy(out, eight + i, sizeof eight[i]);
    }
#endif
    for (; tap < n; tap++, w++, out += step) {
        const uint8_t four[] = {w[0], w[n], w[2 * n], w[3 * n]};
        uint32_t all;
        memcpy(&all, four, sizeof all);
        all ^= flip;
        memcpy(out, &all, sizeof all);
    }
}

// Packs the weights of steps first..stop-1 of a convolution without groups for the filters
// from..from+lanes-1, as blocked8_pack_tap does for each step. It reads weights in the order of
// memory.
static void blocked8_pack_dense(const blocked8_job *j, const uint8_t *w, size_t first, size_t stop, size_t from,
                                size_t lanes, uint8_t flip, int8_t *out) {
    enum { GROUP = 4 };
    const size_t taps = j->taps, all = j->group_channels;
    const uint32_t flips = flip * 0x01010101u;
    for (size_t s = first; s < stop; s += taps) {
        const size_t groups = s < j->whole ? j->groups : j->rest, step = groups * GROUP * lanes;
        for (size_t g = 0; g < groups; g++) {
            const size_t c = s / taps * j->step_channels + g * GROUP, n = c < all ? nacre_min(GROUP, all - c) : 0;
            for (size_t l = 0; l < lanes; l++) {
                const uint8_t *const at = w + ((from + l) * all + c) * taps;
                int8_t *const to = out + (g * lanes + l) * GROUP;
                if (from + l < j->filters && n == GROUP) {
                    if (taps == 9) {
                        blocked8_pack_four(at, 9, flips, to, step);
                    } else {
                        blocked8_pack_four(at, taps, flips, to, step);
                    }
                    continue;
                }
                for (size_t i = 0; i < GROUP * taps; i++) {
                    const int there = from + l < j->filters && i % GROUP < n;
                    to[i / GROUP * step + i % GROUP] = there ? (int8_t)(at[i % GROUP * taps + i / GROUP] ^ flip) : 0;
                }
            }
        }
        out += taps * step;
    }
}

// Weights are [filters][channels][taps]. Packed they are [groups of blocks of filters][steps]
// [groups of channels][blocks of filters][lanes][group], with zeros after the last filter and the
// last channel, and for channels of other groups of the convolution. Unsigned codes are offset by
// 128.
static void blocked8_pack(const nacre_kernel *kernel, const int64_t *words, size_t operand, const void *src,
                          void *dst) {
    (void)operand;
    const nacre_i8_conv_blocked_words *const w = (const void *)words;
    const blocked8_job j = blocked8_form(kernel, w);
    const size_t group = j.impl->group;
    const uint8_t *const from = src, flip = w->conv.w_signed ? 0 : 128;
    int8_t *out = dst;
    int32_t *const sums = (int32_t *)(void *)((int8_t *)dst + blocked8_weight_bytes(&j));
    memset(sums, 0, blocked8_sum_bytes(&j));
    for (size_t f = 0; f < j.filters; f++) sums[f] = nacre_i8_sum(j.window, from + f * j.window, flip);
    blocked8_pack_ones(&j, (int8_t *)sums + blocked8_sum_bytes(&j));
    for (size_t g = 0; g < blocked8_groups(&j); g++) {
        const size_t lanes = blocked8_blocks(&j, g) * j.lanes, filter = g * j.blocks * j.lanes;
        const blocked8_span span = blocked8_span_of(&j, g);
        if (group == 4 && j.group_filters >= j.filters && span.first % j.taps == 0 && span.stop % j.taps == 0) {
            blocked8_pack_dense(&j, from, span.first, span.stop, filter, lanes, flip, out);
            out += blocked8_depth(&j, g) * lanes;
            continue;
        }
        for (size_t s = span.first; s < span.stop; s++) {
            const size_t tap = s % j.taps, first = s / j.taps * j.step_channels;
            const size_t channels = (s < j.whole ? j.groups : j.rest) * group;
            if (group == 4) {
                blocked8_pack_tap(&j, 4, from, tap, first, channels, filter, lanes, flip, out);
            } else {
                blocked8_pack_tap(&j, group, from, tap, first, channels, filter, lanes, flip, out);
            }
            out += channels * lanes;
        }
    }
}

const nacre_entry nacre_i8_conv_blocked_entry = {
    .words = sizeof(nacre_i8_conv_blocked_words) / 8, .operands = CONV8_OPERANDS, .run = blocked8_command,
    .fits = blocked8_fits, .scratch = blocked8_scratch, .packed = blocked8_packed, .pack = blocked8_pack,
};

// ---- the oracle of tiles ----

static void blocked8_tile_scalar(const nacre_i8_tile *t) {
    const uint8_t *const x = (const uint8_t *)t->x;
    for (size_t l = 0; l < t->blocks * t->lanes; l++) {
        const int8_t *w = t->w + l * 2;
        uint32_t sum = 0;
        for (size_t s = 0; s < t->steps; s++) {
            const size_t groups = s < t->whole ? t->groups : t->rest;
            for (size_t i = 0; i < 2 * groups; i++) {
                sum += (uint32_t)(x[t->step[s] + i] * w[i / 2 * t->blocks * t->lanes * 2 + i % 2]);
            }
            w += groups * t->blocks * t->lanes * 2;
        }
        t->sums[l] = (int32_t)sum;
    }
}

#define OWN(name) blocked8_##name##_scalar
#define LANES f->lanes
#define LANES_AT_MOST NACRE_CONV_BLOCK
#include "quant/i8_blocked_finish.inc"
#include "quant/i8_blocked_move.inc"

const nacre_i8_blocked_impl *nacre_i8_conv_blocked__scalar(void) {
    static const nacre_i8_blocked_impl impl = {1, 2, 1, 1, {1}, blocked8_tile_scalar, OWN(move), OWN(tile_finish)};
    return &impl;
}
#undef OWN
#undef LANES
#undef LANES_AT_MOST
