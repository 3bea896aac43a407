#include "copy/copy.h"

#include "copy/transpose.h"

// The reductions, which scatter.c defines.
#define NACRE_DTYPE(d, name, T, kind) extern nacre_scatter_reduce_fn nacre_##d##_scatter_add, nacre_##d##_scatter_mul, nacre_##d##_scatter_max, nacre_##d##_scatter_min;
#include "core/dtypes.inc"
#undef NACRE_DTYPE

extern const nacre_entry nacre_copy_entry, nacre_slice_entry, nacre_gather_entry, nacre_gather_elements_entry, nacre_scatter_entry,
    nacre_scatter_elements_entry, nacre_triangle_entry, nacre_reverse_sequence_entry, nacre_one_hot_entry, nacre_store_i64_entry, nacre_store_i32_entry;

static const nacre_kernel copy_rows[] = {
#define NACRE_KERNEL(op, variant, isa, function, entry) {#op, #variant, isa, (nacre_fn)function, entry},
#include "copy/kernels.inc"
#undef NACRE_KERNEL
};

const nacre_kernel *nacre_copy_kernels(size_t *count) {
    *count = sizeof copy_rows / sizeof copy_rows[0];
    return copy_rows;
}
