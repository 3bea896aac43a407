// Command wide_gemm.
#include "core/kernel.h"
#include "matmul/matmul.h"

static void wide_command(const nacre_call *c) {
    const nacre_wide_gemm_words *const w = (const void *)c->words;
    const nacre_wide_gemm g = {
        .m = (size_t)w->m, .n = (size_t)w->n, .k = (size_t)w->k, .a_row = (size_t)w->a_row, .a_col = (size_t)w->a_col,
        .b_row = (size_t)w->b_row, .b_col = (size_t)w->b_col, .ldc = (size_t)w->ldc,
        .batch = {(size_t)w->rank, w->axes},
    };
    ((nacre_wide_gemm_fn *)c->kernel->fn)(&g, c->team, nacre_operand(c, 0), nacre_operand(c, 1), nacre_operand(c, 2),
                                          c->scratch);
}

static size_t wide_scratch(const nacre_kernel *kernel, const int64_t *words, size_t threads) {
    (void)kernel;
    (void)words;
    return NACRE_WIDE_SCRATCH * 8 * threads;
}

const nacre_entry nacre_wide_gemm_entry = {
    .words = sizeof(nacre_wide_gemm_words) / 8, .operands = 3, .run = wide_command, .scratch = wide_scratch,
};
