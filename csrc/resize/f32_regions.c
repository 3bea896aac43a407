// Command f32_regions. An element of a region is a sum over rows, then over columns: the weight of
// a sample is a product of one weight per axis, and so is the weight of a mean of samples.
#include <math.h>

#include "core/simd.h"
#include "resize/taps.h"

enum {
    REGIONS_CHANNELS = 64,    // most channels per chunk
    REGIONS_TAPS = 16,        // most columns per element in a table
    REGIONS_STRIP = 1 << 14,  // most floats in the rows of a strip, unless it has one row
};

// region_axis holds the inputs of each element along one axis: element i reads count[i] inputs,
// at[i * most ...], each with a weight part. An element outside the image has none.
typedef struct {
    size_t most;
    int32_t *at, *count;
    float *part;
} region_axis;

typedef struct {
    const nacre_f32_taps_impl *impl;
    const nacre_regions_words *w;
    const nacre_call *call;
    const float *x, *regions;
    const void *batch;
    float *y;
    size_t groups;           // groups of channels
    size_t rows_most, columns_most;
    size_t strip;            // rows of elements that are summed over columns together
    char *scratch;
    size_t per_thread;
} regions_job;

// region_add adds an input to element i. If the element already has that input, the weights are
// added, so an element has at most as many inputs as the axis. The samples of an element go in one
// direction, so only the last three inputs need a check.
static void region_add(region_axis *a, size_t i, int32_t at, float part) {
    int32_t *const list = a->at + i * a->most;
    float *const parts = a->part + i * a->most;
    const int32_t n = a->count[i];
    for (int32_t k = n - 1; k >= 0 && k >= n - 3; k--) {
        if (list[k] != at) continue;
        parts[k] += part;
        return;
    }
    list[n] = at;
    parts[n] = part;
    a->count[i]++;
}

// region_place is a position along an axis: two neighbouring inputs and their weights. Outside the
// image both weights are 0.
typedef struct {
    int32_t low, high;
    float low_part, high_part;
} region_place;

static region_place region_place_at(float at, int64_t extent) {
    if (!(at >= -1 && at <= (float)extent)) return (region_place){0, 0, 0, 0};
    at = at > 0 ? at : 0;
    const int32_t low = (int32_t)at, last = (int32_t)extent - 1;
    if (low >= last) return (region_place){last, last, 1, 0};
    const float part = at - (float)low;
    return (region_place){low, low + 1, 1 - part, part};
}

// region_bins returns the start of a region along an axis. It sets bin to the extent of each of its
// n elements.
static float region_bins(const nacre_regions_words *w, float from, float to, size_t n, float *bin) {
    const float start = from * (float)w->scale - (float)w->offset, end = to * (float)w->scale - (float)w->offset;
    float length = end - start;
    if (w->least > 0 && !(length >= (float)w->least)) length = (float)w->least;
    *bin = length / (float)n;
    return start;
}

// region_sample returns the position of sample k of count in element i.
static float region_sample(float start, float bin, size_t i, int64_t k, int64_t count) {
    return start + (float)i * bin + ((float)k + 0.5f) * bin / (float)count;
}

// region_align finds the inputs of the n elements of a region along an axis. It fails and returns
// false if the region has too many samples, and returns false if the run is stopped.
static bool region_align(const regions_job *j, float from, float to, int64_t extent, size_t n, size_t region,
        region_axis *a) {
    const nacre_regions_words *const w = j->w;
    float bin;
    const float start = region_bins(w, from, to, n, &bin);
    int64_t count = w->samples;
    if (count == 0) {
        const float each = ceilf(bin);
        if (!(each <= (float)w->most)) {
            nacre_fail(j->call, NACRE_FAILED_region_samples, (int64_t)region, w->most, 0, 0);
            return false;
        }
        count = each > 0 ? (int64_t)each : 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (nacre_stopped(j->call->team)) return false;
        a->count[i] = 0;
        for (int64_t k = 0; k < count; k++) {
            const region_place p = region_place_at(region_sample(start, bin, i, k, count), extent);
            if (p.low_part + p.high_part == 0) continue;
            region_add(a, i, p.low, p.low_part / (float)count);
            if (p.high != p.low) region_add(a, i, p.high, p.high_part / (float)count);
        }
    }
    return true;
}

