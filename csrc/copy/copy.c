#include "copy/copy.h"

#include "copy/transpose.h"

extern const nacre_entry nacre_copy_entry, nacre_slice_entry, nacre_gather_entry, nacre_gather_elements_entry,
    nacre_scatter_entry, nacre_scatter_elements_entry, nacre_triangle_entry, nacre_reverse_sequence_entry,
    nacre_one_hot_entry, nacre_fold_entry, nacre_range_entry, nacre_store_i64_entry, nacre_store_i32_entry;

// The signature of the rows of each op.
typedef nacre_transpose_fn copy_row_w1_transpose, copy_row_w2_transpose, copy_row_w4_transpose, copy_row_w8_transpose,
    copy_row_w16_transpose;
#define NACRE_DTYPE(d, name, T, kind) typedef nacre_scatter_reduce_fn copy_row_##d##_scatter_add, copy_row_##d##_scatter_mul, copy_row_##d##_scatter_max, copy_row_##d##_scatter_min;
#include "core/dtypes.inc"
#undef NACRE_DTYPE
typedef nacre_fold_fn copy_row_f32_fold, copy_row_f64_fold, copy_row_u8_fold, copy_row_u16_fold, copy_row_u32_fold,
    copy_row_u64_fold;
typedef nacre_range_fn copy_row_i16_range, copy_row_i32_range, copy_row_i64_range, copy_row_f32_range,
    copy_row_f64_range;

#define NACRE_FAMILY copy
#include "core/table.inc"
