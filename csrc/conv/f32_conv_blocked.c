// Command f32_conv_blocked.
#include <string.h>

#include "conv/command.h"
#include "conv/dense.h"

enum {
    DENSE_CHUNKS = 4,          // chunks of work for each of several threads, if they are long enough
    DENSE_GRAIN = 1 << 18,     // multiply-adds of a chunk of work
    DENSE_HALF_PIXELS = 256,   // of all images at most, for channels to be summed in halves
    DENSE_HALF_CHANNELS = 256  // least number of channels for that
};

size_t nacre_dense_half(const nacre_conv_dense_words *w) {
    const nacre_conv c = nacre_conv_of(&w->conv.extents);
    if (w->plain != 0 || c.groups != 1 || c.axes > 2 || c.channels < DENSE_HALF_CHANNELS ||
        c.channels < 2 * c.filters) {
        return 0;
    }
    for (size_t d = 0; d < c.axes; d++) {
        if (c.kernel[d] != 1 || c.stride[d] != 1 || c.pad[d] != 0 || c.in[d] != c.out[d]) return 0;
    }
    return DENSE_HALF_PIXELS * nacre_round_up(c.filters, (size_t)w->block);
}

int nacre_dense_halved(const nacre_conv_dense_words *w) {
    const nacre_conv c = nacre_conv_of(&w->conv.extents);
    return nacre_dense_half(w) > 0 && c.images * conv_count(c.out, c.axes) <= DENSE_HALF_PIXELS;
}

typedef struct {
    size_t in, out, kernel, stride, dilation, pad;
} dense_axis;

typedef struct {
    const nacre_f32_dense_impl *impl;
    size_t images, groups, channels, filters, lanes;  // images are all slices; channels and filters of one group
    size_t first;                  // of the current images
    size_t chunks;                 // least number of chunks wanted
    dense_axis d, h, w;            // slices of a result along d are computed separately
    dense_axis from_h, from_w;     // of a picked value: its rows and columns in memory
    size_t width;                  // pixels of a row of the result (a segment if width < w.out); the last may have fewer
    size_t in_blocks, out_blocks;  // of all groups
    size_t group_blocks;           // largest number of blocks of filters that a group shares in
    size_t step_channels;          // of a block, with contiguous weights: all, or a divisor
    size_t in_period, out_period;  // number of groups after which a group begins at a block again
    size_t taps, steps, steps_each;  // of one group
    size_t halves, half_steps;     // of the channels
    int beside;                    // whether the second half is summed in its own memory, else added to the result
    size_t whole, rest;            // steps of whole blocks, channels of each other step
    size_t slice_steps;            // steps of a position of the kernel along d
    size_t depth;                  // channels of all steps
    int plain, copied, shared;     // of x; whether steps refer to a copy, and whether all chunks share it
    int picked;                    // whether the copy has pixels a stride apart, which become consecutive
    size_t planes, unit;           // of x: channels if plain, else blocks; floats of a pixel of either
    size_t rows_each, bands, parts, groups_each;
    // Of a copy: slots of a row, of which tap kx of a row of the kernel meets slot kx % slots;
    // pixels of a slot; and rows. Plain rows are one slot.
    size_t slots, part, band_rows;
    size_t pitch;                  // of tiles
    dense_cut cut, last;           // of a row, and of the last row
    size_t *step;
    float *scratch;
    const float *x, *weights, *bias, *add;
    float *y, *half;
    nacre_f32_finish finish;
} dense_job;

// Takes the sizes of least cost that add up to n. A tile of fewer than 4 pixels takes as long as
// one of 4.
dense_cut nacre_dense_cut_by(const size_t *sizes, size_t n) {
    const size_t most = sizes[0];
    dense_cut cut = {.most = most};
    if (n > 2 * most) cut.full = (n - most) / most;
    n -= cut.full * most;
    size_t cost[NACRE_DENSE_TAIL + 1] = {0}, size[NACRE_DENSE_TAIL + 1] = {0};
    for (size_t i = 1; i <= n; i++) {
        for (const size_t *s = sizes; *s != 0; s++) {
            if (*s > i) continue;
            const size_t c = cost[i - *s] + 2 * nacre_max(*s, 4) + 1;
            if (size[i] == 0 || c < cost[i]) cost[i] = c, size[i] = *s;
        }
    }
    for (; n > 0; n -= size[n]) cut.tail[cut.tails++] = size[n];
    return cut;
}

dense_cut nacre_dense_cut(const nacre_f32_dense_impl *impl, int plain, size_t n) {
    dense_cut cut = nacre_dense_cut_by(plain ? impl->plain_pixels : impl->pixels, n);
    cut.plain = plain;
    return cut;
}

