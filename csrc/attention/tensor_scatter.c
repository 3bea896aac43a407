#include <string.h>

#include "attention/attention.h"

typedef struct {
    const nacre_tensor_scatter_words *w;
    const char *cache, *update;
    const void *index;
    char *out;
} scatter_job;

// Returns the row where the update of a batch begins.
static int64_t scatter_start(const scatter_job *j, int64_t batch) {
    if (j->index == NULL) return 0;
    const int64_t i = nacre_element_int(j->index, j->w->index_type, batch);
    if (!j->w->circular || j->w->room == 0) return i;
    return (i % j->w->room + j->w->room) % j->w->room;
}

static void scatter_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const scatter_job *const j = job;
    const nacre_tensor_scatter_words *const w = j->w;
    const size_t room = (size_t)(w->room * w->bytes), bytes = (size_t)w->bytes;
    char *const out = j->out + chunk * room;
    const char *const update = j->update + chunk * (size_t)(w->rows * w->bytes);
    if (j->cache != j->out) memcpy(out, j->cache + chunk * room, room);
    const int64_t start = scatter_start(j, (int64_t)chunk / w->outer), left = w->room - start,
        first = nacre_min_i64(w->rows, left);
    memcpy(out + (size_t)start * bytes, update, (size_t)first * bytes);
    memcpy(out, update + (size_t)first * bytes, (size_t)(w->rows - first) * bytes);
}

static void scatter_run(const nacre_call *c) {
    const nacre_tensor_scatter_words *const w = (const void *)c->words;
    scatter_job j = {w, nacre_operand(c, 0), nacre_operand(c, 1), nacre_operand(c, 2), nacre_operand(c, 3)};
    for (int64_t b = 0; b < w->batch; b++) {
        const int64_t start = scatter_start(&j, b);
        if (!w->circular && (start < 0 || start > w->room - w->rows)) {
            nacre_fail(c, NACRE_FAILED_scatter_index, b, start, w->rows, w->room);
            return;
        }
    }
    if (w->room * w->bytes > 0) nacre_parallel(c->team, (size_t)(w->batch * w->outer), scatter_chunk, &j);
}

const nacre_entry nacre_tensor_scatter_entry = {
    .words = sizeof(nacre_tensor_scatter_words) / 8, .operands = 4, .run = scatter_run};
