// Command f32_conv_expand.
#include <string.h>

#include "conv/command.h"
#include "conv/expand.h"

enum { EXPAND_X, EXPAND_W, EXPAND_BIAS, EXPAND_DEPTHWISE_W, EXPAND_DEPTHWISE_BIAS, EXPAND_Y, EXPAND_OPERANDS };
enum {
    EXPAND_CHUNKS = 4,      // chunks of work for each of several threads
    EXPAND_ROWS = 4,        // least rows of the result of a chunk
    EXPAND_ROOM = 1 << 15   // floats of rows of the first result in memory at a time, if that is rows enough
};

// Groups of blocks of filters of the first convolution are computed in turn, and the second from
// each. Rows and columns of the first result count from the padding before them.
typedef struct {
    const nacre_f32_dense_impl *dense;
    const nacre_f32_blocked_depthwise_impl *depthwise;
    nacre_conv c;                      // the second
    size_t channels;                   // of x
    size_t lanes, blocks, groups;
    size_t width, reach;               // columns of a row with its zeros; rows of the first result under one row
    size_t room;                       // rows of a group in memory at a time
    size_t rows_each, bands;           // of the result
    dense_cut cut;                     // of a row
    float *scratch;                    // [threads][blocks of a group][room][width][lanes]
    size_t *step;                      // of the tiles of the first
    nacre_conv_span *meet;             // of the second convolution: all pixels, because its rows have zeros around
    const float *x, *w, *bias, *depthwise_w, *depthwise_bias;
    float *y;
    nacre_f32_finish finish, depthwise_finish;
} expand_job;

// Returns the extent under `n` positions of the result along axis d, from the first to the last.
static size_t expand_reach(const nacre_conv *c, size_t d, size_t n) {
    return (n - 1) * c->stride[d] + (c->kernel[d] - 1) * c->dilation[d] + 1;
}

static size_t expand_row_floats(const expand_job *j) { return j->width * j->lanes; }

static expand_job expand_of(const nacre_kernel *kernel, const nacre_conv_expand_words *w, size_t threads) {
    const nacre_f32_expand_impl *const impl = ((nacre_f32_expand_fn *)kernel->fn)();
    expand_job j = {.dense = impl->dense(), .depthwise = impl->depthwise(), .c = nacre_conv_of(&w->depthwise.extents),
                    .channels = (size_t)w->expand.extents.channels, .lanes = (size_t)w->block};
    const nacre_conv *const c = &j.c;
    j.blocks = nacre_ceil_div(c->groups, j.lanes);
    j.groups = nacre_ceil_div(j.blocks, NACRE_DENSE_BLOCKS);
    j.width = nacre_max(c->pad[1] + c->in[1], expand_reach(c, 1, c->out[1]));
    j.reach = expand_reach(c, 0, 1);
    // Bands are such that their part of x stays in the cache while all groups read it, and that
    // there are enough chunks.
    const size_t line = nacre_round_up(j.channels, j.lanes) * c->in[1] * c->stride[0];
    const size_t chunks = threads > 1 ? nacre_ceil_div(threads * EXPAND_CHUNKS, c->images * j.groups) : 1;
    j.rows_each = nacre_min(nacre_max(j.dense->band / line, EXPAND_ROWS),
                            nacre_max(nacre_ceil_div(c->out[0], chunks), EXPAND_ROWS));
    j.rows_each = nacre_min(j.rows_each, c->out[0]);
    j.bands = nacre_ceil_div(c->out[0], j.rows_each);
    const size_t most = EXPAND_ROOM / (NACRE_DENSE_BLOCKS * expand_row_floats(&j));
    j.room = nacre_min(nacre_max(most, j.reach), expand_reach(c, 0, j.rows_each));
    j.cut = nacre_dense_cut(j.dense, 0, c->in[1]);
    return j;
}

// The work of a chunk: rows of the result of an image and a group.
typedef struct {
    const expand_job *j;
    size_t image, group, blocks;
    float *rows;                       // [blocks][room][width][lanes]; the first is row `base`
    size_t base, top;                  // rows base..top-1 are computed
    nacre_f32_dense_tile tile;         // of a row, but for x and y
    float start[NACRE_DENSE_BLOCKS * NACRE_CONV_BLOCK];
    float bias[NACRE_DENSE_BLOCKS * NACRE_CONV_BLOCK];
} expand_band;

// Copies the biases of the blocks of a group, with zeros after the last.
static void expand_biases(const expand_job *j, const float *bias, size_t group, float *dst) {
    const size_t n = NACRE_DENSE_BLOCKS * j->lanes, first = group * n;
    for (size_t i = 0; i < n; i++) dst[i] = bias == NULL || first + i >= j->c.groups ? 0 : bias[first + i];
}

