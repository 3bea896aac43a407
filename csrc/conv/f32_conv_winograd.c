// Command f32_conv_winograd.
#include <string.h>

#include "conv/command.h"
#include "conv/winograd.h"

enum {
    WINOGRAD_BANDS = 2,           // bands of points of some tiles at most, unless WINOGRAD_TILES is more
    WINOGRAD_TILES = 40,          // tiles at a time that suffice to read weights once
    WINOGRAD_DEPTH = 288,         // channels of a chunk of weights at most, or one block
    WINOGRAD_STEPS = 64,          // blocks of such a chunk at most
    WINOGRAD_CHUNKS = 3,          // of tiles for each thread, from which threads share no tiles
    WINOGRAD_APART = 16           // floats: a line of a cache
};

typedef struct {
    const nacre_f32_winograd_impl *impl;
    const nacre_f32_dense_impl *dense;
    nacre_conv c;
    size_t m, points, lanes, in_blocks, out_blocks, groups;
    size_t down, across, tiles;   // tiles of an image, and of all
    size_t each, first, now;      // tiles at a time; the tiles in work
    dense_cut cut;                // of the tiles in work
    float *before, *after;        // [points][blocks][each][lanes]
    const float *x, *weights, *bias, *add;
    float *y;
    nacre_f32_finish finish;
} winograd_job;

static winograd_job winograd_of(const nacre_kernel *kernel, const nacre_conv_winograd_words *w) {
    winograd_job j = {.impl = ((nacre_f32_winograd_fn *)kernel->fn)(), .c = nacre_conv_of(&w->conv.extents),
                      .m = (size_t)w->tile, .lanes = (size_t)w->block};
    j.dense = j.impl->dense();
    j.points = (j.m + 2) * (j.m + 2);
    j.in_blocks = nacre_ceil_div(j.c.channels, j.lanes);
    j.out_blocks = nacre_ceil_div(j.c.filters, j.lanes);
    j.groups = nacre_ceil_div(j.out_blocks, NACRE_DENSE_BLOCKS);
    j.down = nacre_ceil_div(j.c.out[0], j.m);
    j.across = nacre_ceil_div(j.c.out[1], j.m);
    j.tiles = j.c.images * j.down * j.across;
    const size_t room = WINOGRAD_BANDS * j.dense->band / (j.points * (j.in_blocks + j.out_blocks) * j.lanes);
    j.each = nacre_max(1, nacre_min(j.tiles, nacre_max(room, WINOGRAD_TILES)));
    const size_t times = nacre_max(1, j.tiles / j.each);
    j.each = nacre_max(1, nacre_min(j.tiles, nacre_round_up(nacre_ceil_div(j.tiles, times), NACRE_DENSE_PIXELS / 2)));
    return j;
}

// Returns the floats from one point of all blocks to the next. The points of a tile use different
// sets of a cache.
static size_t winograd_gap(const winograd_job *j, size_t blocks) {
    return blocks * j->each * j->lanes + WINOGRAD_APART;
}

// A tile: its image, and the first of its pixels of the result.
typedef struct {
    size_t image, row, column;
} winograd_tile;

static winograd_tile winograd_at(const winograd_job *j, size_t tile) {
    return (winograd_tile){tile / (j->down * j->across), tile / j->across % j->down * j->m, tile % j->across * j->m};
}

// Transforms the tiles of a block of channels.
static void winograd_forward(void *job, size_t block, size_t thread) {
    (void)thread;
    const winograd_job *const j = job;
    const size_t side = j->m + 2, width = j->c.in[1] * j->lanes, gap = winograd_gap(j, j->in_blocks);
    float patch[NACRE_WINOGRAD_POINTS * NACRE_CONV_BLOCK];
    for (size_t i = 0; i < j->now; i++) {
        const winograd_tile t = winograd_at(j, j->first + i);
        const float *const plane = j->x + (t.image * j->in_blocks + block) * j->c.in[0] * width;
        float *const v = j->before + (block * j->each + i) * j->lanes;
        if (t.row >= j->c.pad[0] && t.column >= j->c.pad[1] && t.row - j->c.pad[0] + side <= j->c.in[0] &&
            t.column - j->c.pad[1] + side <= j->c.in[1]) {
            j->impl->forward(j->m, plane + (t.row - j->c.pad[0]) * width + (t.column - j->c.pad[1]) * j->lanes, width,
                             j->lanes, v, gap);
            continue;
        }
        memset(patch, 0, side * side * j->lanes * sizeof(float));
        for (size_t r = 0; r < side; r++) {
            const size_t row = t.row + r, begin = t.column < j->c.pad[1] ? j->c.pad[1] - t.column : 0;
            if (row < j->c.pad[0] || row - j->c.pad[0] >= j->c.in[0] || t.column + begin - j->c.pad[1] >= j->c.in[1]) {
                continue;
            }
            const size_t from = t.column + begin - j->c.pad[1],
                n = begin < side ? nacre_min(side - begin, j->c.in[1] - from) : 0;
            memcpy(patch + (r * side + begin) * j->lanes, plane + (row - j->c.pad[0]) * width + from * j->lanes,
                   n * j->lanes * sizeof(float));
        }
        j->impl->forward(j->m, patch, side * j->lanes, j->lanes, v, gap);
    }
}