static dense_axis dense_axis_of(const nacre_conv *c, size_t d) {
    return (dense_axis){c->in[d], c->out[d], c->kernel[d], c->stride[d], c->dilation[d], c->pad[d]};
}

// dense_groups_in returns the groups of blocks of filters of one group of the convolution,
// dense_groups of all.
static size_t dense_groups_in(const dense_job *j) { return nacre_ceil_div(j->group_blocks, NACRE_DENSE_BLOCKS); }

static size_t dense_groups(const dense_job *j) { return j->groups * dense_groups_in(j); }

static size_t dense_copy_floats(const dense_job *j) {
    return j->planes * j->d.kernel * j->band_rows * j->slots * j->part * j->unit;
}

// Returns the pixels of a slice of the value.
static size_t dense_slice(const dense_job *j) { return j->w.in * (j->width < j->w.out ? 1 : j->h.in); }

// Returns the extent, with padding, of the value under n places of the result along an axis.
static size_t dense_reach(const dense_axis *a, size_t n) {
    return (n - 1) * a->stride + (a->kernel - 1) * a->dilation + 1;
}

static size_t dense_divisor(size_t a, size_t b) { return b == 0 ? a : dense_divisor(b, a % b); }

// Returns the groups of a part if the groups alone make that many chunks. Groups of the convolution
// that share a block are in one part.
static size_t dense_groups_of(const dense_job *j, size_t chunks) {
    const size_t groups = dense_groups(j), unit = j->out_period == 1 ? 1 : j->out_period * dense_groups_in(j);
    return nacre_round_up(nacre_ceil_div(groups, nacre_max(1, nacre_min(groups, chunks))), unit);
}

// dense_first_block and dense_blocks return the first block of filters that group g of the
// convolution shares in, and the number of such blocks.
static size_t dense_first_block(const dense_job *j, size_t g) { return g * j->filters / j->lanes; }

static size_t dense_blocks(const dense_job *j, size_t g) {
    return nacre_ceil_div((g + 1) * j->filters, j->lanes) - dense_first_block(j, g);
}

// Returns the blocks that a tile takes of group g, from its block `within` on.
static size_t dense_blocks_from(const dense_job *j, size_t g, size_t within) {
    const size_t blocks = dense_blocks(j, g);
    return within < blocks ? nacre_min(NACRE_DENSE_BLOCKS, blocks - within) : 0;
}

// Returns the number of bands wanted of a value of consecutive pixels, so that with the parts of
// the filters there are enough chunks.
static size_t dense_segments(const dense_job *j) {
    return nacre_ceil_div(j->chunks, j->images * nacre_ceil_div(dense_groups(j), dense_groups_of(j, j->chunks)));
}

// Returns the pixels of a row of such a value: at least half a tile, and few enough for a band and
// for enough chunks.
static size_t dense_segment(const dense_job *j) {
    const size_t half = NACRE_DENSE_PIXELS / 2, pixel = j->planes * j->unit * j->w.stride;
    const size_t most = nacre_max(1, j->impl->band / pixel / NACRE_DENSE_PIXELS / 2) * NACRE_DENSE_PIXELS;
    const size_t least = nacre_ceil_div(DENSE_GRAIN, j->depth * NACRE_DENSE_BLOCKS * j->lanes);
    const size_t each = nacre_round_up(nacre_max(nacre_ceil_div(j->w.out, dense_segments(j)), least), half);
    return nacre_min(j->w.out, nacre_min(most, each));
}

// Cuts a value of one row into segments. Each meets a row of the copy, or a part of the value's
// row.
static void dense_cut_line(dense_job *j) {
    j->width = dense_segment(j);
    const size_t n = nacre_ceil_div(j->w.out, j->width);
    j->h = (dense_axis){n, n, 1, 1, 1, 0};
}

