// The bodies of the family for each level, and its kernel rows.
#include "eltwise/eltwise.h"
#include "eltwise/f32_math.h"
#include "eltwise/loop.h"
#include "eltwise/ops.inc"
#include "eltwise/types.h"
#include "half/half_levels.h"

#define NACRE_BODY "eltwise/f32_unary.inc"
#define NACRE_NAME f32_unary
#include "core/each_level.h"

#define NACRE_BODY "eltwise/f32_pow.inc"
#define NACRE_NAME f32_pow
#include "core/each_level.h"

#define NACRE_BODY "eltwise/f32_fmod.inc"
#define NACRE_NAME f32_fmod
#include "core/each_level.h"

// Advanced SIMD is part of the base instruction set, for which the scalar loops are compiled.
#if NACRE_X86_64
#define NACRE_BODY "eltwise/f32_binary.inc"
#define NACRE_NAME f32_binary
#include "core/each_level.h"

#define NACRE_BODY "eltwise/convert.inc"
#define NACRE_NAME convert
#include "core/each_level.h"
#endif

// Names of functions contain bool, which the header of WebAssembly's vectors defines.
#undef bool

#define NACRE_CONVERT_KERNEL(op, variant, isa, function) void function(const void *, void *, size_t);
#define NACRE_UNARY_KERNEL(op, variant, isa, function) void function(const void *, void *, size_t, const void *);
#define NACRE_BINARY_KERNEL(op, variant, isa, function) \
    void function(const void *, size_t, const void *, size_t, void *, size_t);
#define NACRE_WHERE_KERNEL(op, variant, isa, function) \
    void function(const uint8_t *, size_t, const void *, size_t, const void *, size_t, void *, size_t);
#include "eltwise/kernels.inc"
#undef NACRE_CONVERT_KERNEL
#undef NACRE_UNARY_KERNEL
#undef NACRE_BINARY_KERNEL
#undef NACRE_WHERE_KERNEL

static const nacre_kernel eltwise_rows[] = {
#define NACRE_CONVERT_KERNEL(op, variant, isa, function) {op, variant, isa, (nacre_fn)function, &nacre_convert_entry},
#define NACRE_UNARY_KERNEL(op, variant, isa, function) {op, variant, isa, (nacre_fn)function, &nacre_unary_entry},
#define NACRE_BINARY_KERNEL(op, variant, isa, function) {op, variant, isa, (nacre_fn)function, &nacre_binary_entry},
#define NACRE_WHERE_KERNEL(op, variant, isa, function) {op, variant, isa, (nacre_fn)function, &nacre_where_entry},
#include "eltwise/kernels.inc"
    {"eltwise_fused", "scalar", NACRE_ISA_scalar, NULL, &nacre_fused_entry},
    {"f32_gated_add", "scalar", NACRE_ISA_scalar, NULL, &nacre_gated_entry},
    {"f32_snake", "scalar", NACRE_ISA_scalar, NULL, &nacre_snake_entry},
#undef NACRE_CONVERT_KERNEL
#undef NACRE_UNARY_KERNEL
#undef NACRE_BINARY_KERNEL
#undef NACRE_WHERE_KERNEL
};

const nacre_kernel *nacre_eltwise_kernels(size_t *count) {
    *count = sizeof eltwise_rows / sizeof eltwise_rows[0];
    return eltwise_rows;
}

// These bodies compile here, so that the headers of intrinsics are read once.
#include "eltwise/f16.inc"