static void region_crop(const regions_job *j, float from, float to, int64_t extent, size_t n, region_axis *a) {
    const float last = (float)(extent - 1), step = n > 1 ? (to - from) * last / (float)(n - 1) : 0;
    for (size_t i = 0; i < n; i++) {
        const float at = n > 1 ? from * last + (float)i * step : 0.5f * (from + to) * last;
        a->count[i] = 0;
        if (!(at >= 0 && at <= last)) continue;
        if (j->w->kind == NACRE_REGIONS_CROP_NEAREST) {
            region_add(a, i, (int32_t)roundf(at), 1);
            continue;
        }
        const int32_t low = (int32_t)at;
        const float part = at - (float)low;
        region_add(a, i, low, 1 - part);
        if (part > 0) region_add(a, i, low + 1, part);
    }
}

static region_axis region_axis_in(char **memory, size_t n, size_t most) {
    region_axis a = {most, (int32_t *)(void *)*memory, NULL, NULL};
    a.count = a.at + n * most;
    a.part = (float *)(void *)(a.count + n);
    *memory += nacre_align_bytes((2 * n * most + n) * sizeof(float));
    return a;
}

// region_columns sets the range of columns that elements read. It returns the most inputs of one
// element.
static size_t region_columns(const region_axis *a, size_t n, size_t *first, size_t *end) {
    size_t most = 0;
    *first = SIZE_MAX;
    *end = 0;
    for (size_t i = 0; i < n; i++) {
        for (int32_t k = 0; k < a->count[i]; k++) {
            const size_t at = (size_t)a->at[i * a->most + (size_t)k];
            *first = nacre_min(*first, at);
            *end = nacre_max(*end, at + 1);
        }
        most = nacre_max(most, (size_t)a->count[i]);
    }
    return most;
}

// region_table fills the table of taps for a strip of rows of elements. The taps are positions in a
// buffer with rows of `width` floats.
static nacre_taps region_table(const regions_job *j, const region_axis *columns, size_t taps, size_t first,
        size_t width, void *memory) {
    const size_t n = (size_t)j->w->columns, all = j->strip * n;
    nacre_taps t = nacre_taps_in(memory, REGIONS_TAPS, all);
    bool missing = false;
    t.taps = taps;
    for (size_t k = 0; k < taps; k++) {
        for (size_t i = 0; i < t.pitch; i++) {
            const size_t row = i / n, c = i % n, to = k * t.pitch + i;
            const bool is = i < all && k < (size_t)columns->count[c];
            t.at[to] = is ? (int32_t)(row * width + (size_t)columns->at[c * columns->most + k] - first) : 0;
            t.part[to] = is ? columns->part[c * columns->most + k] : 0;
            t.there[to] = is;
            missing = missing || (i < all && !is);
        }
    }
    if (!missing) t.there = NULL;
    return t;
}

// region_row sums over columns without a table.
static void region_row(const region_axis *columns, const float *row, size_t first, size_t n, float *y) {
    for (size_t i = 0; i < n; i++) {
        const int32_t *const at = columns->at + i * columns->most;
        const float *const part = columns->part + i * columns->most;
        float sum = 0;
        for (int32_t k = 0; k < columns->count[i]; k++) sum += part[k] * row[(size_t)at[k] - first];
        y[i] = sum;
    }
}

// region_leaves reports whether an element of the axis has no inputs.
static bool region_leaves(const region_axis *a, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (a->count[i] == 0) return true;
    }
    return false;
}

// region_outside sets the elements of a plane that are outside the image.
static void region_outside(const regions_job *j, const region_axis *rows, const region_axis *columns, float *y) {
    const float value = (float)j->w->outside;
    for (int64_t i = 0; i < j->w->rows; i++) {
        for (int64_t k = 0; k < j->w->columns; k++) {
            if (rows->count[i] == 0 || columns->count[k] == 0) y[i * j->w->columns + k] = value;
        }
    }
}