// Cuts the work: rows into bands if the weights are few, and filters into parts.
static void dense_divide(dense_job *j) {
    const size_t rows = j->h.out, row = j->planes * j->d.kernel * j->unit * (j->copied ? j->slots * j->part : j->width);
    const size_t weights = j->groups * j->depth * j->filters, halo = dense_reach(&j->h, 1);
    const size_t room = j->impl->band / nacre_max(row, 1);
    j->rows_each = room > halo ? 1 + (room - halo) / j->h.stride : 1;
    const size_t most = j->width < j->w.out ? nacre_ceil_div(rows, dense_segments(j)) : rows;
    const int few = weights <= row * rows;
    j->rows_each = nacre_min(j->rows_each,
                             few ? nacre_max(nacre_ceil_div(rows, j->chunks), j->width < j->w.out ? 1 : 2) : most);
    j->rows_each = nacre_min(j->rows_each, rows);
    j->bands = nacre_ceil_div(rows, j->rows_each);
    const size_t work = nacre_max(j->rows_each * j->width * weights, 1),
        chunks = nacre_ceil_div(j->chunks, j->halves * j->images * j->bands);
    j->groups_each = dense_groups_of(j, nacre_min(chunks, work / DENSE_GRAIN));
    j->parts = nacre_ceil_div(dense_groups(j), j->groups_each);
    j->shared = j->copied && j->parts > 1;
    j->band_rows = dense_reach(&j->h, j->shared ? rows : j->rows_each);
}

// Returns the pixels of row o of the result.
static size_t dense_pixels(const dense_job *j, size_t o) {
    return nacre_min(j->width, j->w.out - (j->width < j->w.out ? o * j->width : 0));
}

// Returns the members that packed weights depend on. A step has the channels of a block; the last
// ones may have fewer. If groups do not begin at blocks, all steps have the largest number of
// channels that divides both. The same holds for three axes, where each slice of the kernel has
// steps of all channels.
static dense_job dense_form(const nacre_conv_dense_words *w) {
    const nacre_conv c = nacre_conv_of(&w->conv.extents);
    const dense_axis one = {1, 1, 1, 1, 1, 0};
    dense_job j = {.groups = c.groups, .channels = c.channels, .filters = c.filters, .lanes = (size_t)w->block,
                   .plain = w->plain != 0};
    j.d = c.axes == 3 ? dense_axis_of(&c, 0) : one;
    j.h = c.axes == 1 ? one : dense_axis_of(&c, c.axes - 2);
    j.w = dense_axis_of(&c, c.axes - 1);
    j.in_blocks = nacre_ceil_div(c.groups * c.channels, j.lanes);
    j.out_blocks = nacre_ceil_div(c.groups * c.filters, j.lanes);
    const size_t in = dense_divisor(j.lanes, c.channels), out = dense_divisor(j.lanes, c.filters);
    j.in_period = c.groups == 1 ? 1 : j.lanes / in;
    j.out_period = c.groups == 1 ? 1 : j.lanes / out;
    j.group_blocks = c.groups == 1 ? j.out_blocks : nacre_ceil_div(c.filters + j.lanes - out, j.lanes);
    j.taps = j.d.kernel * j.h.kernel * j.w.kernel;
    j.depth = c.channels * j.taps;
    j.step_channels = c.groups == 1 && c.axes < 3 ? j.lanes : in;
    j.steps = j.plain ? j.depth : nacre_ceil_div(c.channels, j.step_channels) * j.taps;
    j.slice_steps = j.steps / j.d.kernel;
    const int blocks = !j.plain && j.step_channels == j.lanes;
    j.whole = blocks ? c.channels / j.lanes * j.taps : 0;
    j.rest = j.plain ? 1 : blocks ? c.channels % j.lanes : j.step_channels;
    return j;
}

// Returns the job of a command that sums the channels in that many parts, 1 or 2.
static dense_job dense_of(const nacre_kernel *kernel, const nacre_conv_dense_words *w, size_t halves, size_t threads) {
    dense_job j = dense_form(w);
    j.impl = ((nacre_f32_dense_fn *)kernel->fn)();
    j.chunks = threads > 1 ? threads * DENSE_CHUNKS : 1;
    j.images = (size_t)w->conv.extents.images * j.d.out;
    j.steps_each = nacre_max(1, j.impl->weights / (NACRE_DENSE_BLOCKS * j.lanes * (j.plain ? 1 : j.step_channels)));
    j.planes = j.plain ? j.channels : j.in_blocks;
    j.unit = j.plain ? 1 : j.lanes;
    const int inside = j.h.pad == 0 && j.w.pad == 0 && dense_reach(&j.h, j.h.out) <= j.h.in &&
        dense_reach(&j.w, j.w.out) <= j.w.in;
    j.copied = j.plain || !inside || j.w.stride != 1 || j.h.stride != 1;
    j.width = j.w.out;
    j.picked = j.copied && inside && !j.plain && j.taps == 1;
    j.from_h = j.h;
    j.from_w = j.w;
    if (j.picked) {
        j.h = (dense_axis){j.h.out, j.h.out, 1, 1, 1, 0};
        j.w = (dense_axis){j.w.out, j.w.out, 1, 1, 1, 0};
    }
    if ((j.picked || !j.copied) && j.taps == 1 && j.w.out == j.w.in && j.h.out == j.h.in) {
        // The rows of such a value are consecutive, like its pixels.
        j.w.in = j.w.out = j.w.out * j.h.out;
        dense_cut_line(&j);
    } else if (j.h.in == 1 && j.h.out == 1 && j.h.kernel == 1 && j.h.pad == 0) {
        dense_cut_line(&j);
    }
    j.slots = j.plain ? 1 : nacre_min(j.w.stride / dense_divisor(j.w.stride, j.w.dilation), j.w.kernel);
    j.part = j.picked ? j.width : j.plain ? dense_reach(&j.w, j.width)
        : j.width + (j.w.kernel - 1) * j.w.dilation / j.w.stride;
    j.halves = halves;
    j.half_steps = nacre_ceil_div(j.steps, j.halves);
    j.beside = j.halves > 1 && (threads > 1 || j.half_steps > j.steps_each);
    j.cut = nacre_dense_cut(j.impl, j.plain, j.width);
    j.last = nacre_dense_cut(j.impl, j.plain, dense_pixels(&j, j.h.out - 1));
    dense_divide(&j);
    j.pitch = j.plain ? j.w.stride : j.lanes;
    return j;
}

