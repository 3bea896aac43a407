#include "reduce/reduce.h"

#include "core/target.h"

typedef nacre_f32_reduce_fn reduce_row_f32_reduce;
typedef nacre_int_reduce_fn reduce_row_i64_reduce, reduce_row_i32_reduce;

#define NACRE_KERNEL(op, variant, isa, function, entry) extern reduce_row_##op function;
#include "reduce/kernels.inc"
#undef NACRE_KERNEL

static const nacre_kernel reduce_rows[] = {
#define NACRE_KERNEL(op, variant, isa, function, entry) {#op, #variant, isa, (nacre_fn)function, entry},
#include "reduce/kernels.inc"
#undef NACRE_KERNEL
};

const nacre_kernel *nacre_reduce_kernels(size_t *count) {
    *count = sizeof reduce_rows / sizeof reduce_rows[0];
    return reduce_rows;
}
