// Ops store_i64 and store_i32: write integers that the plan computes from lengths.
#include "copy/index.h"

static void store_i64_run(const nacre_call *c) {
    const nacre_store_words *const w = (const void *)c->words;
    int64_t *const y = nacre_operand(c, 0);
    for (int64_t i = 0; i < w->count; i++) y[i] = w->list[i];
}

static void store_i32_run(const nacre_call *c) {
    const nacre_store_words *const w = (const void *)c->words;
    int32_t *const y = nacre_operand(c, 0);
    for (int64_t i = 0; i < w->count; i++) {
        if (w->list[i] != (int32_t)w->list[i]) {
            nacre_fail(c, NACRE_FAILED_store, i, w->list[i], 0, 0);
            return;
        }
        y[i] = (int32_t)w->list[i];
    }
}

const nacre_entry nacre_store_i64_entry = {.words = sizeof(nacre_store_words) / 8, .operands = 1, .run = store_i64_run};
const nacre_entry nacre_store_i32_entry = {.words = sizeof(nacre_store_words) / 8, .operands = 1, .run = store_i32_run};