// Multiplies a point of all tiles by a group of filters.
static void winograd_multiply(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const winograd_job *const j = job;
    const size_t group = chunk % j->groups, point = chunk / j->groups, whole = j->c.channels / j->lanes;
    const size_t first = group * NACRE_DENSE_BLOCKS, blocks = nacre_min(NACRE_DENSE_BLOCKS, j->out_blocks - first);
    const float zero[NACRE_DENSE_BLOCKS * NACRE_CONV_BLOCK] = {0};
    size_t step[WINOGRAD_STEPS];
    const float *w = j->weights + (point * j->out_blocks + first) * j->c.channels * j->lanes;
    const size_t most = nacre_max(1, nacre_min(WINOGRAD_STEPS, WINOGRAD_DEPTH / j->lanes));
    for (size_t s = 0; s < most; s++) step[s] = s * j->each * j->lanes;
    for (size_t s = 0; s < j->in_blocks; s += most) {
        const size_t stop = nacre_min(j->in_blocks, s + most);
        const size_t channels = nacre_min(stop * j->lanes, j->c.channels) - s * j->lanes,
            n = channels * blocks * j->lanes;
        nacre_f32_dense_tile t = {
            .blocks = blocks, .lanes = j->lanes, .pitch = j->lanes,
            .x = j->before + point * winograd_gap(j, j->in_blocks) + s * j->each * j->lanes, .step = step,
            .steps = stop - s,
            .whole = whole > s ? nacre_min(whole, stop) - s : 0, .rest = j->c.channels % j->lanes, .w = w,
            .start = s == 0 ? zero : NULL,
            .y = j->after + point * winograd_gap(j, j->out_blocks) + first * j->each * j->lanes,
            .y_block = j->each * j->lanes, .next = w + n};
        const size_t portion = nacre_ceil_div(n, j->cut.full + j->cut.tails);
        t.next_step = nacre_ceil_div(portion, channels);
        nacre_dense_row(j->dense, &j->cut, &t, portion);
        w += n;
    }
}

// Transforms the tiles of a block of filters back.
static void winograd_back(void *job, size_t block, size_t thread) {
    (void)thread;
    const winograd_job *const j = job;
    const size_t width = j->c.out[1] * j->lanes, gap = winograd_gap(j, j->out_blocks);
    float bias[NACRE_CONV_BLOCK] = {0}, patch[NACRE_WINOGRAD_POINTS * NACRE_CONV_BLOCK],
        more[NACRE_WINOGRAD_POINTS * NACRE_CONV_BLOCK];
    for (size_t k = 0, f = block * j->lanes; k < j->lanes && f < j->c.filters && j->bias != NULL; k++, f++) {
        bias[k] = j->bias[f];
    }
    for (size_t i = 0; i < j->now; i++) {
        const winograd_tile t = winograd_at(j, j->first + i);
        const size_t rows = nacre_min(j->m, j->c.out[0] - t.row), columns = nacre_min(j->m, j->c.out[1] - t.column);
        const size_t at = ((t.image * j->out_blocks + block) * j->c.out[0] + t.row) * width + t.column * j->lanes,
            line = columns * j->lanes;
        nacre_f32_winograd_out o = {bias, j->add == NULL ? NULL : j->add + at, j->y + at, width, j->lanes, &j->finish};
        const int inside = rows == j->m && columns == j->m;
        if (!inside) {
            o = (nacre_f32_winograd_out){bias, j->add == NULL ? NULL : more, patch, j->m * j->lanes, j->lanes,
                                         &j->finish};
            memset(more, 0, j->m * j->m * j->lanes * sizeof(float));
            for (size_t r = 0; r < rows && j->add != NULL; r++) {
                memcpy(more + r * o.pitch, j->add + at + r * width, line * sizeof(float));
            }
        }
        j->impl->back(j->m, j->after + (block * j->each + i) * j->lanes, gap, &o);
        for (size_t r = 0; r < rows; r++) {
            float *const y = j->y + at + r * width;
            if (!inside) memcpy(y, patch + r * o.pitch, line * sizeof(float));
            if (j->finish.map != NULL) j->finish.map(y, y, line, j->finish.params);
        }
    }
}

