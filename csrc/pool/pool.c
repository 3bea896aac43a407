#include "pool/pool.h"

#include "pool/blocked.h"

extern const nacre_entry nacre_f32_pooling_entry, nacre_f32_pooling_blocked_entry, nacre_i8_pooling_cells_entry,
    nacre_i8_pooling_totals_entry, nacre_i8_pooling_lines_entry, nacre_i8_pooling_rows_entry, nacre_max_index_entry;

// The signature of the kernel rows of each op.
typedef nacre_f32_pooling_fn pool_row_f32_pooling;
typedef nacre_f32_blocked_pooling_fn pool_row_f32_pooling_blocked;
typedef nacre_i8_pooling_fn pool_row_i8_pooling;
typedef nacre_max_index_fn pool_row_max_index;

#define NACRE_FAMILY pool
#include "core/table.inc"