// ---- the copy: rows of the value with zeros around, columns ordered by remainder of the stride
// ----

// Copies n pixels of x, every step-th.
static inline void dense_pick(const float *x, size_t step, size_t lanes, size_t n, float *dst) {
    for (size_t i = 0; i < n; i++) memcpy(dst + i * lanes, x + i * step * lanes, lanes * sizeof(float));
}

// Copies n pixels of a slot. The first is column `at` of a padded row; x points to the columns
// after its padding.
static void dense_copy_slot(const dense_job *j, const float *x, size_t at, size_t step, size_t n, float *dst) {
    const size_t unit = j->unit, end = j->w.in + j->w.pad;
    const size_t before = at < j->w.pad ? nacre_min(n, nacre_ceil_div(j->w.pad - at, step)) : 0;
    const size_t first = at + before * step,
        inside = first < end ? nacre_min(n - before, nacre_ceil_div(end - first, step)) : 0;
    memset(dst, 0, before * unit * sizeof(float));
    dst += before * unit;
    if (inside > 0) x += (first - j->w.pad) * unit;
    if (step == 1) {
        memcpy(dst, x, inside * unit * sizeof(float));
    } else if (unit == 16) {
        dense_pick(x, step, 16, inside, dst);
    } else {
        dense_pick(x, step, unit, inside, dst);
    }
    memset(dst + inside * unit, 0, (n - before - inside) * unit * sizeof(float));
}

// Copies a row from a slice of a plane of a picked value.
static void dense_pick_row(const dense_job *j, size_t slice, size_t at, float *dst) {
    const dense_axis *const h = &j->from_h, *const w = &j->from_w;
    for (size_t p = at * j->width, end = p + dense_pixels(j, at), n; p < end; p += n, dst += n * j->unit) {
        const size_t row = p / w->out * h->stride, column = p % w->out;
        n = nacre_min(end - p, w->out - column);
        dense_pick(j->x + ((slice * h->in + row) * w->in + column * w->stride) * j->unit, w->stride, j->unit, n, dst);
    }
}

// Copies a row from a slice of a plane. It writes zeros if the value has no such row.
static void dense_copy_row(const dense_job *j, size_t slice, size_t at, float *dst) {
    const size_t line = j->part * j->unit;
    if (j->picked) {
        dense_pick_row(j, slice, at, dst);
        return;
    }
    if (at < j->h.pad || at - j->h.pad >= j->h.in) {
        memset(dst, 0, j->slots * line * sizeof(float));
        return;
    }
    const int segments = j->width < j->w.out;
    const float *const x = j->x + (slice * dense_slice(j) + (segments ? 0 : at - j->h.pad) * j->w.in) * j->unit;
    const size_t first = segments ? at * j->width * j->w.stride : 0;
    for (size_t slot = 0; slot < j->slots; slot++) {
        dense_copy_slot(j, x, first + slot * j->w.dilation % j->w.stride, j->plain ? 1 : j->w.stride, j->part,
                        dst + slot * line);
    }
}

// Reports whether any row of the result meets a row of the value's band. Rows count from the first
// one under row 0 of the result.
static int dense_meets(const dense_job *j, size_t row) {
    for (size_t ky = 0; ky < j->h.kernel && ky * j->h.dilation <= row; ky++) {
        if ((row - ky * j->h.dilation) % j->h.stride == 0) return 1;
    }
    return 0;
}

