#include "resize/resize.h"

#include "core/levels.h"

extern const nacre_entry nacre_f32_resample_entry, nacre_resample_nearest_entry, nacre_f32_deform_entry, nacre_f64_deform_entry;

// The signature of each op's rows.
typedef nacre_f32_resample_fn resize_row_f32_resample;
typedef nacre_resample_nearest_fn resize_row_resample_nearest;

#define NACRE_KERNEL(op, variant, isa, function, entry) extern resize_row_##op function;
#define NACRE_COMMAND(op, entry)
#include "resize/kernels.inc"
#undef NACRE_KERNEL
#undef NACRE_COMMAND

static const nacre_kernel resize_rows[] = {
#define NACRE_KERNEL(op, variant, isa, function, entry) {#op, #variant, isa, (nacre_fn)function, entry},
#define NACRE_COMMAND(op, entry) {#op, "scalar", NACRE_ISA_scalar, NULL, entry},
#include "resize/kernels.inc"
#undef NACRE_KERNEL
#undef NACRE_COMMAND
};

const nacre_kernel *nacre_resize_kernels(size_t *count) {
    *count = sizeof resize_rows / sizeof resize_rows[0];
    return resize_rows;
}
