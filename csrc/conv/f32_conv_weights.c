// Command f32_conv_weights.
#include "conv/codes.h"

void nacre_f32_conv_weights__scalar(const nacre_codes *c, const nacre_code_run *r, float *y);

typedef struct {
    nacre_f32_codes_fn *decode;
    const nacre_codes *codes;
    const nacre_code_run *runs;
    float *y;
} weights_job;

static void weights_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const weights_job *const j = job;
    j->decode(j->codes, j->runs + chunk, j->y + j->runs[chunk].at);
}

static void weights_command(const nacre_call *c) {
    const nacre_codes *const codes = nacre_operand(c, 0);
    weights_job j = {(nacre_f32_codes_fn *)c->kernel->fn, codes, (const nacre_code_run *)(const void *)(codes + 1),
                     nacre_operand(c, 1)};
    nacre_parallel(c->team, (size_t)codes->runs, weights_chunk, &j);
}

const nacre_entry nacre_f32_conv_weights_entry = {.operands = 2, .run = weights_command};

void nacre_f32_conv_weights__scalar(const nacre_codes *c, const nacre_code_run *r, float *y) {
    const size_t lanes = NACRE_CODES_LANES, bits = (size_t)c->bits, per = 8 / bits;
    for (size_t i = 0; i < r->n; i++) {
        const int8_t byte = nacre_run_codes(c, r)[i / lanes / per * lanes + i % lanes];
        const int code = bits == 8 ? byte : (uint8_t)byte >> (i / lanes % per * bits) & ((1 << bits) - 1);
        const size_t s = i % r->period;
        y[i] = (float)(code - nacre_run_zeros(c, r)[s]) * nacre_run_scales(c, r)[s];
    }
}
