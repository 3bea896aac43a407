// Commands f32_forest and f64_forest.
#include <string.h>

#include "core/target.h"
#include "core/vec.h"
#include "ml/ml.h"

enum {
    FOREST_LANES = NACRE_TREE_LANES,
    FOREST_ROWS = 256,        // most rows of a chunk
    FOREST_GRAIN = 1 << 14,   // steps of a chunk, at least
    FOREST_DEPTH = 8,         // assumed depth of a tree
    FOREST_WIDE = 1 << 26,    // features from which offsets of rows may overflow
};

// forest_per_chunk returns the number of rows per chunk: a multiple of the lanes that does not
// depend on the number of threads.
static size_t forest_per_chunk(size_t trees) {
    const size_t rows = FOREST_GRAIN / (trees * FOREST_DEPTH + 1) + 1, lanes = nacre_round_up(rows, FOREST_LANES);
    return nacre_min(lanes, FOREST_ROWS);
}

#define T float
#define TYPE(name) nacre_f32_##name
#define K(name) f32_forest_##name
#include "ml/forest.inc"
#undef T
#undef TYPE
#undef K

#define T double
#define TYPE(name) nacre_f64_##name
#define K(name) f64_forest_##name
#include "ml/forest.inc"
#undef T
#undef TYPE
#undef K

enum { FOREST_WORDS = sizeof(nacre_forest_words) / 8, FOREST_OPERANDS = 8 };

const nacre_entry nacre_f32_forest_entry = {.words = FOREST_WORDS, .operands = FOREST_OPERANDS, .run = f32_forest_run};
const nacre_entry nacre_f64_forest_entry = {.words = FOREST_WORDS, .operands = FOREST_OPERANDS, .run = f64_forest_run};
