#include "core/run.h"

#include "core/target.h"

#if NACRE_WASM
// The caller asks for no times.
static int64_t run_clock(void) { return 0; }
#else
#include <time.h>

static int64_t run_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
#endif

void nacre_run(nacre_job *job) {
    nacre_team team;
    nacre_team_init(&team, (nacre_pool *)(uintptr_t)job->pool, (size_t)job->threads, (const int32_t *)(uintptr_t)job->stop);
    job->failure.code = 0;
    const uint64_t *at = (const uint64_t *)(uintptr_t)job->code;
    int64_t *const times = (int64_t *)(uintptr_t)job->times;
    size_t i = 0;
    nacre_team_begin(&team);
    for (; i < job->commands; i++) {
        if (times != NULL) times[i] = run_clock();
        const nacre_kernel *const kernel = (const nacre_kernel *)(uintptr_t)at[NACRE_COMMAND_KERNEL];
        const uint64_t *const operands = at + NACRE_COMMAND_HEADER;
        const nacre_call call = {
            .kernel = kernel,
            .words = (const int64_t *)(operands + at[NACRE_COMMAND_OPERANDS]),
            .operands = operands,
            .scratch = (void *)(uintptr_t)at[NACRE_COMMAND_SCRATCH],
            .team = &team,
            .failure = &job->failure,
        };
        kernel->entry->run(&call);
        if (job->failure.code != 0 || nacre_stopped(&team)) break;
        at += at[NACRE_COMMAND_LENGTH];
    }
    nacre_team_end(&team);
    job->done = i;
    if (times != NULL && i == job->commands) times[i] = run_clock();
}

static const struct {
    const char *kind, *text;
} run_failures[] = {
#define NACRE_FAILURE(name, kind, text) {#kind, text},
#include "core/failures.inc"
#undef NACRE_FAILURE
};

enum { RUN_FAILURES = sizeof run_failures / sizeof run_failures[0] };

const char *nacre_failure_text(int64_t code) {
    return code < 1 || code > RUN_FAILURES ? NULL : run_failures[code - 1].text;
}
const char *nacre_failure_kind(int64_t code) {
    return code < 1 || code > RUN_FAILURES ? NULL : run_failures[code - 1].kind;
}
