// Kernel rows.
//
// Each family lists its variants in kernels.inc, best first and scalar last:
//     NACRE_KERNEL(op, variant, isa, function, entry)
// op is the operation (f32_gemm) and variant the implementation (14x32_avx512). isa is the set of
// levels needed. function has the signature that the family's header gives for op. entry describes
// how a command runs the row; it is NULL for a part that only other kernels call. The family's .c
// file turns the list into one array. Dispatch, tests and benchmarks all walk that array.
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

// nacre_failure is the reason why a command failed: a row of failures.inc, or 0 for none, and the
// numbers in its text.
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

// nacre_call is a command under way.
typedef struct {
    const nacre_kernel *kernel;
    const int64_t *words;      // sizes, strides, flags, bits of doubles, addresses of rows
    const uint64_t *operands;  // addresses; 0 if an operand is left out
    void *scratch;             // at a multiple of 64 bytes
    nacre_team *team;
    nacre_failure *failure;
} nacre_call;

static inline void *nacre_operand(const nacre_call *c, size_t i) { return (void *)(uintptr_t)c->operands[i]; }

// nacre_part returns the row at the address in a word. nacre_part_fn returns its function, which
// the caller casts, or NULL if the word is 0.
static inline const nacre_kernel *nacre_part(int64_t word) { return (const nacre_kernel *)(uintptr_t)word; }
static inline nacre_fn nacre_part_fn(int64_t word) { return word == 0 ? NULL : nacre_part(word)->fn; }

// nacre_fail ends the run with an error. Any thread may call it. The first failure of a command
// counts.
static inline void nacre_fail(const nacre_call *c, int64_t code, int64_t a, int64_t b, int64_t d, int64_t e) {
    int64_t none = 0;
    if (!__atomic_compare_exchange_n(&c->failure->code, &none, code, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return;
    c->failure->args[0] = a;
    c->failure->args[1] = b;
    c->failure->args[2] = d;
    c->failure->args[3] = e;
}

// nacre_entry describes how a command runs a row. A command has at least `words` words, in the
// order of the family's header. Sizes are in bytes.
struct nacre_entry {
    size_t words, operands;
    // Whether the row is for commands whose lengths do not vary: shorter ones would be slow.
    int exact;
    void (*run)(const nacre_call *c);
    // Whether the row can compute a command with these words. If NULL, it always can.
    int (*fits)(const nacre_kernel *k, const int64_t *words);
    // The scratch that run needs on a team of that many threads; NULL means none. It does not
    // shrink if an extent grows.
    size_t (*scratch)(const nacre_kernel *k, const int64_t *words, size_t threads);
    // packed returns the size of a constant operand as pack writes it. A word tells run that the
    // operand is packed. If packed returns 0, or is NULL, operands are not packed.
    size_t (*packed)(const nacre_kernel *k, const int64_t *words, size_t operand);
    void (*pack)(const nacre_kernel *k, const int64_t *words, size_t operand, const void *src, void *dst);
    // Whether pack takes src at any address. If 0, src is at a multiple of its element size.
    int unaligned;
    // The columns of a panel, if pack writes a right matrix as panels of columns that follow each
    // other. NULL means another form. Rows of equal pack and panel pack alike.
    size_t (*panel)(const nacre_kernel *k);
};

#endif