static size_t winograd_floats(const winograd_job *j) {
    return j->points * (winograd_gap(j, j->in_blocks) + winograd_gap(j, j->out_blocks));
}

// Sets j to the tiles from `first` on, with their points at memory.
static void winograd_take(winograd_job *j, size_t first, float *memory) {
    j->first = first;
    j->now = nacre_min(j->each, j->tiles - first);
    j->cut = nacre_dense_cut(j->dense, 0, j->now);
    j->before = memory;
    j->after = memory + j->points * winograd_gap(j, j->in_blocks);
}

// Computes some tiles on one thread.
static void winograd_chunk(void *job, size_t chunk, size_t thread) {
    winograd_job j = *(const winograd_job *)job;
    winograd_take(&j, chunk * j.each, j.before + thread * nacre_align_floats(winograd_floats(&j)));
    for (size_t block = 0; block < j.in_blocks; block++) winograd_forward(&j, block, thread);
    for (size_t k = 0; k < j.points * j.groups; k++) winograd_multiply(&j, k, thread);
    for (size_t block = 0; block < j.out_blocks; block++) winograd_back(&j, block, thread);
}

// Reports whether threads have tiles of their own: if there are enough chunks for all to work to
// the end.
static int winograd_apart(const winograd_job *j, size_t threads) {
    const size_t chunks = nacre_ceil_div(j->tiles, j->each);
    return chunks >= WINOGRAD_CHUNKS * threads || (chunks % threads == 0 && j->tiles % j->each == 0);
}

static void winograd_command(const nacre_call *c) {
    const nacre_conv_winograd_words *const w = (const void *)c->words;
    winograd_job j = winograd_of(c->kernel, w);
    j.x = nacre_operand(c, CONV_X);
    j.weights = nacre_operand(c, CONV_W);
    j.bias = nacre_operand(c, CONV_BIAS);
    j.add = nacre_operand(c, CONV_ADD);
    j.y = nacre_operand(c, CONV_Y);
    j.finish = conv_finish(&w->conv);
    j.before = c->scratch;
    if (winograd_apart(&j, nacre_team_threads(c->team))) {
        nacre_parallel(c->team, nacre_ceil_div(j.tiles, j.each), winograd_chunk, &j);
        return;
    }
    for (size_t first = 0; first < j.tiles && !nacre_stopped(c->team); first += j.each) {
        winograd_take(&j, first, c->scratch);
        nacre_parallel(c->team, j.in_blocks, winograd_forward, &j);
        nacre_parallel(c->team, j.points * j.groups, winograd_multiply, &j);
        nacre_parallel(c->team, j.out_blocks, winograd_back, &j);
    }
}

static size_t winograd_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    const winograd_job j = winograd_of(kernel, (const void *)words);
    return threads * nacre_align_floats(winograd_floats(&j)) * sizeof(float);
}

static int winograd_fits(const nacre_kernel *kernel, const int64_t *words) {
    const nacre_conv_winograd_words *const w = (const void *)words;
    const nacre_conv c = nacre_conv_of(&w->conv.extents);
    const nacre_f32_winograd_impl *const impl = ((nacre_f32_winograd_fn *)kernel->fn)();
    const int plain = c.axes == 2 && c.kernel[0] == 3 && c.kernel[1] == 3 && c.stride[0] == 1 && c.stride[1] == 1 &&
        c.dilation[0] == 1 && c.dilation[1] == 1;
    return plain && (w->tile == 2 || w->tile == 4) && w->conv.type == NACRE_DTYPE_f32 && c.groups == 1 &&
        c.channels > 0 && w->block <= NACRE_CONV_BLOCK &&
           !conv_is_empty(&c) && (impl->lanes == 1 || impl->lanes == (size_t)w->block);
}

