// Target regions: the code between BEGIN and END is compiled for the given level, whatever the
// flags of the file, by gcc and clang alike. A kernel is reached only through its row, so it only
// runs on a CPU with the level.
#ifndef NACRE_CORE_TARGET_H
#define NACRE_CORE_TARGET_H

#if defined(__x86_64__)
#define NACRE_X86_64 1
#endif
#if defined(__aarch64__)
#define NACRE_AARCH64 1
#endif
#if defined(__wasm__)
#define NACRE_WASM 1
#endif
#if defined(__wasm_simd128__)
#define NACRE_SIMD128 1
#endif

// On Windows, gcc aligns vectors on the stack to 16 bytes only, and moves them by instructions that
// fault if wider vectors are not aligned.
#if defined(_WIN32) && defined(NACRE_X86_64) && !defined(__clang__)
#error "on Windows gcc does not align vectors on the stack; compile with clang, such as CC='zig cc'"
#endif

// NACRE_AVX512FP16 is defined if kernels are compiled for AVX512-FP16. Compilers that know it come
// with assemblers that do.
#if NACRE_X86_64
#if defined(NACRE_EMULATED) || (defined(__clang__) ? __clang_major__ >= 14 : __GNUC__ >= 12)
#define NACRE_AVX512FP16 1
#endif
#endif

#define NACRE_PRAGMA(x) _Pragma(#x)

#if defined(__clang__)
#define NACRE_TARGET_BEGIN(features) \
    NACRE_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define NACRE_TARGET_END NACRE_PRAGMA(clang attribute pop)
#else
#define NACRE_TARGET_BEGIN(features) \
    NACRE_PRAGMA(GCC push_options) NACRE_PRAGMA(GCC target(features))
#define NACRE_TARGET_END NACRE_PRAGMA(GCC pop_options)
#endif

// The feature strings of the levels in isa.inc. A row and its region must agree.
#define NACRE_AVX2 "avx2,fma,f16c"
#ifdef NACRE_EMULATED
#define NACRE_AVX512 NACRE_AVX2
#define NACRE_AVX512VNNI NACRE_AVX2
#else
#define NACRE_AVX512 "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl"
#define NACRE_AVX512VNNI "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"
#endif
#if defined(__clang__)
#define NACRE_DOTPROD "dotprod"
#define NACRE_I8MM "i8mm"
// A clang with function versions takes the architecture's name for half-precision arithmetic. An
// older one only takes the name in its own backend.
#if __has_attribute(target_version)
#define NACRE_FP16 "fp16"
#else
#define NACRE_FP16 "fullfp16"
#endif
#else
#define NACRE_DOTPROD "arch=armv8.2-a+dotprod"
#define NACRE_I8MM "arch=armv8.2-a+i8mm"
#define NACRE_FP16 "arch=armv8.2-a+fp16"
#endif

// A product and a sum are rounded separately unless a kernel asks for fma: results of tails, bodies
// and scalar variants must not depend on the compiler's choice.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#endif