// Returns the end of the positions of the kernel along d that meet the value from slice o of the
// result, and sets *first to their beginning.
static size_t dense_slices(const dense_job *j, size_t o, size_t *first) {
    const size_t at = o * j->d.stride, end = j->d.in + j->d.pad;
    const size_t stop = at >= end ? 0 : nacre_min(j->d.kernel, nacre_ceil_div(end - at, j->d.dilation));
    *first = at >= j->d.pad ? 0 : nacre_ceil_div(j->d.pad - at, j->d.dilation);
    *first = nacre_min(*first, stop);
    return stop;
}

// Copies the rows of a plane under `rows` rows of the result from o on, of each slice under them.
static void dense_copy(const dense_job *j, size_t image, size_t plane, size_t o, size_t rows, float *dst) {
    const size_t line = j->slots * j->part * j->unit, at = image % j->d.out * j->d.stride;
    size_t kd;
    for (const size_t stop = dense_slices(j, image % j->d.out, &kd); kd < stop; kd++) {
        const size_t slice = (image / j->d.out * j->planes + plane) * j->d.in + at + kd * j->d.dilation - j->d.pad;
        float *to = dst + (plane * j->d.kernel + kd) * j->band_rows * line;
        for (size_t i = 0; i < dense_reach(&j->h, rows); i++, to += line) {
            if (dense_meets(j, i)) dense_copy_row(j, slice, o * j->h.stride + i, to);
        }
    }
}

// ---- sums ----

typedef struct {
    const dense_job *j;
    const float *x;     // base of the steps, for row 0 of the band
    size_t x_row;       // floats from the value of one row to the value of the next
    size_t x_plane;     // floats from a block of channels to the next
    size_t image, o, rows;
    size_t half;        // of the channels
} dense_band;

// Returns the channels of the first s steps.
static size_t dense_channels(const dense_job *j, size_t s) {
    return nacre_min(s, j->whole) * j->lanes + (s > j->whole ? s - j->whole : 0) * j->rest;
}

// Returns the weights of `blocks` blocks, from block `first` of group g of the convolution and from
// step s on.
static const float *dense_weights(const dense_job *j, size_t g, size_t first, size_t blocks, size_t s) {
    return j->weights + ((g * j->group_blocks + first) * j->depth + blocks * dense_channels(j, s)) * j->lanes;
}

void nacre_dense_row(const nacre_f32_dense_impl *impl, const dense_cut *cut, nacre_f32_dense_tile *t, size_t portion) {
    void (*const tile)(const nacre_f32_dense_tile *t) = cut->plain ? impl->plain_tile : impl->tile;
    for (size_t i = 0; i < cut->full + cut->tails; i++) {
        t->pixels = i < cut->full ? cut->most : cut->tail[i - cut->full];
        tile(t);
        const size_t moved = t->pixels * t->lanes;
        t->x += t->pixels * t->pitch;
        t->y += moved;
        if (t->add != NULL) t->add += moved;
        t->next += portion;
    }
}

