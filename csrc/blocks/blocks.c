#include "blocks/panels.h"

extern const nacre_entry nacre_blocks_gemv_entry, nacre_blocks_gemm_entry, nacre_blocks_unpack_entry, nacre_block_panels_gemv_entry,
    nacre_block_panels_gemm_entry, nacre_block_panels_rounded_entry;

// The signature of the kernel rows of each op.
typedef nacre_f32_blocks_fn blocks_row_f32_blocks;
typedef nacre_f32_blocks_fn blocks_row_unpack_blocks;
typedef nacre_block_panels_fn blocks_row_f32_block_panels;
typedef nacre_block_panels_fn blocks_row_i8_block_panels;

#define NACRE_FAMILY blocks
#include "core/table.inc"
