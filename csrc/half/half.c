#include "half/half.h"

#include "half/half_levels.h"

static const nacre_kernel half_rows[] = {
#define NACRE_KERNEL(op, variant, isa, function) {#op, #variant, isa, (nacre_fn)function, NULL},
#include "half/kernels.inc"
#undef NACRE_KERNEL
};

const nacre_kernel *nacre_half_kernels(size_t *count) {
    *count = sizeof half_rows / sizeof half_rows[0];
    return half_rows;
}
