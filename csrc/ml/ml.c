#include "ml/ml.h"

#include "core/target.h"

// Each kernel is declared once more by its own row, with the type of its op.
#define NACRE_KERNEL(op, variant, isa, function) ML_DECLARE_##op(function)
#define ML_DECLARE_f32_rbf(function) \
    void function(const float *x, const float *v, size_t n, size_t stride, size_t k, float gamma, float *out);
#define ML_DECLARE_f32_descend(function) \
    void function(const nacre_f32_tree_node *nodes, const float *x, const uint32_t *offset, bool missing, uint32_t *at);
#define ML_DECLARE_f64_descend(function) \
    void function(const nacre_f64_tree_node *nodes, const double *x, const uint32_t *offset, bool missing, uint32_t *at);
#include "ml/kernels.inc"
#undef NACRE_KERNEL

static const nacre_kernel ml_rows[] = {
#define NACRE_KERNEL(op, variant, isa, function) {#op, #variant, isa, (nacre_fn)function, NULL},
#include "ml/kernels.inc"
#undef NACRE_KERNEL
};

const nacre_kernel *nacre_ml_kernels(size_t *count) {
    *count = sizeof ml_rows / sizeof ml_rows[0];
    return ml_rows;
}
