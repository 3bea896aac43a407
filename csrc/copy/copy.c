#include "copy/copy.h"

#include "copy/transpose.h"

// The reductions, which scatter.c defines.
#define NACRE_DTYPE(d, name, T, kind) extern nacre_scatter_reduce_fn nacre_##d##_scatter_add, nacre_##d##_scatter_mul, nacre_##d##_scatter_max, nacre_##d##_scatter_min;
#include "core/dtypes.inc"
#undef NACRE_DTYPE

extern const nacre_entry nacre_copy_entry, nacre_slice_entry, nacre_gather_entry, nacre_gather_elements_entry, nacre_scatter_entry,
    nacre_scatter_elements_entry, nacre_triangle_entry, nacre_reverse_sequence_entry, nacre_one_hot_entry, nacre_store_i64_entry, nacre_store_i32_entry;

const nacre_kernel nacre_copy_kernels[] = {
#define NACRE_KERNEL(op, variant, isa, function, entry) {#op, #variant, isa, (nacre_fn)function, entry},
#include "copy/kernels.inc"
#undef NACRE_KERNEL
};
const size_t nacre_copy_kernel_count = sizeof nacre_copy_kernels / sizeof nacre_copy_kernels[0];