// Computes row `row` of the first result.
static void expand_row(const expand_band *b, size_t row) {
    const expand_job *const j = b->j;
    const size_t plane = j->room * expand_row_floats(j), columns = j->c.in[1];
    float *const dst = b->rows + (row - b->base) * expand_row_floats(j);
    if (row < j->c.pad[0] || row - j->c.pad[0] >= j->c.in[0]) {
        for (size_t k = 0; k < b->blocks; k++) memset(dst + k * plane, 0, expand_row_floats(j) * sizeof(float));
        return;
    }
    const size_t steps = nacre_ceil_div(j->channels, j->lanes);
    float *const y = dst + j->c.pad[1] * j->lanes;
    nacre_f32_dense_tile t = b->tile;
    t.x = j->x + (b->image * steps * j->c.in[0] + row - j->c.pad[0]) * columns * j->lanes;
    t.y = y;
    nacre_dense_row(j->dense, &j->cut, &t, 0);
    for (size_t k = 0; k < b->blocks && j->finish.map != NULL; k++) {
        j->finish.map(y + k * plane, y + k * plane, columns * j->lanes, j->finish.params);
    }
}

static nacre_f32_dense_tile expand_tile(const expand_band *b) {
    const expand_job *const j = b->j;
    const float *const w = j->w + b->group * NACRE_DENSE_BLOCKS * j->channels * j->lanes;
    return (nacre_f32_dense_tile){
        .blocks = b->blocks, .lanes = j->lanes, .pitch = j->lanes, .step = j->step,
        .steps = nacre_ceil_div(j->channels, j->lanes),
        .whole = j->channels / j->lanes, .rest = j->channels % j->lanes, .w = w, .start = b->start,
        .y_block = j->room * expand_row_floats(j), .finish = &j->finish, .next = w};
}

// Provides rows first..stop-1 of the first result. It moves those that are computed already.
static void expand_rows(expand_band *b, size_t first, size_t stop) {
    const size_t line = expand_row_floats(b->j), plane = b->j->room * line;
    for (size_t k = 0; k < b->blocks && b->top > first && first > b->base; k++) {
        memmove(b->rows + k * plane, b->rows + k * plane + (first - b->base) * line,
                (b->top - first) * line * sizeof(float));
    }
    b->base = first;
    for (b->top = nacre_max(b->top, first); b->top < stop; b->top++) expand_row(b, b->top);
}

// Computes rows of the result from row o on.
static void expand_result(const expand_band *b, size_t o, size_t rows) {
    const expand_job *const j = b->j;
    const size_t line = expand_row_floats(j), taps = j->c.kernel[0] * j->c.kernel[1];
    for (size_t k = 0; k < b->blocks; k++) {
        const size_t block = b->group * NACRE_DENSE_BLOCKS + k;
        float *const y = j->y + ((b->image * j->blocks + block) * j->c.out[0] + o) * j->c.out[1] * j->lanes;
        const nacre_f32_blocked_rows r = {
            .rows = rows, .x = b->rows + (k * j->room + o * j->c.stride[0] - b->base) * line,
            .next = j->c.stride[0] * line,
            .kernel_h = j->c.kernel[0], .gap = j->c.dilation[0] * line, .w = j->depthwise_w + block * taps * j->lanes,
            .bias = b->bias + k * j->lanes, .y = y, .block = j->lanes, .channels = 1, .in = j->width,
            .out = j->c.out[1], .kernel_w = j->c.kernel[1],
            .stride = j->c.stride[1], .dilation = j->c.dilation[1], .meet = j->meet, .stop = j->c.out[1],
            .finish = &j->depthwise_finish};
        j->depthwise->rows(&r);
        if (j->depthwise_finish.map != NULL) {
            j->depthwise_finish.map(y, y, rows * r.out * j->lanes, j->depthwise_finish.params);
        }
    }
}

static void expand_chunk(void *job, size_t chunk, size_t thread) {
    const expand_job *const j = job;
    const size_t line = expand_row_floats(j), size = NACRE_DENSE_BLOCKS * j->room * line,
        band = chunk / j->groups % j->bands;
    expand_band b = {.j = j, .image = chunk / j->groups / j->bands, .group = chunk % j->groups,
                     .rows = j->scratch + thread * size};
    b.blocks = nacre_min(NACRE_DENSE_BLOCKS, j->blocks - b.group * NACRE_DENSE_BLOCKS);
    b.tile = expand_tile(&b);
    expand_biases(j, j->bias, b.group, b.start);
    expand_biases(j, j->depthwise_bias, b.group, b.bias);
    const size_t before = j->c.pad[1] * j->lanes, inside = j->c.in[1] * j->lanes;
    for (size_t i = 0; i < b.blocks * j->room; i++) {
        memset(b.rows + i * line, 0, before * sizeof(float));
        memset(b.rows + i * line + before + inside, 0, (line - before - inside) * sizeof(float));
    }
    const size_t stop = nacre_min(j->c.out[0], (band + 1) * j->rows_each), stride = j->c.stride[0];
    const size_t each = 1 + (j->room - j->reach) / stride;
    for (size_t o = band * j->rows_each; o < stop; o += each) {
        const size_t n = nacre_min(each, stop - o);
        expand_rows(&b, o * stride, (o + n - 1) * stride + j->reach);
        expand_result(&b, o, n);
    }
}

