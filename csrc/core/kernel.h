// Kernel rows.
//
// Each family lists its variants in kernels.inc, best first and scalar last:
//     NACRE_KERNEL(op, variant, isa, function, entry)
// where op names what is computed (f32_gemm), variant names how (14x32_avx512),
// isa is the set of levels needed, function has the signature that the family's
// header gives for op, and entry is how a command runs the row, or NULL for a part
// that only other kernels call. The family's .c file turns the list into one
// array, and everything else (dispatch, tests, benchmarks) walks that array.
#ifndef NACRE_CORE_KERNEL_H
#define NACRE_CORE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "core/cpu.h"
#include "core/parallel.h"

typedef void (*nacre_fn)(void);

typedef struct nacre_entry nacre_entry;

typedef struct {
    const char *op;
    const char *variant;
    uint32_t isa;
    nacre_fn fn;
    const nacre_entry *entry;
} nacre_kernel;

// Why a command did not run to its end: a row of failures.inc, 0 for none, and the
// numbers that its text shows.
typedef struct {
    int64_t code;
    int64_t args[4];
} nacre_failure;

enum {
    NACRE_FAILED_NOT,
#define NACRE_FAILURE(name, kind, text) NACRE_FAILED_##name,
#include "core/failures.inc"
#undef NACRE_FAILURE
};

// A command under way.
typedef struct {
    const nacre_kernel *kernel;
    const int64_t *words;      // sizes, strides, flags, bits of doubles, addresses of rows
    const uint64_t *operands;  // addresses; 0 where an operand is left out
    void *scratch;             // at a multiple of 64 bytes
    nacre_team *team;
    nacre_failure *failure;
} nacre_call;

static inline void *nacre_operand(const nacre_call *c, size_t i) { return (void *)(uintptr_t)c->operands[i]; }

// The row that a word names; a part whose function the caller casts.
static inline const nacre_kernel *nacre_part(int64_t word) { return (const nacre_kernel *)(uintptr_t)word; }
static inline nacre_fn nacre_part_fn(int64_t word) { return word == 0 ? NULL : nacre_part(word)->fn; }

// Ends the run with an error. The first failure of a command counts; any thread may
// report it.
static inline void nacre_fail(const nacre_call *c, int64_t code, int64_t a, int64_t b, int64_t d, int64_t e) {
    int64_t none = 0;
    if (!__atomic_compare_exchange_n(&c->failure->code, &none, code, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return;
    c->failure->args[0] = a;
    c->failure->args[1] = b;
    c->failure->args[2] = d;
    c->failure->args[3] = e;
}

// How a command runs a row. Words are what the family's header says, at least as
// many as `words`; sizes are in bytes.
struct nacre_entry {
    size_t words, operands;
    void (*run)(const nacre_call *c);
    // Whether the row computes this; NULL for always.
    int (*fits)(const nacre_kernel *k, const int64_t *words);
    // Scratch that run needs on a team of that many threads; NULL for none. It does not
    // fall when an extent grows.
    size_t (*scratch)(const nacre_kernel *k, const int64_t *words, size_t threads);
    // What pack writes for an operand that is constant: rearranged once, and taken by run
    // where a word says so. 0, or NULL for all operands, when it is taken as it is.
    size_t (*packed)(const nacre_kernel *k, const int64_t *words, size_t operand);
    void (*pack)(const nacre_kernel *k, const int64_t *words, size_t operand, const void *src, void *dst);
};

#endif
