// Threads that share the chunks of one job.
//
// A pool holds the threads of a process. A team is the part of a pool that one run uses, with the
// flag that stops the run. The caller takes part in its jobs. If a job arrives while the pool is
// busy with another caller's job, it runs on the caller alone. So any number of callers may share a
// pool, and none waits for another.
#ifndef NACRE_CORE_PARALLEL_H
#define NACRE_CORE_PARALLEL_H

#include <stddef.h>
#include <stdint.h>

#include "core/target.h"

typedef struct nacre_pool nacre_pool;
typedef struct nacre_team nacre_team;

// nacre_task computes chunk `chunk` of the job. thread is below the team's number of threads, and
// differs between calls that run at the same time. A chunk takes at most about a millisecond if the
// job can be divided so far. Otherwise the task checks nacre_stopped itself.
typedef void (*nacre_task)(void *job, size_t chunk, size_t thread);

// Values of the flag of a run. A run whose flag is NACRE_YIELDS calls the host at every poll; only
// hosts of WebAssembly set it.
enum { NACRE_RUNS, NACRE_STOPS, NACRE_YIELDS };

// nacre_pool_create returns a pool of `threads` threads, including the caller, or NULL if a thread
// cannot be made. Everywhere, NULL is a pool of one thread.
nacre_pool *nacre_pool_create(size_t threads);
void nacre_pool_destroy(nacre_pool *pool);

struct nacre_team {
    nacre_pool *pool;     // NULL for the caller alone
    size_t threads;       // most at work at a time, including the caller
    const int32_t *stop;  // NULL, or a flag: NACRE_RUNS, NACRE_STOPS or NACRE_YIELDS
    // Runs a job on the pool. It is a member so that kernels need no symbols of the pool.
    void (*parallel)(nacre_team *team, size_t chunks, nacre_task task, void *job);
};

// nacre_team_init makes a team of at most `threads` threads of the pool.
void nacre_team_init(nacre_team *team, nacre_pool *pool, size_t threads, const int32_t *stop);

// nacre_team_begin and nacre_team_end mark the begin and end of a run of the team. Between them,
// threads that take part in its jobs do not sleep.
void nacre_team_begin(nacre_team *team);
void nacre_team_end(nacre_team *team);

// nacre_team_threads returns the number of threads of a team; 1 for NULL. In WebAssembly there are no
// pools, and it is the constant 1.
static inline size_t nacre_team_threads(const nacre_team *team) {
#if NACRE_WASM
    (void)team;
    return 1;
#else
    return team == NULL || team->pool == NULL ? 1 : team->threads;
#endif
}

// nacre_stopped reports whether the run is stopped. The results of a stopped job must not be used.
#if NACRE_WASM
int nacre_stopped(const nacre_team *team);
#else
static inline int nacre_stopped(const nacre_team *team) {
    return team != NULL && team->stop != NULL && __atomic_load_n(team->stop, __ATOMIC_RELAXED) != NACRE_RUNS;
}
#endif

// nacre_pause pauses a thread that looks for work, to save power.
static inline void nacre_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// nacre_parallel runs task for chunks 0..chunks-1 and returns when all are done. If the team is
// stopped, it returns when no chunk is under way. Any thread may take any chunk, so results must
// not depend on the thread.
static inline void nacre_parallel(nacre_team *team, size_t chunks, nacre_task task, void *job) {
    if (chunks > 1 && nacre_team_threads(team) > 1) {
        team->parallel(team, chunks, task, job);
        return;
    }
    for (size_t c = 0; c < chunks && !nacre_stopped(team); c++) task(job, c, 0);
}

#endif
