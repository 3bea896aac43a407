// Command i8_conv_depthwise_blocked.
#include <string.h>

#include "conv/command.h"
#include "core/simd.h"
#include "core/vec.h"
#include "quant/i8_blocked.h"

enum {
    DEPTHWISE8_ROWS = 8,         // least rows of the result of a chunk of work
    DEPTHWISE8_GRAIN = 1 << 17,  // multiply-adds of a chunk of work
    DEPTHWISE8_SLACK = 64        // bytes after a copy that may be read
};

// Returns the groups of taps of a row of the kernel.
static size_t depthwise8_groups(const blocked8_job *j) { return nacre_ceil_div(j->w.kernel, NACRE_I8_TAPS); }

// Returns the rows of the kernel, of all slices.
static size_t depthwise8_rows(const blocked8_job *j) { return j->d.kernel * j->h.kernel; }

static size_t depthwise8_weight_bytes(const blocked8_job *j) {
    return nacre_align_bytes(j->in_blocks * depthwise8_rows(j) * depthwise8_groups(j) * j->lanes * NACRE_I8_TAPS);
}

static size_t depthwise8_copy_bytes(const blocked8_job *j) {
    return nacre_align_bytes(blocked8_copy_lines(j) * j->line * j->unit + DEPTHWISE8_SLACK);
}

// Returns a job of bands of rows of a block. A copy has the rows of one block; each row is followed
// by the same row of the other slices under the kernel. All rows under the kernel are therefore the
// same distance apart, if rows have no dilation or there is one slice.
static blocked8_job depthwise8_of(const nacre_kernel *kernel, const nacre_i8_conv_blocked_words *w) {
    const nacre_i8_depthwise_impl *const impl = ((nacre_i8_depthwise_fn *)kernel->fn)();
    const nacre_conv c = nacre_conv_of(&w->conv.extents);
    blocked8_job j = {.x_bytes = 1, .x_unsigned = impl->x_unsigned, .channels = c.groups, .filters = c.groups,
                      .lanes = (size_t)w->block, .x_signed = w->conv.x_signed != 0, .moved = w->w_moved != 0};
    j.d = blocked8_axis_of(&c, 0);
    j.h = blocked8_axis_of(&c, 1);
    j.w = blocked8_axis_of(&c, 2);
    j.images = c.images * j.d.out;
    j.row_lines = j.d.kernel;
    j.slice_lines = 1;
    j.in_blocks = j.out_blocks = nacre_ceil_div(c.groups, j.lanes);
    j.unit = j.lanes;
    j.pixels = j.h.out * j.w.out;
    j.flip = j.x_signed == j.x_unsigned ? 128 : 0;
    j.window = depthwise8_rows(&j) * j.w.kernel;
    if (j.pixels == 0) return j;
    j.line = blocked8_reach(&j.w, j.w.out);
    const size_t work = j.w.out * j.window * j.lanes;
    j.rows_each = nacre_min(j.h.out, nacre_max(DEPTHWISE8_ROWS, nacre_ceil_div(DEPTHWISE8_GRAIN, work)));
    j.bands = nacre_ceil_div(j.h.out, j.rows_each);
    j.band_rows = blocked8_reach(&j.h, j.rows_each);
    return j;
}

typedef struct {
    const blocked8_job *j;
    const nacre_i8_depthwise_impl *impl;
} depthwise8_work;

// depthwise8_column_bytes returns the bytes of column sums of a row of the copy, and
// depthwise8_more_bytes of the numbers added to a row of the result.
static size_t depthwise8_column_bytes(const blocked8_job *j) {
    return j->moved ? nacre_align_bytes(j->line * j->lanes * sizeof(int32_t)) : 0;
}

static size_t depthwise8_more_bytes(const blocked8_job *j) {
    return j->moved ? nacre_align_bytes(j->w.out * j->lanes * sizeof(int32_t)) : 0;
}

static size_t depthwise8_thread_bytes(const blocked8_job *j) {
    return depthwise8_copy_bytes(j) + depthwise8_column_bytes(j) + depthwise8_more_bytes(j);
}

static void depthwise8_chunk(void *work, size_t chunk, size_t thread) {
    const depthwise8_work *const d = work;
    const blocked8_job *const j = d->j;
    const size_t band = chunk % j->bands, block = chunk / j->bands % j->in_blocks,
        image = chunk / j->bands / j->in_blocks;
    const size_t o = band * j->rows_each, rows = nacre_min(j->rows_each, j->h.out - o), lane = block * j->lanes;
    const size_t line = j->line * j->unit, slice = image % j->d.out;
    const size_t at = (((image / j->d.out * j->in_blocks + block) * j->d.out + slice) * j->pixels +
                       o * j->w.out) * j->lanes;
    char *const copy = j->copies + thread * depthwise8_thread_bytes(j);
    int32_t *const columns = (int32_t *)(void *)(copy + depthwise8_copy_bytes(j)),
        *const more = columns + depthwise8_column_bytes(j) / sizeof(int32_t);
    blocked8_job one = *j;
    one.x += block * j->d.in * j->h.in * j->w.in * j->lanes;
    nacre_blocked8_copy(&one, image, 0, o, rows, copy);
    nacre_i8_depthwise_row r = {.kernel_h = depthwise8_rows(j), .gap = (j->d.kernel == 1 ? j->h.dilation : 1) * line,
                                .groups = depthwise8_groups(j), .kernel_w = j->w.kernel,
                                .step = j->w.stride * j->unit, .w = j->weights + block * depthwise8_rows(j) * depthwise8_groups(j) * j->lanes * NACRE_I8_TAPS};
    r.finish = (nacre_i8_tile_finish){.lanes = j->lanes, .row = j->lanes, .start = j->start + lane,
                                      .scale = j->scale + lane, .add = j->add + lane,
                                      .then = &j->numbers.then, .zero = j->numbers.y.zero, .pixels = j->w.out};
    for (size_t i = 0; i < rows; i++) {
        r.x = (const uint8_t *)copy + i * j->h.stride * j->row_lines * line;
        if (j->moved) {
            d->impl->more(&r, j->w_zero + lane, line, columns, more);
            r.finish.more = more;
        }
        r.finish.y = j->y + at + i * j->w.out * j->lanes;
        r.finish.codes = j->numbers.then.codes == NULL ? NULL : j->numbers.then.codes + at + i * j->w.out * j->lanes;
        d->impl->row(&r);
    }
}

