#include "blocks/blocks.h"

extern const nacre_entry nacre_blocks_gemv_entry, nacre_blocks_gemm_entry, nacre_blocks_unpack_entry;

// The signature of the kernel rows of each op.
typedef nacre_f32_blocks_fn blocks_row_f32_blocks;
typedef nacre_f32_blocks_fn blocks_row_unpack_blocks;

#define NACRE_FAMILY blocks
#include "core/table.inc"
