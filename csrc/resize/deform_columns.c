// Commands f32_deform_columns and f64_deform_columns.
#include <math.h>

#include "core/simd.h"
#include "resize/resize.h"

enum {
    DEFORM_TAPS = 1 << NACRE_DEFORM_AXES,
    DEFORM_GRAIN = 1 << 15,  // products that a chunk of work should have
};

// What follows from the extents.
typedef struct {
    size_t kernel, places, pixels;             // elements of the kernel, of the output's space, of the input's
    size_t field, fields, per_chunk, blocks;   // the first field and how many; places of a chunk, chunks of a kernel's element
    int64_t kernel_step[NACRE_DEFORM_AXES], out_step[NACRE_DEFORM_AXES], in_step[NACRE_DEFORM_AXES];
} deform_space;

static size_t deform_steps(int64_t axes, const int64_t *extents, int64_t *steps) {
    int64_t n = 1;
    for (int64_t a = axes - 1; a >= 0; a--) {
        steps[a] = n;
        n *= extents[a];
    }
    return (size_t)n;
}

static deform_space deform_space_of(const nacre_deform_words *w) {
    deform_space s;
    s.kernel = deform_steps(w->axes, w->kernel, s.kernel_step);
    s.places = deform_steps(w->axes, w->out, s.out_step);
    s.pixels = deform_steps(w->axes, w->in, s.in_step);
    s.field = (size_t)(w->first / w->per_field);
    s.fields = (size_t)((w->first + w->channels - 1) / w->per_field) - s.field + 1;
    const size_t work = (size_t)nacre_min_i64(w->channels, w->per_field) << w->axes;
    s.per_chunk = work < DEFORM_GRAIN ? DEFORM_GRAIN / work : 1;
    s.blocks = nacre_ceil_div(s.places, s.per_chunk);
    return s;
}

#define T float
#define K(name) f32_deform_##name
#include "resize/deform_columns.inc"
#undef T
#undef K

#define T double
#define K(name) f64_deform_##name
#include "resize/deform_columns.inc"
#undef T
#undef K

enum { DEFORM_WORDS = sizeof(nacre_deform_words) / 8, DEFORM_OPERANDS = 4 };

const nacre_entry nacre_f32_deform_entry = {.words = DEFORM_WORDS, .operands = DEFORM_OPERANDS, .run = f32_deform_run};
const nacre_entry nacre_f64_deform_entry = {.words = DEFORM_WORDS, .operands = DEFORM_OPERANDS, .run = f64_deform_run};
