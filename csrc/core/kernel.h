// Kernel rows and their selection.
//
// Each family lists its variants in kernels.inc, best first and scalar last:
//     NACRE_KERNEL(op, variant, isa, function)
// where op names what is computed (f32_gemm), variant names how (14x32_avx512),
// isa is the set of levels needed, and function has the signature that the
// family's header gives for op. The family's .c file turns the list into one
// array, and everything else (dispatch, tests, benchmarks) walks that array.
#ifndef NACRE_CORE_KERNEL_H
#define NACRE_CORE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "core/cpu.h"

typedef void (*nacre_fn)(void);

typedef struct {
    const char *op;
    const char *variant;
    uint32_t isa;
    nacre_fn fn;
} nacre_kernel;

// The first row of op whose levels all lie in mask; NULL if op has no row.
const nacre_kernel *nacre_kernel_select(const nacre_kernel *rows, size_t count, const char *op, uint32_t mask);

#endif
