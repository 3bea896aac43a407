#include "attention/attention.h"

// Reports whether n keys before the new ones exist and leave room for them.
static int lengths_past(const nacre_call *c, int64_t batch, int64_t n) {
    const nacre_attention_lengths_words *const w = (const void *)c->words;
    if (n < 0 || n > w->past) {
        nacre_fail(c, NACRE_FAILED_attention_past, batch, n, w->past, 0);
        return 0;
    }
    if (n > w->room - w->tokens) {
        nacre_fail(c, NACRE_FAILED_attention_room, batch, n, w->tokens, w->room);
        return 0;
    }
    return 1;
}

static void lengths_last(const nacre_call *c, int64_t *first, int64_t *valid, int64_t *total) {
    const nacre_attention_lengths_words *const w = (const void *)c->words;
    *total = nacre_element_int(nacre_operand(c, 1), w->types[1], 0);
    if (*total < 0 || *total > w->room) {
        nacre_fail(c, NACRE_FAILED_attention_total, *total, w->room, 0, 0);
        return;
    }
    for (int64_t b = 0; b < w->batch; b++) {
        const int64_t last = nacre_element_int(nacre_operand(c, 0), w->types[0], b);
        if (last < 0 || last >= *total) {
            nacre_fail(c, NACRE_FAILED_attention_last, b, last, *total, 0);
            return;
        }
        // With as many tokens as keys in all, these are the first. Batches with fewer keys have
        // padding after them; it attends to itself, as its queries do not count.
        const int whole = w->tokens == *total;
        valid[b] = whole ? *total : last + 1;
        first[b] = whole ? 0 : last + 1 - w->tokens;
        if (!lengths_past(c, b, first[b])) return;
    }
}

static void lengths_keys(const nacre_call *c, int64_t *first, int64_t *valid, int64_t *total) {
    const nacre_attention_lengths_words *const w = (const void *)c->words;
    *total = w->room;
    for (int64_t b = 0; b < w->batch; b++) {
        valid[b] = nacre_element_int(nacre_operand(c, 0), w->types[0], b);
        if (valid[b] < 0 || valid[b] > w->room) {
            nacre_fail(c, NACRE_FAILED_attention_keys, b, valid[b], w->room, 0);
            return;
        }
        first[b] = w->ends ? valid[b] - w->tokens : w->past;
    }
}

static void lengths_run(const nacre_call *c) {
    const nacre_attention_lengths_words *const w = (const void *)c->words;
    int64_t *const first = nacre_operand(c, 2), *const valid = first + w->batch, *const total = valid + w->batch;
    switch (w->kind) {
    case NACRE_LENGTHS_LAST: lengths_last(c, first, valid, total); return;
    case NACRE_LENGTHS_KEYS: lengths_keys(c, first, valid, total); return;
    }
    const int64_t past = nacre_element_int(nacre_operand(c, 0), w->types[0], 0);
    if (!lengths_past(c, 0, past)) return;
    *total = past + w->tokens;
    for (int64_t b = 0; b < w->batch; b++) {
        first[b] = past;
        valid[b] = *total;
    }
}

const nacre_entry nacre_attention_lengths_entry = {
    .words = sizeof(nacre_attention_lengths_words) / 8, .operands = 3, .run = lengths_run};