// Computes the filters of a group, from its first block.
static void dense_group(const dense_band *b, size_t group) {
    const dense_job *const j = b->j;
    const size_t of = group / dense_groups_in(j), within = group % dense_groups_in(j) * NACRE_DENSE_BLOCKS;
    const size_t first = dense_first_block(j, of) + within, blocks = dense_blocks_from(j, of, within);
    if (blocks == 0) return;
    const float *const x = b->x + of / j->in_period * j->in_period * j->channels / j->lanes * b->x_plane;
    const size_t *const step = j->step + of % j->in_period * j->steps;
    const size_t plane = j->w.out * (j->width < j->w.out ? 1 : j->h.out) * j->lanes;
    const size_t image = b->image / j->d.out, slice = b->image % j->d.out;
    float start[NACRE_DENSE_BLOCKS * NACRE_CONV_BLOCK], own[NACRE_DENSE_BLOCKS * NACRE_CONV_BLOCK];
    int shared = 0;  // whether other groups have filters in these blocks
    for (size_t l = 0, f = first * j->lanes; l < blocks * j->lanes; l++, f++) {
        const int there = f >= of * j->filters && f < (of + 1) * j->filters;
        start[l] = there && j->bias != NULL ? j->bias[f] : 0;
        own[l] = there ? -1.0f : 0.0f;
        shared |= !there && f < j->groups * j->filters;
    }
    size_t begin, end = dense_slices(j, slice, &begin) * j->slice_steps, s = begin *= j->slice_steps;
    float *const y = b->half > 0 && j->beside ? j->half : j->y;
    const int added = b->half > 0 && !j->beside;
    const nacre_f32_finish *const finish = b->half + 1 < j->halves || j->beside ? NULL : &j->finish;
    if (j->halves > 1) {
        s = begin = b->half * j->half_steps;
        end = nacre_min(j->steps, begin + j->half_steps);
        if (b->half > 0) memset(start, 0, sizeof start);
    }
    do {
        const size_t stop = nacre_min(end, s + j->steps_each), last = stop == end;
        const size_t channels = nacre_max(1, dense_channels(j, stop) - dense_channels(j, s));
        const size_t more = last ? dense_blocks_from(j, of, within + blocks) : 0;  // weights to prefetch
        const float *const next =
            more > 0 ? dense_weights(j, of, within + blocks, more, begin) : dense_weights(j, of, within, blocks, stop);
        const nacre_f32_dense_tile common = {
            .blocks = blocks, .lanes = j->lanes, .pitch = j->pitch, .step = step + s, .steps = stop - s,
            .whole = j->whole > s ? nacre_min(j->whole, stop) - s : 0, .rest = j->rest,
            .w = dense_weights(j, of, within, blocks, s),
            .start = s == begin && !added ? start : NULL, .y_block = j->d.out * plane, .own = shared ? own : NULL,
            .finish = last ? finish : NULL};
        for (size_t r = 0; r < b->rows; r++) {
            const size_t o = b->o + r, pixels = dense_pixels(j, o),
                at = ((image * j->out_blocks + first) * j->d.out + slice) * plane + o * j->width * j->lanes;
            const dense_cut *const cut = o + 1 < j->h.out ? &j->cut : &j->last;
            const size_t tiles = b->rows * (cut->full + cut->tails),
                portion = nacre_ceil_div(channels * blocks * j->lanes, tiles);
            nacre_f32_dense_tile t = common;
            t.x = x + r * b->x_row;
            t.y = y + at;
            t.add = s == begin && b->half == 0 && j->add != NULL ? j->add + at : NULL;
            t.next = next + r * (cut->full + cut->tails) * portion;
            t.next_step = nacre_ceil_div(portion, channels);
            nacre_dense_row(j->impl, cut, &t, portion);
            for (size_t k = 0; k < blocks && last && finish != NULL && finish->map != NULL; k++) {
                if ((of + 1) * j->filters < nacre_min((first + k + 1) * j->lanes, j->groups * j->filters)) continue;  // the next group maps it
                float *const made = y + at + k * j->d.out * plane;
                finish->map(made, made, pixels * j->lanes, finish->params);
            }
        }
        s = stop;
    } while (s < end);
}

// Computes the filters of a part for the rows of a band.
static void dense_chunk(void *job, size_t chunk, size_t thread) {
    const dense_job *const j = job;
    const size_t part = chunk % j->parts, band = chunk / j->parts % j->bands, image = chunk / j->parts / j->bands;
    dense_band b = {.j = j, .image = j->first + image % j->images, .o = band * j->rows_each, .half = image / j->images};
    b.rows = nacre_min(j->rows_each, j->h.out - b.o);
    if (!j->copied) {
        b.x_row = (j->width < j->w.out ? j->width : j->w.in) * j->lanes;
        // If the first positions of the kernel along d meet padding, x begins before the value.
        const ptrdiff_t slice = (ptrdiff_t)(b.image % j->d.out * j->d.stride) - (ptrdiff_t)j->d.pad;
        b.x_plane = j->d.in * dense_slice(j) * j->lanes;
        b.x = j->x + b.image / j->d.out * j->planes * b.x_plane + slice * (ptrdiff_t)(dense_slice(j) * j->lanes) +
            b.o * b.x_row;
    } else {
        b.x_row = j->h.stride * j->slots * j->part * j->unit;
        b.x_plane = j->d.kernel * j->band_rows * j->slots * j->part * j->unit;
        b.x = j->scratch + (j->shared ? b.o * b.x_row : thread * dense_copy_floats(j));
        for (size_t k = 0; k < j->planes && !j->shared; k++) {
            dense_copy(j, b.image, k, b.o, b.rows, j->scratch + thread * dense_copy_floats(j));
        }
    }
    for (size_t g = part * j->groups_each; g < nacre_min(dense_groups(j), (part + 1) * j->groups_each); g++) {
        dense_group(&b, g);
    }
}