static bool region_image(const regions_job *j, size_t region, size_t *image) {
    const void *const list = j->batch;
    const int64_t b = j->w->batch_bytes == 4 ? ((const int32_t *)list)[region] : ((const int64_t *)list)[region];
    if (b < 0 || b >= j->w->images) {
        nacre_fail(j->call, NACRE_FAILED_region_image, (int64_t)region, b, j->w->images, 0);
        return false;
    }
    *image = (size_t)b;
    return true;
}

// region_terms fills the table of terms for `all` elements of a region, beginning at row.
static nacre_taps region_terms(const regions_job *j, const float *r, size_t row, size_t all, void *memory) {
    const nacre_regions_words *const w = j->w;
    const size_t n = (size_t)w->columns;
    const int64_t count = w->samples;
    nacre_taps t = nacre_taps_in(memory, NACRE_TAPS_MOST, j->strip * n);
    t.taps = (size_t)(4 * count * count);
    float down, across;
    const float top = region_bins(w, r[1], r[3], (size_t)w->rows, &down), left = region_bins(w, r[0], r[2], n, &across);
    for (size_t i = 0; i < t.pitch; i++) {
        const size_t e = i < all ? i : 0;
        for (int64_t k = 0; k < count * count; k++) {
            const region_place y = region_place_at(region_sample(top, down, row + e / n, k / count, count), w->height);
            const region_place x = region_place_at(region_sample(left, across, e % n, k % count, count), w->width);
            for (size_t c = 0; c < 4; c++) {
                const size_t to = ((size_t)k * 4 + c) * t.pitch + i;
                t.at[to] = (c / 2 == 0 ? y.low : y.high) * (int32_t)w->width + (c % 2 == 0 ? x.low : x.high);
                t.part[to] = (c / 2 == 0 ? y.low_part : y.high_part) * (c % 2 == 0 ? x.low_part : x.high_part);
            }
        }
    }
    return t;
}

static void regions_largest(const regions_job *j, size_t region, size_t image, size_t from, size_t to, void *memory) {
    const nacre_regions_words *const w = j->w;
    const size_t m = (size_t)w->rows, n = (size_t)w->columns, channels = (size_t)w->channels;
    for (size_t row = 0; row < m && !nacre_stopped(j->call->team); row += j->strip) {
        const size_t all = nacre_min(j->strip, m - row) * n;
        const nacre_taps t = region_terms(j, j->regions + 4 * region, row, all, memory);
        for (size_t c = from; c < to; c++) {
            const float *const x = j->x + (image * channels + c) * (size_t)(w->height * w->width);
            j->impl->largest(x, &t, all, j->y + ((region * channels + c) * m + row) * n);
        }
    }
}

// regions_strip_bytes returns the bytes of the rows of a strip.
static size_t regions_strip_bytes(const nacre_regions_words *w) {
    return nacre_align_bytes(nacre_max((size_t)w->width, REGIONS_STRIP) * sizeof(float));
}

static void regions_task(void *job, size_t chunk, size_t thread) {
    const regions_job *const j = job;
    const nacre_regions_words *const w = j->w;
    const size_t region = chunk / j->groups, m = (size_t)w->rows, n = (size_t)w->columns,
            channels = (size_t)w->channels;
    char *memory = j->scratch + thread * j->per_thread;
    region_axis rows = region_axis_in(&memory, m, j->rows_most), columns = region_axis_in(&memory, n, j->columns_most);
    size_t image;
    if (!region_image(j, region, &image)) return;
    const size_t from = chunk % j->groups * REGIONS_CHANNELS, to = nacre_chunk_end(from, REGIONS_CHANNELS, channels);
    if (w->kind == NACRE_REGIONS_LARGEST) {
        regions_largest(j, region, image, from, to, memory);
        return;
    }
    const float *const r = j->regions + 4 * region;
    if (w->kind == NACRE_REGIONS_ALIGN) {
        if (!region_align(j, r[1], r[3], w->height, m, region, &rows) || !region_align(j, r[0], r[2], w->width, n,
                region, &columns)) return;
    } else {
        region_crop(j, r[0], r[2], w->height, m, &rows);
        region_crop(j, r[1], r[3], w->width, n, &columns);
    }
    size_t first, end;
    const size_t taps = region_columns(&columns, n, &first, &end), width = end > first ? end - first : 0;
    float *const buffer = (float *)(void *)memory;
    memory += regions_strip_bytes(w);
    const bool outside = w->kind != NACRE_REGIONS_ALIGN && (region_leaves(&rows, m) || region_leaves(&columns, n));
    const bool tabled = taps <= REGIONS_TAPS && width > 0;
    nacre_taps t;
    if (tabled) t = region_table(j, &columns, taps, first, width, memory);
    for (size_t c = from; c < to; c++) {
        const float *const x = j->x + (image * channels + c) * (size_t)(w->height * w->width) + (width > 0 ? first : 0);
        float *const y = j->y + (region * channels + c) * m * n;
        for (size_t row = 0; row < m && !nacre_stopped(j->call->team); row += j->strip) {
            const size_t count = nacre_min(j->strip, m - row);
            for (size_t i = 0; i < count; i++) {
                const size_t at = (row + i) * rows.most;
                j->impl->rows(x, (size_t)w->width, rows.at + at, rows.part + at, (size_t)rows.count[row + i], width,
                        buffer + i * width);
            }
            if (tabled) {
                j->impl->sum(buffer, &t, NULL, count * n, y + row * n);
            } else {
                for (size_t i = 0; i < count; i++) {
                    region_row(&columns, buffer + i * width, first, n, y + (row + i) * n);
                }
            }
        }
        if (outside) region_outside(j, &rows, &columns, y);
    }
}

