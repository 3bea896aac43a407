// Tiles of AMX: eight registers of 16 rows of 64 bytes. The instructions are written in assembler.
// So a compiler needs no flag for them, and they clobber memory, unlike the intrinsics of some
// compilers.
//
// A task that uses tiles begins with nacre_amx_begin and ends with nacre_amx_end. Between them all
// tiles have full size. After them, a switch of threads saves no tiles.
//
// With NACRE_EMULATED defined, tiles are memory of the thread, their instructions are C, and
// kernels use tiles even if that is slower: tests run them on small operands.
#ifndef NACRE_CORE_AMX_H
#define NACRE_CORE_AMX_H

#include "core/x86.h"

#if NACRE_X86_64
#include <stddef.h>
#include <stdint.h>

enum { NACRE_AMX_ROWS = 16, NACRE_AMX_LINE = 64, NACRE_AMX_BYTES = NACRE_AMX_ROWS * NACRE_AMX_LINE };

#ifdef NACRE_EMULATED
#define NACRE_AMX_ALWAYS 1
#include "core/amx_emulated.h"
#else
#define NACRE_AMX_ALWAYS 0

// nacre_amx_shape has the layout of LDTILECFG.
typedef struct {
    uint8_t palette, start, reserved[14];
    uint16_t line[16];
    uint8_t rows[16];
} nacre_amx_shape;

static inline void nacre_amx_begin(void) {
    static const nacre_amx_shape whole = {
        .palette = 1,
        .line = {NACRE_AMX_LINE, NACRE_AMX_LINE, NACRE_AMX_LINE, NACRE_AMX_LINE, NACRE_AMX_LINE, NACRE_AMX_LINE,
                 NACRE_AMX_LINE, NACRE_AMX_LINE},
        .rows = {NACRE_AMX_ROWS, NACRE_AMX_ROWS, NACRE_AMX_ROWS, NACRE_AMX_ROWS, NACRE_AMX_ROWS, NACRE_AMX_ROWS,
                 NACRE_AMX_ROWS, NACRE_AMX_ROWS},
    };
    __asm__ volatile("ldtilecfg %0" : : "m"(whole) : "memory");
}

static inline void nacre_amx_end(void) { __asm__ volatile("tilerelease" : : : "memory"); }

// t is the number of a tile. Its rows are `line` bytes apart in memory.
#define NACRE_AMX_ZERO(t) __asm__ volatile("tilezero %%tmm" #t : : : "memory")
#define NACRE_AMX_LOAD(t, p, line) __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t : : "r"(p), "r"((size_t)(line)) : "memory")
#define NACRE_AMX_STORE(t, p, line) __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" : : "r"(p), "r"((size_t)(line)) : "memory")

// c += a b. NACRE_AMX_BF16: a is 16 rows of 32 bfloat16, b is 16 pairs of rows, [k/2][column][2], c
// is float32. NACRE_AMX_S8U8: a is 16 rows of 64 signed bytes, b is 16 fours of rows of unsigned
// bytes, c is int32.
#define NACRE_AMX_BF16(c, a, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c : : : "memory")
#define NACRE_AMX_S8U8(c, a, b) __asm__ volatile("tdpbsud %%tmm" #b ", %%tmm" #a ", %%tmm" #c : : : "memory")

#endif
#endif
#endif