// Adds the second half of the channels to a block of filters, by tiles without steps.
static void dense_join_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const dense_job *const j = job;
    for (size_t o = 0; o < j->h.out; o++) {
        const size_t n = dense_pixels(j, o) * j->lanes,
            at = (chunk * j->from_h.out * j->from_w.out + o * j->width) * j->lanes;
        nacre_f32_dense_tile t = {.blocks = 1, .lanes = j->lanes, .pitch = j->pitch, .x = j->x, .w = j->weights,
                                  .add = j->half + at, .y = j->y + at, .finish = &j->finish, .next = j->weights};
        nacre_dense_row(j->impl, o + 1 < j->h.out ? &j->cut : &j->last, &t, 0);
        if (j->finish.map != NULL) j->finish.map(j->y + at, j->y + at, n, j->finish.params);
    }
}

typedef struct {
    const dense_job *j;
    size_t image;
} dense_fill;

static void dense_fill_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const dense_fill *const f = job;
    dense_copy(f->j, f->image, chunk, 0, f->j->h.out, f->j->scratch);
}

// Writes the offsets of the steps of a position of the kernel and of the channels from `first` on,
// relative to the value under the first pixel of a row. It returns the address of the next step.
static size_t *dense_steps_at(const dense_job *j, size_t first, size_t kd, size_t ky, size_t kx, size_t *step) {
    const size_t row = ky * j->h.dilation, column = kx * j->w.dilation, block = first / j->lanes,
        lane = first % j->lanes;
    if (!j->copied) {
        *step++ = ((block * j->d.in + kd * j->d.dilation) * dense_slice(j) + row * j->w.in + column) * j->lanes + lane;
    } else if (!j->plain) {
        const size_t line = ((block * j->d.kernel + kd) * j->band_rows + row) * j->slots + kx % j->slots;
        *step++ = (line * j->part + column / j->w.stride) * j->lanes + lane;
    }
    for (size_t c = first; j->plain && c < nacre_min(j->channels, first + j->step_channels); c++) {
        *step++ = ((c * j->d.kernel + kd) * j->band_rows + row) * j->part + column;
    }
    return step;
}

// Writes the steps of each group of a period.
static void dense_steps(dense_job *j) {
    size_t *step = j->step;
    for (size_t i = 0; i < j->in_period * j->d.kernel; i++) {
        const size_t first = i / j->d.kernel * j->channels, kd = i % j->d.kernel;
        for (size_t c = first; c < first + j->channels; c += j->step_channels) {
            for (size_t ky = 0; ky < j->h.kernel; ky++) {
                for (size_t kx = 0; kx < j->w.kernel; kx++) step = dense_steps_at(j, c, kd, ky, kx, step);
            }
        }
    }
}

// Returns the floats of the copies, or of the second half of the channels.
static size_t dense_room(const dense_job *j, const nacre_conv_dense_words *w, size_t threads) {
    if (j->copied) return nacre_align_floats(dense_copy_floats(j) * (j->shared ? 1 : threads));
    return j->halves > 1 ? nacre_align_floats(nacre_dense_half(w)) : 0;
}

void nacre_dense_join(const nacre_call *c, float *half) {
    const nacre_conv_dense_words *const w = (const void *)c->words;
    dense_job j = dense_of(c->kernel, w, 2, nacre_team_threads(c->team));
    j.x = nacre_operand(c, CONV_X);
    j.weights = nacre_operand(c, CONV_W);
    j.y = nacre_operand(c, CONV_Y);
    j.finish = conv_finish(&w->conv);
    j.half = half;
    nacre_parallel(c->team, j.images * j.out_blocks, dense_join_chunk, &j);
}

static void dense_run(const nacre_call *c, size_t halves) {
    const nacre_conv_dense_words *const w = (const void *)c->words;
    dense_job j = dense_of(c->kernel, w, halves, nacre_team_threads(c->team));
    j.x = nacre_operand(c, CONV_X);
    j.weights = nacre_operand(c, CONV_W);
    j.bias = nacre_operand(c, CONV_BIAS);
    j.add = nacre_operand(c, CONV_ADD);
    j.y = nacre_operand(c, CONV_Y);
    j.finish = conv_finish(&w->conv);
    j.scratch = c->scratch;
    j.half = j.scratch;
    j.step = (size_t *)(j.scratch + dense_room(&j, w, nacre_team_threads(c->team)));
    dense_steps(&j);
    if (!j.shared) {
        nacre_parallel(c->team, j.halves * j.images * j.bands * j.parts, dense_chunk, &j);
        if (j.beside) nacre_dense_join(c, j.half);
        return;
    }
    for (; j.first < j.images; j.first++) {
        dense_fill f = {&j, j.first};
        nacre_parallel(c->team, j.planes, dense_fill_chunk, &f);
        nacre_parallel(c->team, j.bands * j.parts, dense_chunk, &j);
    }
}

