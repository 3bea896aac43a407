// Command f32_affine_grid. A chunk is up to AFFINE_PLACES positions of the last axis in up to
// AFFINE_ROWS rows. The terms of the last axis are the same in all of these rows and are computed
// once.
#include "resize/resize.h"

enum { AFFINE_PLACES = 240, AFFINE_ROWS = 64 };

typedef struct {
    nacre_affine_points_fn *points;
    const nacre_affine_grid_words *w;
    const float *theta;
    float *y;
    size_t axes;
    size_t last, rows;      // extent of the last axis, product of the others
    size_t columns, bands;  // chunks of an image along the last axis, and along rows
} affine_job;

// affine_place returns the coordinate of position i of an axis of n.
static double affine_place(const nacre_affine_grid_words *w, size_t i, int64_t n) {
    if (!w->corners) return (2 * (double)i + 1) / (double)n - 1;
    return n == 1 ? -1 : 2 * (double)i / (double)(n - 1) - 1;
}

// affine_begin returns the sum for row p without the term of the last axis. line is a row of theta.
static double affine_begin(const affine_job *j, const float *line, size_t p) {
    double sum = line[j->axes];
    for (size_t a = 0, step = j->rows; a + 1 < j->axes; a++) {
        const size_t n = (size_t)j->w->in[a];
        step /= n;
        sum += (double)line[j->axes - 1 - a] * affine_place(j->w, p / step % n, (int64_t)n);
    }
    return sum;
}

static void affine_task(void *arg, size_t chunk, size_t thread) {
    (void)thread;
    const affine_job *const j = arg;
    const size_t axes = j->axes, column = chunk % j->columns, band = chunk / j->columns % j->bands;
    const size_t image = chunk / j->columns / j->bands;
    const float *const theta = j->theta + image * axes * (axes + 1);
    const size_t first = column * AFFINE_PLACES, places = nacre_min(AFFINE_PLACES, j->last - first);
    double across[AFFINE_PLACES * NACRE_AFFINE_AXES], begin[NACRE_AFFINE_PERIOD];
    for (size_t i = 0; i < places; i++) {
        const double x = affine_place(j->w, first + i, (int64_t)j->last);
        for (size_t a = 0; a < axes; a++) across[i * axes + a] = (double)theta[a * (axes + 1)] * x;
    }
    const size_t end = nacre_chunk_end(band * AFFINE_ROWS, AFFINE_ROWS, j->rows);
    for (size_t p = band * AFFINE_ROWS; p < end; p++) {
        for (size_t i = 0; i < axes; i++) begin[i] = affine_begin(j, theta + i * (axes + 1), p);
        for (size_t i = axes; i < NACRE_AFFINE_PERIOD; i++) begin[i] = begin[i - axes];
        j->points(across, begin, places * axes, j->y + ((image * j->rows + p) * j->last + first) * axes);
    }
}

static void affine_run(const nacre_call *c) {
    const nacre_affine_grid_words *const w = (const void *)c->words;
    affine_job j = {.points = (nacre_affine_points_fn *)c->kernel->fn, .w = w, .theta = nacre_operand(c, 0),
                    .y = nacre_operand(c, 1), .axes = (size_t)w->axes, .rows = 1};
    j.last = (size_t)w->in[j.axes - 1];
    for (size_t a = 0; a + 1 < j.axes; a++) j.rows *= (size_t)w->in[a];
    j.columns = nacre_ceil_div(j.last, AFFINE_PLACES);
    j.bands = nacre_ceil_div(j.rows, AFFINE_ROWS);
    nacre_parallel(c->team, (size_t)w->images * j.columns * j.bands, affine_task, &j);
}

const nacre_entry nacre_f32_affine_grid_entry = {
    .words = sizeof(nacre_affine_grid_words) / 8, .operands = 2, .run = affine_run,
};

void nacre_f32_affine_points__scalar(const double *across, const double *begin, size_t n, float *y) {
    for (size_t i = 0; i < n; i++) y[i] = (float)(across[i] + begin[i % NACRE_AFFINE_PERIOD]);
}
