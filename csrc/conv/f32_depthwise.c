// Convolutions of groups of one channel by taps. Bands of the value are copied to scratch so that
// every tap is an offset.
#include "conv/conv.h"
#include "conv/space.h"

enum {
    DEPTHWISE_BAND = 4096,    // elements of the bands made at a time, unless a row of the result takes more
    DEPTHWISE_GRAIN = 65536,  // multiply-adds of one chunk of work
    DEPTHWISE_REACH = 1 << 22 // elements of the least band up to which copying pays
};

typedef struct {
    const nacre_f32_depthwise *t;
    nacre_f32_band form;
    size_t in_h, out_h, out_w;
    size_t kernel_h, kernel_w, step_h, gap_h, pad_h;
    size_t row;             // elements of a row of a band
    size_t rows, bands;     // rows of the result from one band; bands of a plane
    size_t bands_each;      // of one chunk
    size_t bands_ahead;     // made before the first of them is read, because recent writes are slow to read
    size_t band_size;       // elements of a band
    size_t x_size, y_size;  // of the source of a band and of its results, if they are converted
    size_t offset[NACRE_DEPTHWISE_KERNEL];
    float *scratch;
} depthwise_plan;

static size_t depthwise_reach(const depthwise_plan *p, size_t rows) {
    return (rows - 1) * p->step_h + (p->kernel_h - 1) * p->gap_h + 1;
}

// Sets p and reports whether t is a depthwise convolution that bands serve. With wide strides or
// dilations most of a band would meet no element of the kernel.
static int plan_depthwise(depthwise_plan *p, const nacre_f32_depthwise *t) {
    const nacre_conv *const c = &t->c;
    if (!nacre_conv_is_depthwise(c) || c->images * c->groups * c->filters == 0 || conv_count(c->out, c->axes) == 0) {
        return 0;
    }
    const size_t w = c->axes - 1;
    const int flat = c->axes == 1;
    *p = (depthwise_plan){.t = t, .in_h = flat ? 1 : c->in[0], .out_h = flat ? 1 : c->out[0], .out_w = c->out[w]};
    p->kernel_h = flat ? 1 : c->kernel[0];
    p->kernel_w = c->kernel[w];
    p->step_h = flat ? 1 : c->stride[0];
    p->gap_h = flat ? 1 : c->dilation[0];
    p->pad_h = flat ? 0 : c->pad[0];
    const size_t parts = c->stride[w], gap_w = c->dilation[w];
    const size_t columns = (p->out_w - 1) * parts + (p->kernel_w - 1) * gap_w + 1;
    nacre_f32_band *const b = &p->form;
    *b = (nacre_f32_band){c->in[w], c->pad[w], parts, 0, 0};
    const size_t before = conv_part_pad(b, 0), shared = nacre_ceil_div(b->in, parts) + before;
    const size_t span = (columns - 1) / parts + 1, behind = conv_part_pad(b, parts - 1);
    b->part = nacre_align_floats(shared + behind > span ? shared : span - behind);
    b->lead = nacre_align_floats(before);
    p->row = b->part * parts;
    const size_t reach = depthwise_reach(p, 1);
    if (reach > DEPTHWISE_REACH || p->row > DEPTHWISE_REACH / reach) return 0;
    const size_t fit = DEPTHWISE_BAND / p->row;  // rows of the value in a band
    p->rows = fit > reach ? nacre_min(p->out_h, (fit - reach) / p->step_h + 1) : 1;
    p->bands = nacre_ceil_div(p->out_h, p->rows);
    p->rows = nacre_ceil_div(p->out_h, p->bands);
    p->bands = nacre_ceil_div(p->out_h, p->rows);
    p->band_size = b->lead + depthwise_reach(p, p->rows) * p->row + NACRE_DEPTHWISE_SLACK;
    for (size_t tx = 0; tx < p->kernel_w; tx++) {
        const size_t x = tx * gap_w;
        p->offset[tx] = b->lead + x % parts * b->part + x / parts - conv_part_pad(b, x % parts);
    }
    if (t->read != NULL) {
        p->x_size = nacre_align_floats(nacre_min(p->in_h, depthwise_reach(p, p->rows)) * p->form.in);
        p->y_size = nacre_align_floats(p->rows * p->out_w);
    }
    const size_t work = p->rows * p->out_w * p->kernel_h * p->kernel_w * c->filters;
    p->bands_each = work >= DEPTHWISE_GRAIN ? 1 : DEPTHWISE_GRAIN / work;
    p->bands_ahead = p->band_size >= DEPTHWISE_BAND ? 1 : nacre_min(p->bands_each, DEPTHWISE_BAND / p->band_size);
    return 1;
}

