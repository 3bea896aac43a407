#include "ml/ml.h"

#include "core/levels.h"

// The signature of each op's rows.
typedef nacre_f32_rbf_fn ml_row_f32_rbf;
typedef nacre_f32_descend_fn ml_row_f32_forest;
typedef nacre_f64_descend_fn ml_row_f64_forest;

#define NACRE_KERNEL(op, variant, isa, function, entry) extern ml_row_##op function;
#include "ml/kernels.inc"
#undef NACRE_KERNEL

static const nacre_kernel ml_rows[] = {
#define NACRE_KERNEL(op, variant, isa, function, entry) {#op, #variant, isa, (nacre_fn)function, entry},
#include "ml/kernels.inc"
#undef NACRE_KERNEL
};

const nacre_kernel *nacre_ml_kernels(size_t *count) {
    *count = sizeof ml_rows / sizeof ml_rows[0];
    return ml_rows;
}