// region_most returns the most inputs of an element along an axis of the given extent.
static size_t region_most(const nacre_regions_words *w, int64_t extent) {
    int64_t taps = 2;
    if (w->kind == NACRE_REGIONS_LARGEST) taps = 0;
    if (w->kind == NACRE_REGIONS_ALIGN) taps = w->samples > 0 ? 2 * w->samples : extent;
    return (size_t)nacre_min_i64(taps, extent);
}

static regions_job regions_of(const nacre_regions_words *w) {
    regions_job j = {
        .w = w, .rows_most = region_most(w, w->height), .columns_most = region_most(w, w->width), .strip = 1};
    const size_t m = (size_t)w->rows, n = (size_t)w->columns, width = (size_t)w->width;
    if (n < NACRE_TAPS_BLOCK && width < REGIONS_STRIP) {
        j.strip = nacre_min(m, nacre_min(NACRE_TAPS_BLOCK / n, REGIONS_STRIP / width));
    }
    const size_t taps = w->kind == NACRE_REGIONS_LARGEST ? NACRE_TAPS_MOST : REGIONS_TAPS;
    j.per_thread = nacre_align_bytes((2 * m * j.rows_most + m) * sizeof(float)) +
                   nacre_align_bytes((2 * n * j.columns_most + n) * sizeof(float)) + regions_strip_bytes(w) +
                   nacre_align_bytes(nacre_taps_bytes(taps, nacre_max(n, NACRE_TAPS_BLOCK)));
    return j;
}

static int regions_fits(const nacre_kernel *kernel, const int64_t *words) {
    (void)kernel;
    const nacre_regions_words *const w = (const void *)words;
    if (w->width > NACRE_GRID_EXTENT || w->height > NACRE_GRID_EXTENT) return 0;
    if (w->kind != NACRE_REGIONS_LARGEST) return 1;
    return w->samples >= 1 && w->samples <= 4 && w->height * w->width <= INT32_MAX;
}

static size_t regions_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    (void)kernel;
    return threads * regions_of((const void *)words).per_thread;
}

static void regions_command(const nacre_call *c) {
    regions_job j = regions_of((const void *)c->words);
    j.impl = ((nacre_f32_taps_fn *)c->kernel->fn)();
    j.call = c;
    j.x = nacre_operand(c, 0);
    j.regions = nacre_operand(c, 1);
    j.batch = nacre_operand(c, 2);
    j.y = nacre_operand(c, 3);
    j.scratch = c->scratch;
    j.groups = nacre_ceil_div((size_t)j.w->channels, REGIONS_CHANNELS);
    nacre_parallel(c->team, (size_t)j.w->regions * j.groups, regions_task, &j);
}

const nacre_entry nacre_f32_regions_entry = {
    .words = sizeof(nacre_regions_words) / 8, .operands = 4, .run = regions_command, .fits = regions_fits,
    .scratch = regions_scratch,
};
