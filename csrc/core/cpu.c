#include "core/cpu.h"

#include <stddef.h>

int nacre_exp;
static const nacre_isa_row isa_rows[] = {
#define NACRE_ISA(name, bit, text) {#name, text, 1u << (bit)},
#include "core/isa.inc"
#undef NACRE_ISA
};

const nacre_isa_row *nacre_isa_at(int i) {
    if (i < 0 || (size_t)i >= sizeof isa_rows / sizeof isa_rows[0]) return NULL;
    return &isa_rows[i];
}

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

// xcr0 returns a mask of the register files that the operating system saves.
static uint64_t xcr0(void) {
    uint32_t lo, hi;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return (uint64_t)hi << 32 | lo;
}

// may_use_tiles reports whether this process may use tiles. On Linux it asks for them, once for all
// threads.
static int may_use_tiles(uint64_t os) {
#if defined(__linux__)
    const uint64_t tiles = 0x60000;
    enum { REQ_XCOMP_PERM = 0x1023, TILE_DATA = 18 };
    return (os & tiles) == tiles && syscall(SYS_arch_prctl, REQ_XCOMP_PERM, TILE_DATA) == 0;
#else
    (void)os;
    return 0;
#endif
}

// detect_avx512 returns the level avx512 and the levels that build on it. b, c and d are EBX, ECX
// and EDX of CPUID leaf 7.0, a1 is EAX of leaf 7.1, and os is xcr0.
static uint32_t detect_avx512(uint32_t b, uint32_t c, uint32_t d, uint32_t a1, uint64_t os) {
    const uint32_t amx = 1u << 22 | 1u << 24 | 1u << 25;
    const uint32_t f = 1u << 16, dq = 1u << 17, bw = 1u << 30, vl = 1u << 31;
    if ((os & 0xe6) != 0xe6 || !(b & f) || !(b & dq) || !(b & bw) || !(b & vl)) return 0;
    uint32_t mask = NACRE_ISA_avx512;
    if (c & (1u << 11)) mask |= NACRE_ISA_avx512vnni;
    if (a1 & (1u << 5)) mask |= NACRE_ISA_avx512bf16;
    if (d & (1u << 23)) mask |= NACRE_ISA_avx512fp16;
    if ((mask & NACRE_ISA_avx512vnni) && (d & amx) == amx && may_use_tiles(os)) mask |= NACRE_ISA_amx;
    return mask;
}

uint32_t nacre_cpu_detect(void) {
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    const uint32_t fma = 1u << 12, osxsave = 1u << 27, f16c = 1u << 29;
    if ((c & fma) == 0 || (c & osxsave) == 0 || (c & f16c) == 0) return 0;
    const uint64_t os = xcr0();
    if ((os & 0x6) != 0x6) return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    if ((b & (1u << 5)) == 0) return 0;
#ifdef NACRE_EMULATED
    (void)detect_avx512;
    return NACRE_ISA_avx2 | NACRE_ISA_avx512 | NACRE_ISA_avx512vnni | NACRE_ISA_avx512bf16 | NACRE_ISA_avx512fp16 |
        NACRE_ISA_amx;
#else
    uint32_t a1 = 0, b1, c1, d1;
    if (a >= 1) __cpuid_count(7, 1, a1, b1, c1, d1);  // a is the last subleaf of leaf 7
    return NACRE_ISA_avx2 | detect_avx512(b, c, d, a1, os);
#endif
}

#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

// nacre_cpu_detect reads AT_HWCAP and AT_HWCAP2, with the bits that the kernel documents for arm64.
uint32_t nacre_cpu_detect(void) {
    const unsigned long cap = getauxval(AT_HWCAP), cap2 = getauxval(AT_HWCAP2);
    uint32_t mask = 0;
    if (cap & (1ul << 1)) mask |= NACRE_ISA_neon;
    if (cap & (1ul << 20)) mask |= NACRE_ISA_dotprod;
    if ((cap & (1ul << 9)) && (cap & (1ul << 10))) mask |= NACRE_ISA_fp16;
    if (cap2 & (1ul << 13)) mask |= NACRE_ISA_i8mm;
    return mask;
}

#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>

static uint32_t level_if(const char *feature, uint32_t level) {
    int there = 0;
    size_t bytes = sizeof there;
    return sysctlbyname(feature, &there, &bytes, NULL, 0) == 0 && there ? level : 0;
}

uint32_t nacre_cpu_detect(void) {
    return NACRE_ISA_neon | level_if("hw.optional.arm.FEAT_DotProd", NACRE_ISA_dotprod) |
           level_if("hw.optional.arm.FEAT_FP16", NACRE_ISA_fp16) |
           level_if("hw.optional.arm.FEAT_I8MM", NACRE_ISA_i8mm);
}

#elif defined(__aarch64__)
uint32_t nacre_cpu_detect(void) { return NACRE_ISA_neon; }
#elif defined(__wasm_simd128__)
// A module with vectors does not load where there are none.
uint32_t nacre_cpu_detect(void) { return NACRE_ISA_simd128; }
#else
uint32_t nacre_cpu_detect(void) { return 0; }
#endif
