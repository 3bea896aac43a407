// Commands f32_deform_columns and f64_deform_columns for all extents, one position at a time.
#include <math.h>

#include "core/simd.h"
#include "resize/deform.h"

enum {
    DEFORM_TAPS = 1 << NACRE_DEFORM_AXES,
    DEFORM_GRAIN = 1 << 15,  // products of a chunk, at least
};

// deform_per_chunk returns the number of positions per chunk.
static size_t deform_per_chunk(const nacre_deform_words *w) {
    const size_t work = (size_t)nacre_min_i64(w->channels, w->per_field) << w->axes;
    return work < DEFORM_GRAIN ? DEFORM_GRAIN / work : 1;
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

const nacre_entry nacre_f32_deform_any_entry = {.words = DEFORM_WORDS, .operands = DEFORM_OPERANDS,
        .run = f32_deform_run};
const nacre_entry nacre_f64_deform_entry = {.words = DEFORM_WORDS, .operands = DEFORM_OPERANDS, .run = f64_deform_run};