// Makes the band for the rows from o on of the result of a plane of the value.
static void fill_band(const depthwise_plan *p, size_t plane, size_t o, float *band, float *buffer) {
    const nacre_f32_depthwise *const t = p->t;
    const size_t count = depthwise_reach(p, nacre_min(p->rows, p->out_h - o)), first = o * p->step_h,
        stop = p->in_h + p->pad_h;
    const size_t end = first < stop ? nacre_min(count, stop - first) : 0;
    const size_t begin = first < p->pad_h ? nacre_min(end, p->pad_h - first) : 0;
    const float *from = NULL;
    if (begin < end) {
        const size_t at = (plane * p->in_h + first + begin - p->pad_h) * p->form.in;
        if (t->read != NULL) {
            t->read(t->source, at, (end - begin) * p->form.in, buffer);
            from = buffer;
        } else {
            from = t->x + at;
        }
    }
    t->impl->fill(&p->form, from, begin, end - begin, count - end, band);
}

// Computes the rows of the result of a band.
static void filter_band(const depthwise_plan *p, size_t plane, size_t o, const float *band, float *buffer) {
    const nacre_f32_depthwise *const t = p->t;
    const size_t rows = nacre_min(p->rows, p->out_h - o), n = rows * p->out_w;
    float weights[NACRE_DEPTHWISE_KERNEL];
    nacre_f32_depthwise_rows f = {.src = band, .kernel_h = p->kernel_h, .kernel_w = p->kernel_w, .offset = p->offset,
                                  .finish = &t->finish};
    f.step = p->step_h * p->row;
    f.gap = p->gap_h * p->row;
    f.ldc = f.n = p->out_w;
    f.rows = rows;
    for (size_t i = 0; i < t->c.filters; i++) {
        const size_t filter = plane % t->c.groups * t->c.filters + i;
        const size_t at = ((plane * t->c.filters + i) * p->out_h + o) * p->out_w;
        if (t->read != NULL) {
            t->weigh(t->source, filter, weights);
            f.w = weights;
            f.out = buffer;
        } else {
            f.w = t->w + filter * p->kernel_h * p->kernel_w;
            f.out = t->y + at;
        }
        f.bias = t->bias == NULL ? 0 : t->bias[filter];
        f.add = t->finish.add == NULL ? NULL : t->finish.add + at;
        t->impl->filter(&f);
        if (t->finish.map != NULL) t->finish.map(f.out, f.out, n, t->finish.params);
        if (t->read != NULL) t->write(t->source, filter, at, n, buffer);
    }
}

static void next_band(const depthwise_plan *p, size_t *plane, size_t *o) {
    *o += p->rows;
    if (*o < p->out_h) return;
    *o = 0;
    ++*plane;
}

static size_t depthwise_scratch(const depthwise_plan *p) {
    return p->bands_ahead * p->band_size + p->x_size + p->y_size;
}

static void depthwise_chunk(void *job, size_t chunk, size_t thread) {
    const depthwise_plan *const p = job;
    const nacre_conv *const c = &p->t->c;
    float *const bands = p->scratch + thread * depthwise_scratch(p),
        *const buffer = bands + p->bands_ahead * p->band_size;
    const size_t stop = nacre_min(c->images * c->groups * p->bands, (chunk + 1) * p->bands_each);
    for (size_t first = chunk * p->bands_each; first < stop; first += p->bands_ahead) {
        const size_t end = nacre_min(stop, first + p->bands_ahead);
        float *band = bands;
        for (size_t i = first, plane = i / p->bands, o = i % p->bands * p->rows; i < end; i++, band += p->band_size) {
            fill_band(p, plane, o, band, buffer);
            next_band(p, &plane, &o);
        }
        band = bands;
        for (size_t i = first, plane = i / p->bands, o = i % p->bands * p->rows; i < end; i++, band += p->band_size) {
            filter_band(p, plane, o, band, buffer + p->x_size);
            next_band(p, &plane, &o);
        }
    }
}

static int depthwise_fits(const nacre_f32_depthwise *t) {
    depthwise_plan p;
    return plan_depthwise(&p, t);
}

static size_t depthwise_elements(const nacre_f32_depthwise *t, size_t threads) {
    depthwise_plan p;
    return plan_depthwise(&p, t) ? threads * depthwise_scratch(&p) : 0;
}

static void depthwise_run(const nacre_f32_depthwise *t, nacre_team *team, float *scratch) {
    depthwise_plan p;
    if (!plan_depthwise(&p, t)) return;
    p.scratch = scratch;
    const size_t bands = t->c.images * t->c.groups * p.bands;
    nacre_parallel(team, nacre_ceil_div(bands, p.bands_each), depthwise_chunk, &p);
}

const nacre_f32_depthwise_driver nacre_f32_depthwise_drivers = {depthwise_fits, depthwise_elements, depthwise_run};
