#include "pool/pool.h"

#include "core/target.h"
#include "pool/blocked.h"

extern const nacre_entry nacre_f32_pooling_entry, nacre_f32_pooling_blocked_entry, nacre_i8_pooling_entry;

// The signature of each op's rows.
typedef nacre_f32_pooling_fn pool_row_f32_pooling;
typedef nacre_f32_blocked_pooling_fn pool_row_f32_pooling_blocked;
typedef nacre_i8_pooling_fn pool_row_i8_pooling;

#define NACRE_KERNEL(op, variant, isa, function, entry) extern pool_row_##op function;
#include "pool/kernels.inc"
#undef NACRE_KERNEL

static const nacre_kernel pool_rows[] = {
#define NACRE_KERNEL(op, variant, isa, function, entry) {#op, #variant, isa, (nacre_fn)function, entry},
#include "pool/kernels.inc"
#undef NACRE_KERNEL
};

const nacre_kernel *nacre_pool_kernels(size_t *count) {
    *count = sizeof pool_rows / sizeof pool_rows[0];
    return pool_rows;
}
