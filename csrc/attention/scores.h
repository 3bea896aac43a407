// Masks and lengths of scores, and the output qk that shows them.
#ifndef NACRE_ATTENTION_SCORES_H
#define NACRE_ATTENTION_SCORES_H

#include <string.h>

#include "attention/attention.h"

// The operands of an attention command.
typedef struct {
    const nacre_attention_words *w;
    const void *q, *k, *v, *bias, *mask, *sink;
    const int64_t *first, *valid;  // NULL without lengths
    void *out, *qk;
    int64_t total;  // keys of all batches
    int64_t cols;   // of the bias
    int64_t keys;   // that a query may see, or with scores in qk
} attention_args;

// Reads the operands and checks masks against the number of keys. It returns 0 after a failure.
static int attention_open(const nacre_call *c, attention_args *a) {
    const nacre_attention_words *const w = (const void *)c->words;
    *a = (attention_args){
        .w = w, .q = nacre_operand(c, 0), .k = nacre_operand(c, 1), .v = nacre_operand(c, 2),
        .first = nacre_operand(c, 3),
        .bias = nacre_operand(c, 4), .mask = w->mask == NACRE_MASK_NONE ? NULL : nacre_operand(c, 5),
        .sink = nacre_operand(c, 6),
        .out = nacre_operand(c, 7), .qk = nacre_operand(c, 8), .total = w->kv_len, .keys = w->kv_len,
    };
    int64_t past = w->past;
    if (a->first != NULL) {
        a->valid = a->first + w->batch;
        a->keys = 0;
        a->total = a->valid[w->batch];
        for (int64_t b = 0; b < w->batch; b++) a->keys = a->valid[b] > a->keys ? a->valid[b] : a->keys;
        past = w->batch > 0 ? a->first[0] : 0;
    }
    if (a->qk != NULL) {
        a->keys = a->total;
        if (a->total != w->qk_cols) {
            nacre_fail(c, NACRE_FAILED_attention_scores, a->total, w->qk_cols, 0, 0);
            return 0;
        }
    }
    a->cols = w->bias_cols < 0 ? a->total : w->bias_cols;
    if (a->bias != NULL && (a->cols > a->total || (a->mask != NULL && a->cols < a->total))) {
        nacre_fail(c, NACRE_FAILED_attention_bias, a->cols, a->total, 0, 0);
        return 0;
    }
    int fits = 1;
    switch (w->mask) {
    case NACRE_MASK_KEYS: fits = w->mask_cols == a->total || (past > 0 && w->mask_cols == a->total - past); break;
    case NACRE_MASK_ROWS: fits = w->mask_cols == a->total; break;
    case NACRE_MASK_SQUARE: fits = w->mask_cols >= a->total && past + w->q_len <= w->mask_cols; break;
    }
    if (!fits) nacre_fail(c, NACRE_FAILED_attention_mask, w->mask_cols, a->total, past, w->q_len);
    return fits;
}

static inline int64_t attention_position(const attention_args *a, int64_t batch, int64_t query) {
    return (a->first == NULL ? a->w->past : a->first[batch]) + query;
}

// Sets the keys lo to hi - 1 that a query sees; none if lo is not below hi.
static void attention_range(const attention_args *a, int64_t batch, int64_t query, int64_t *lo, int64_t *hi) {
    const nacre_attention_words *const w = a->w;
    const int64_t position = attention_position(a, batch, query);
    *lo = 0;
    *hi = a->valid == NULL ? a->total : a->valid[batch];
    if (w->causal && a->mask == NULL && *hi > position + 1) *hi = position + 1;
    if (w->window > 0 && position + 1 > w->window) *lo = position + 1 - w->window;
    if (a->bias != NULL && *hi > a->cols) *hi = a->cols;
}

// The mask of the keys of one query. Keys before `always` exist. Of the others, those from begin to
// end - 1 exist; if there is a list, only those with a positive element at + key.
typedef struct {
    int64_t always, begin, end;
    int list;
    int64_t at;
} attention_mask;

static attention_mask attention_mask_of(const attention_args *a, int64_t batch, int64_t query) {
    const nacre_attention_words *const w = a->w;
    attention_mask m = {.end = a->total, .list = 1};
    switch (w->mask) {
    case NACRE_MASK_RANGES: m.begin = nacre_element_int(a->mask, w->mask_type, w->batch + batch);  // fallthrough
    case NACRE_MASK_ENDS:
        m.end = nacre_element_int(a->mask, w->mask_type, batch);
        m.list = 0;
        break;
    case NACRE_MASK_KEYS:
        m.always = a->total - w->mask_cols;
        m.at = batch * w->mask_cols - m.always;
        break;
    case NACRE_MASK_ROWS: m.at = (batch * w->q_len + query) * w->mask_cols; break;
    case NACRE_MASK_SQUARE: m.at = (batch * w->mask_cols + attention_position(a, batch, query)) * w->mask_cols; break;
    }
    return m;
}

static inline int attention_there(const attention_args *a, const attention_mask *m, int64_t key) {
    if (key < m->always) return 1;
    return key >= m->begin && key < m->end &&
        (!m->list || nacre_element_int(a->mask, a->w->mask_type, m->at + key) > 0);
}

// The addend of the mask for a key after a causal query.
#define ATTENTION_LOWEST (-3.402823466e+38f)

// Returns the offset of the bias of a query.
static inline int64_t attention_bias_row(const nacre_attention_words *w, int64_t batch, int64_t head, int64_t query) {
    return batch * w->bias_batch + head * w->bias_head + query * w->bias_row;
}

// Returns the row of qk of a query.
static inline void *attention_qk(const attention_args *a, int64_t batch, int64_t head, int64_t query) {
    const nacre_attention_words *const w = a->w;
    return (void *)(uintptr_t)nacre_element_at(a->qk, w->qk_type,
                                               ((batch * w->heads + head) * w->q_len + query) * w->qk_cols);
}

#endif
