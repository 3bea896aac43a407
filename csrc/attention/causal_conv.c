#include <string.h>

#include "attention/attention.h"

typedef struct {
    const nacre_causal_conv *c;
    float *scratch;
    size_t per_chunk;
} causal_job;

// The first outputs look back at past; these are computed from a copy of it with
// the inputs that they also see behind it.
static void causal_channel(const nacre_causal_conv *c, size_t row, float *line) {
    const size_t before = (c->taps - 1) * c->step, head = c->n < before ? c->n : before, channel = row % c->channels;
    const float *const x = c->x + row * c->n, *const w = c->w + channel * c->taps;
    const float bias = c->bias == NULL ? 0 : c->bias[channel];
    if (c->past == NULL) {
        memset(line, 0, before * sizeof *line);
    } else {
        memcpy(line, c->past + row * before, before * sizeof *line);
    }
    memcpy(line + before, x, head * sizeof *line);
    float *const out = c->out + row * c->n;
    if (head > 0) c->conv(line, head, w, c->taps, c->step, bias, c->silu, out);
    if (c->n > before) c->conv(x, c->n - before, w, c->taps, c->step, bias, c->silu, out + before);
    if (c->present == NULL) return;
    memcpy(c->present + row * before, c->n < before ? line + c->n : x + (c->n - before), before * sizeof *line);
}

static void causal_chunk(void *job, size_t chunk, size_t thread) {
    const causal_job *const j = job;
    const nacre_causal_conv *const c = j->c;
    float *const line = j->scratch + thread * 2 * (c->taps - 1) * c->step;
    const size_t first = chunk * j->per_chunk;
    for (size_t row = first; row < c->batch * c->channels && row < first + j->per_chunk; row++) causal_channel(c, row, line);
}

void nacre_causal_conv_run(const nacre_causal_conv *c, nacre_team *team, float *scratch) {
    enum { GRAIN = 1 << 14 };
    const size_t work = c->n * c->taps + 1;
    causal_job j = {c, scratch, work >= GRAIN ? 1 : GRAIN / work};
    nacre_parallel(team, (c->batch * c->channels + j.per_chunk - 1) / j.per_chunk, causal_chunk, &j);
}