// Returns the floats of scratch of a thread. It does not fall if an extent grows.
static size_t expand_floats(const expand_job *j) {
    const size_t row = NACRE_DENSE_BLOCKS * expand_row_floats(j);
    return nacre_min(nacre_max(EXPAND_ROOM, j->reach * row), expand_reach(&j->c, 0, j->c.out[0]) * row);
}

static size_t expand_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    const expand_job j = expand_of(kernel, (const void *)words, threads);
    return nacre_align_floats(threads * expand_floats(&j)) * sizeof(float) +
        nacre_ceil_div(j.channels, j.lanes) * sizeof(size_t) +
           j.c.kernel[1] * sizeof(nacre_conv_span);
}

static int expand_fits(const nacre_kernel *kernel, const int64_t *words) {
    const nacre_conv_expand_words *const w = (const void *)words;
    const nacre_conv a = nacre_conv_of(&w->expand.extents), c = nacre_conv_of(&w->depthwise.extents);
    const nacre_f32_expand_impl *const impl = ((nacre_f32_expand_fn *)kernel->fn)();
    const size_t block = (size_t)w->block, lanes = impl->dense()->lanes;
    if (w->expand.type != NACRE_DTYPE_f32 || w->depthwise.type != NACRE_DTYPE_f32 || w->expand.has_add ||
        w->depthwise.has_add) {
        return 0;
    }
    if (a.axes != 2 || a.groups != 1 || a.channels == 0 || !conv_is_pointwise(&a)) return 0;
    if (c.axes != 2 || !nacre_conv_is_depthwise(&c) || c.filters != 1 || conv_is_empty(&a) || conv_is_empty(&c)) {
        return 0;
    }
    if (c.images != a.images || c.groups != a.filters || c.in[0] != a.out[0] || c.in[1] != a.out[1]) return 0;
    return block <= NACRE_CONV_BLOCK && (lanes == 1 || lanes == block) && block % impl->depthwise()->lanes == 0;
}

static void expand_command(const nacre_call *call) {
    const nacre_conv_expand_words *const w = (const void *)call->words;
    expand_job j = expand_of(call->kernel, w, nacre_team_threads(call->team));
    const size_t steps = nacre_ceil_div(j.channels, j.lanes);
    j.x = nacre_operand(call, EXPAND_X);
    j.w = nacre_operand(call, EXPAND_W);
    j.bias = nacre_operand(call, EXPAND_BIAS);
    j.depthwise_w = nacre_operand(call, EXPAND_DEPTHWISE_W);
    j.depthwise_bias = nacre_operand(call, EXPAND_DEPTHWISE_BIAS);
    j.y = nacre_operand(call, EXPAND_Y);
    j.finish = conv_finish(&w->expand);
    j.depthwise_finish = conv_finish(&w->depthwise);
    j.scratch = call->scratch;
    j.step = (size_t *)(j.scratch + nacre_align_floats(nacre_team_threads(call->team) * NACRE_DENSE_BLOCKS * j.room * expand_row_floats(&j)));
    j.meet = (nacre_conv_span *)(j.step + steps);
    for (size_t s = 0; s < steps; s++) j.step[s] = s * j.c.in[0] * j.c.in[1] * j.lanes;
    for (size_t kx = 0; kx < j.c.kernel[1]; kx++) j.meet[kx] = (nacre_conv_span){0, j.c.out[1]};
    nacre_parallel(call->team, j.c.images * j.bands * j.groups, expand_chunk, &j);
}

const nacre_entry nacre_f32_conv_expand_entry = {
    .words = sizeof(nacre_conv_expand_words) / 8, .operands = EXPAND_OPERANDS, .run = expand_command,
    .fits = expand_fits, .scratch = expand_scratch,
};

const nacre_f32_expand_impl *nacre_f32_conv_expand__scalar(void) {
    static const nacre_f32_expand_impl impl = {nacre_f32_conv_blocked__scalar, nacre_f32_depthwise_blocked__scalar};
    return &impl;
}