static size_t depthwise8_place(blocked8_job *j, char *scratch, size_t threads) {
    const size_t numbers = nacre_blocked8_place(j, scratch);
    j->copies = scratch + numbers;
    return numbers + threads * depthwise8_thread_bytes(j);
}

static void depthwise8_command(const nacre_call *c) {
    const nacre_i8_conv_blocked_words *const w = (const void *)c->words;
    blocked8_job j = depthwise8_of(c->kernel, w);
    j.x = nacre_operand(c, CONV8_X);
    j.weights = nacre_operand(c, CONV8_W);
    j.y = nacre_operand(c, CONV8_Y);
    j.numbers = i8_conv_numbers_of(c, &w->conv);
    depthwise8_place(&j, c->scratch, nacre_team_threads(c->team));
    nacre_blocked8_put(&j, c, &w->conv, (const int32_t *)(const void *)(j.weights + depthwise8_weight_bytes(&j)));
    depthwise8_work d = {&j, ((nacre_i8_depthwise_fn *)c->kernel->fn)()};
    nacre_parallel(c->team, j.images * j.in_blocks * j.bands, depthwise8_chunk, &d);
}

static size_t depthwise8_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    blocked8_job j = depthwise8_of(kernel, (const void *)words);
    return depthwise8_place(&j, NULL, threads);
}

static int depthwise8_fits(const nacre_kernel *kernel, const int64_t *words) {
    const nacre_i8_conv_blocked_words *const w = (const void *)words;
    const nacre_conv c = nacre_conv_of(&w->conv.extents);
    const size_t lanes = ((nacre_i8_depthwise_fn *)kernel->fn)()->lanes;
    if (c.axes == 3 && c.kernel[0] != 1 && c.dilation[1] != 1) return 0;
    return c.channels == 1 && c.filters == 1 && c.axes <= 3 && w->block <= NACRE_CONV_BLOCK && !w->plain &&
        !conv_is_empty(&c) &&
           c.dilation[c.axes - 1] == 1 && (lanes == 1 || lanes == (size_t)w->block);
}

static size_t depthwise8_packed(const nacre_kernel *kernel, const int64_t *words, size_t operand) {
    if (operand != CONV8_W) return 0;
    const blocked8_job j = depthwise8_of(kernel, (const void *)words);
    return depthwise8_weight_bytes(&j) + nacre_align_bytes(j.out_blocks * j.lanes * sizeof(int32_t));
}

// Weights are [filters][slices][rows][columns]. Packed they are [blocks][rows][slices][groups of
// columns][lanes][4], with zeros after the last filter and the last column, followed by their sums.
static void depthwise8_pack(const nacre_kernel *kernel, const int64_t *words, size_t operand, const void *src,
                            void *dst) {
    (void)operand;
    const nacre_i8_conv_blocked_words *const w = (const void *)words;
    const blocked8_job j = depthwise8_of(kernel, w);
    const uint8_t *const from = src, flip = w->conv.w_signed ? 0 : 128;
    const size_t groups = depthwise8_groups(&j);
    int8_t *const out = dst;
    int32_t *const sums = (int32_t *)(void *)(out + depthwise8_weight_bytes(&j));
    memset(out, 0, depthwise8_packed(kernel, words, CONV8_W));
    for (size_t f = 0; f < j.filters; f++) {
        for (size_t row = 0; row < depthwise8_rows(&j); row++) {
            const size_t kd = row % j.d.kernel, ky = row / j.d.kernel;
            for (size_t kx = 0; kx < j.w.kernel; kx++) {
                const int8_t v = (int8_t)(from[((f * j.d.kernel + kd) * j.h.kernel + ky) * j.w.kernel + kx] ^ flip);
                out[(((f / j.lanes * depthwise8_rows(&j) + row) * groups + kx / NACRE_I8_TAPS) * j.lanes + f % j.lanes) * NACRE_I8_TAPS + kx % NACRE_I8_TAPS] = v;
                sums[f] += v;
            }
        }
    }
}

const nacre_entry nacre_i8_conv_depthwise_blocked_entry = {
    .words = sizeof(nacre_i8_conv_blocked_words) / 8, .operands = CONV8_OPERANDS, .run = depthwise8_command,
    .fits = depthwise8_fits, .scratch = depthwise8_scratch, .packed = depthwise8_packed, .pack = depthwise8_pack,
};

// ---- the oracle ----

#define OWN(name) depthwise8_##name##_scalar
#define LANES f->lanes
#define LANES_AT_MOST NACRE_CONV_BLOCK
#include "quant/i8_blocked_finish.inc"
#undef LANES
#define LANES r->finish.lanes
#define CODE uint8_t
#include "quant/i8_depthwise_more.inc"
#undef CODE
#include "quant/i8_depthwise_row.inc"

const nacre_i8_depthwise_impl *nacre_i8_conv_depthwise_blocked__scalar(void) {
    static const nacre_i8_depthwise_impl impl = {1, 1, OWN(depthwise_row), OWN(depthwise_more)};
    return &impl;
}
#undef OWN
#undef LANES
#undef LANES_AT_MOST