static size_t winograd_packed(const nacre_kernel *kernel, const int64_t *words, size_t operand) {
    (void)kernel;
    const nacre_conv_winograd_words *const w = (const void *)words;
    const nacre_conv c = nacre_conv_of(&w->conv.extents);
    const size_t points = (size_t)((w->tile + 2) * (w->tile + 2));
    return operand == CONV_W ? points * nacre_round_up(c.filters, (size_t)w->block) * c.channels * sizeof(float) : 0;
}

// Sets row to the rows that transform three numbers to points: the values of a polynomial at the
// points, divided by the product of a point's distances from the others. Returns their number.
static size_t winograd_rows(size_t m, double (*row)[3]) {
    const double a = 2.0 / 3, b = 1.5, at4[] = {0, a, -a, b, -b}, at2[] = {0, 1, -1}, *const at = m == 4 ? at4 : at2;
    const size_t n = m + 1;
    for (size_t i = 0; i < n; i++) {
        double scale = 1;
        for (size_t k = 0; k < n; k++) scale *= k == i ? 1 : at[i] - at[k];
        row[i][0] = 1 / scale;
        row[i][1] = at[i] / scale;
        row[i][2] = at[i] * at[i] / scale;
    }
    row[n][0] = row[n][1] = 0;
    row[n][2] = 1;
    return n + 1;
}

// Weights that are transformed: [filters][channels][3][3]. Packed they are
// [points][groups][channels][blocks of filters][lanes], with zeros after the last filter.
typedef struct {
    const nacre_f32_winograd_impl *impl;
    nacre_conv c;
    size_t lanes, all, side, steps;  // all filters, with zeros; steps of channels
    double row[NACRE_WINOGRAD_SIDE][3];
    const void *src;
    void *dst;
} winograd_weights;

static winograd_weights winograd_weights_of(const nacre_kernel *kernel, const int64_t *words, const void *src, void *dst) {
    const nacre_conv_winograd_words *const w = (const void *)words;
    winograd_weights j = {.impl = ((nacre_f32_winograd_fn *)kernel->fn)(), .c = nacre_conv_of(&w->conv.extents),
                          .lanes = (size_t)w->block, .src = src, .dst = dst};
    j.all = nacre_round_up(j.c.filters, j.lanes);
    j.side = winograd_rows((size_t)w->tile, j.row);
    j.steps = nacre_ceil_div(j.c.channels, NACRE_WINOGRAD_CHANNELS);
    return j;
}

static size_t winograd_weights_chunks(const winograd_weights *j) {
    return nacre_ceil_div(j->all, NACRE_DENSE_BLOCKS * j->lanes) * j->steps;
}

// Transforms the kernels of a step of channels of a group of filters.
static void winograd_weights_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const winograd_weights *const j = job;
    const size_t group = NACRE_DENSE_BLOCKS * j->lanes, first = chunk / j->steps * group,
        k = chunk % j->steps * NACRE_WINOGRAD_CHANNELS, wide = nacre_min(group, j->all - first);
    for (size_t f = first; f < first + wide; f += j->lanes) {
        j->impl->weights(&(nacre_f32_winograd_weights){
            .row = (const double(*)[3])j->row, .side = j->side, .n = nacre_min(j->lanes, j->c.filters - f),
            .block = j->lanes, .channels = nacre_min(NACRE_WINOGRAD_CHANNELS, j->c.channels - k),
            .x = (const char *)j->src + (f * j->c.channels + k) * 9 * sizeof(float),
            .step = j->c.channels * 9, .y = (float *)j->dst + (first * j->c.channels + k * wide) + f - first,
            .stride = j->all * j->c.channels, .gap = wide});
    }
}

static void winograd_pack(const nacre_kernel *kernel, const int64_t *words, size_t operand, const void *src,
                          void *dst) {
    (void)operand;
    winograd_weights j = winograd_weights_of(kernel, words, src, dst);
    for (size_t i = 0; i < winograd_weights_chunks(&j); i++) winograd_weights_chunk(&j, i, 0);
}

