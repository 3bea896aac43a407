// Op slice: a slice with bounds that are read at run time.
#include "copy/index.h"

typedef struct {
    int64_t start, end, step;
} slice_cut;

// slice_span returns the number of indices of a cut of an axis of n elements. It sets the first
// index and the step.
static int64_t slice_span(slice_cut k, int64_t n, int64_t *first, int64_t *step) {
    *step = nacre_clamp(k.step, -n - 1, n + 1);
    *first = 0;
    if (n == 0) return 0;
    const int64_t start = k.start < 0 ? k.start + n : k.start, end = k.end < 0 ? k.end + n : k.end;
    if (*step > 0) {
        const int64_t from = nacre_clamp(start, 0, n), to = nacre_clamp(end, 0, n);
        if (to <= from) return 0;
        *first = from;
        return (to - from - 1) / *step + 1;
    }
    const int64_t from = nacre_clamp(start, 0, n - 1), to = nacre_clamp(end, -1, n - 1);
    if (to >= from) return 0;
    *first = from;
    return (from - to - 1) / -*step + 1;
}

// slice_cuts reads the cut of each axis. Step 0 means that an axis has none. It returns 0 if the
// run ends.
static int slice_cuts(const nacre_call *c, const nacre_slice_words *w, slice_cut *cuts) {
    const void *const starts = nacre_operand(c, 2), *const ends = nacre_operand(c, 3);
    const void *const axes = nacre_operand(c, 4), *const steps = nacre_operand(c, 5);
    for (int64_t i = 0; i < w->cuts; i++) {
        const int64_t given = axes == NULL ? i : copy_integer(axes, w->axes_bytes, (size_t)i);
        const int64_t axis = given < 0 ? given + w->rank : given;
        const int64_t step = steps == NULL ? 1 : copy_integer(steps, w->steps_bytes, (size_t)i);
        if (axis < 0 || axis >= w->rank) {
            nacre_fail(c, NACRE_FAILED_axis, given, w->rank, 0, 0);
            return 0;
        }
        if (step == 0 || cuts[axis].step != 0) {
            nacre_fail(c, step == 0 ? NACRE_FAILED_step : NACRE_FAILED_axis_twice, step == 0 ? i : given, 0, 0, 0);
            return 0;
        }
        cuts[axis] = (slice_cut){copy_integer(starts, w->starts_bytes, (size_t)i),
                                 copy_integer(ends, w->ends_bytes, (size_t)i), step};
    }
    return 1;
}

static void slice_run(const nacre_call *c) {
    const nacre_slice_words *const w = (const void *)c->words;
    const size_t rank = (size_t)w->rank;
    slice_cut cuts[NACRE_COPY_AXES] = {{0, 0, 0}};
    if (!slice_cuts(c, w, cuts)) return;
    int64_t box[2 + 3 * NACRE_COPY_AXES] = {0}, from = 1, to = 1;
    for (size_t a = rank; a-- > 0;) {
        const int64_t n = w->list[2 * a];
        int64_t first = 0, step = 1, count = n;
        if (cuts[a].step != 0) count = slice_span(cuts[a], n, &first, &step);
        if (count != w->list[2 * a + 1]) {
            nacre_fail(c, NACRE_FAILED_reshaped, count, w->list[2 * a + 1], 0, 0);
            return;
        }
        box[0] += first * from;
        box[2 + 3 * a] = count;
        box[3 + 3 * a] = step * from;
        box[4 + 3 * a] = to;
        from *= n;
        to *= count;
    }
    const copy_boxes list = {(nacre_transpose_fn *)nacre_part_fn(w->transpose), (size_t)w->width, rank, 1, box};
    size_t start;
    nacre_copy_boxes(&list, nacre_operand(c, 0), nacre_operand(c, 1), &start, c->team);
}

static int slice_fits(const nacre_kernel *kernel, const int64_t *words) {
    (void)kernel;
    return ((const nacre_slice_words *)(const void *)words)->rank <= NACRE_COPY_AXES;
}

const nacre_entry nacre_slice_entry = {.words = sizeof(nacre_slice_words) / 8, .operands = 6, .run = slice_run,
                                       .fits = slice_fits};