static size_t dense_bytes(const nacre_kernel *kernel, const int64_t *words, size_t halves, size_t threads) {
    const nacre_conv_dense_words *const w = (const void *)words;
    const dense_job j = dense_of(kernel, w, halves, threads);
    return dense_room(&j, w, threads) * sizeof(float) + j.in_period * j.steps * sizeof(size_t);
}

static void dense_command(const nacre_call *c) { dense_run(c, 1); }
static void halves_command(const nacre_call *c) { dense_run(c, 2); }

static size_t dense_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    return dense_bytes(kernel, words, 1, threads);
}

static size_t halves_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    return dense_bytes(kernel, words, 2, threads);
}

static int halves_fits(const nacre_kernel *kernel, const int64_t *words) {
    return nacre_dense_fits(kernel, words) && nacre_dense_halved((const void *)words);
}

int nacre_dense_fits(const nacre_kernel *kernel, const int64_t *words) {
    const nacre_conv_dense_words *const w = (const void *)words;
    const nacre_conv c = nacre_conv_of(&w->conv.extents);
    const nacre_f32_dense_impl *const impl = ((nacre_f32_dense_fn *)kernel->fn)();
    if (c.groups != 1 && w->plain) return 0;
    return w->conv.type == NACRE_DTYPE_f32 && c.axes <= 3 && w->block <= NACRE_CONV_BLOCK && c.channels > 0 &&
        !conv_is_empty(&c) &&
           (impl->lanes == 1 || impl->lanes == (size_t)w->block);
}

size_t nacre_dense_packed(const nacre_kernel *kernel, const int64_t *words, size_t operand) {
    (void)kernel;
    const dense_job j = dense_form((const void *)words);
    return operand == CONV_W ? j.groups * j.group_blocks * j.lanes * j.depth * sizeof(float) : 0;
}

// Packs the weights of `wide` filters of group g from filter f on, counted from the first filter of
// the block where the group begins, for a position of the kernel and the step of channels from k
// on. It returns the end of what it wrote.
static float *dense_pack_step(const dense_job *j, const void *w, size_t g, size_t f, size_t wide, size_t k, size_t tap,
                              float *out) {
    const size_t before = g * j->filters % j->lanes;  // filters of other groups in that block
    for (size_t from = k; from < nacre_min(j->channels, k + j->step_channels); from++) {
        for (size_t l = f; l < f + wide; l++) {
            const int there = l >= before && l - before < j->filters;
            *out++ = there ? nacre_f32_at(w, ((g * j->filters + l - before) * j->channels + from) * j->taps + tap) : 0;
        }
    }
    return out;
}

// Weights of each group of the convolution are [filters][channels][taps]. Packed they are [groups
// of blocks][taps along the first of three axes][steps of channels][other taps][channels][blocks of
// filters][lanes], with zeros for filters of other groups.
void nacre_dense_pack(const nacre_kernel *kernel, const int64_t *words, size_t operand, const void *src, void *dst) {
    (void)kernel;
    (void)operand;
    const dense_job j = dense_form((const void *)words);
    const size_t each = j.taps / j.d.kernel;
    for (size_t g = 0; g < j.groups; g++) {
        float *out = (float *)dst + g * j.group_blocks * j.depth * j.lanes;
        for (size_t within = 0, blocks; (blocks = dense_blocks_from(&j, g, within)) > 0; within += blocks) {
            for (size_t kd = 0; kd < j.taps; kd += each) {
                for (size_t k = 0; k < j.channels; k += j.step_channels) {
                    for (size_t tap = kd; tap < kd + each; tap++) {
                        out = dense_pack_step(&j, src, g, within * j.lanes, blocks * j.lanes, k, tap, out);
                    }
                }
            }
        }
    }
}

const nacre_entry nacre_f32_conv_blocked_entry = {
    .words = sizeof(nacre_conv_dense_words) / 8, .operands = CONV_OPERANDS, .run = dense_command,
    .fits = nacre_dense_fits, .scratch = dense_scratch, .packed = nacre_dense_packed,
    .pack = nacre_dense_pack, .unaligned = 1,
};
const nacre_entry nacre_f32_conv_blocked_halves_entry = {
    .words = sizeof(nacre_conv_dense_words) / 8, .operands = CONV_OPERANDS, .run = halves_command, .fits = halves_fits,
    .scratch = halves_scratch, .packed = nacre_dense_packed, .pack = nacre_dense_pack, .unaligned = 1,
};