static void winograd_weights_command(const nacre_call *c) {
    winograd_weights j = winograd_weights_of(c->kernel, c->words, nacre_operand(c, 0), nacre_operand(c, 1));
    nacre_parallel(c->team, winograd_weights_chunks(&j), winograd_weights_chunk, &j);
}

const nacre_entry nacre_f32_conv_winograd_entry = {
    .words = sizeof(nacre_conv_winograd_words) / 8, .operands = CONV_OPERANDS, .run = winograd_command,
    .fits = winograd_fits, .scratch = winograd_scratch, .packed = winograd_packed,
    .pack = winograd_pack, .unaligned = 1,
};
const nacre_entry nacre_f32_winograd_weights_entry = {
    .words = sizeof(nacre_conv_winograd_words) / 8, .operands = 2, .run = winograd_weights_command, .fits = winograd_fits,
};

// ---- the oracle: the transforms as matrices ----

static const double to_points4[6][6] = {
    {1, 0, -(4.0 / 9 + 2.25), 0, 1, 0},          {0, -1.5, -2.25, 2.0 / 3, 1, 0}, {0, 1.5, -2.25, -2.0 / 3, 1, 0},
    {0, -2.0 / 3, -4.0 / 9, 1.5, 1, 0}, {0, 2.0 / 3, -4.0 / 9, -1.5, 1, 0}, {0, 1, 0, -(4.0 / 9 + 2.25), 0, 1}};
static const double to_points2[4][4] = {{-1, 0, 1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, -1, 0, 1}};
static const double from_points4[4][6] = {
    {1, 1, 1, 1, 1, 0}, {0, 2.0 / 3, -2.0 / 3, 1.5, -1.5, 0}, {0, 4.0 / 9, 4.0 / 9, 2.25, 2.25, 0}, {0, 8.0 / 27, -8.0 / 27, 3.375, -3.375, 1}};
static const double from_points2[2][4] = {{1, 1, 1, 0}, {0, 1, -1, 1}};

static void forward_scalar(size_t m, const float *x, size_t pitch, size_t block, float *v, size_t gap) {
    const size_t side = m + 2;
    const double *const rows = m == 4 ? to_points4[0] : to_points2[0];
    for (size_t p = 0; p < side * side; p++) {
        for (size_t l = 0; l < block; l++) {
            double sum = 0;
            for (size_t i = 0; i < side * side; i++) sum += rows[p / side * side + i / side] * rows[p % side * side + i % side] * x[i / side * pitch + i % side * block + l];
            v[p * gap + l] = (float)sum;
        }
    }
}

static void back_scalar(size_t m, const float *v, size_t gap, const nacre_f32_winograd_out *o) {
    const size_t side = m + 2;
    const double *const rows = m == 4 ? from_points4[0] : from_points2[0];
    for (size_t p = 0; p < m * m; p++) {
        for (size_t l = 0; l < o->block; l++) {
            const size_t at = p / m * o->pitch + p % m * o->block + l;
            double sum = o->bias[l] + (o->add == NULL ? 0.0 : o->add[at]);
            for (size_t i = 0; i < side * side; i++) {
                sum += rows[p / m * side + i / side] * rows[p % m * side + i % side] * v[i * gap + l];
            }
            if (o->finish->clamp && sum < o->finish->low) sum = o->finish->low;
            if (o->finish->clamp && sum > o->finish->high) sum = o->finish->high;
            o->y[at] = (float)sum;
        }
    }
}

static void weights_scalar(const nacre_f32_winograd_weights *w) {
    float x[9 * NACRE_CONV_BLOCK];
    nacre_f32_winograd_weights one = *w;
    one.channels = 1;
    for (size_t k = 0; k < w->channels; k++) {
        for (size_t i = 0; i < 9; i++) {
            for (size_t f = 0; f < w->block; f++) x[i * w->block + f] = f < w->n ? nacre_f32_at(w->x, f * w->step + 9 * k + i) : 0;
        }
        one.y = w->y + k * w->gap;
        nacre_winograd_weights(&one, w->block, x);
    }
}

const nacre_f32_winograd_impl *nacre_f32_conv_winograd__scalar(void) {
    static const nacre_f32_winograd_impl impl = {
        1, nacre_f32_conv_blocked__scalar, forward_scalar, back_scalar, weights_scalar};
    return &impl;
}
