// Threads that share the chunks of one job.
//
// A pool is the threads of a process. A team is the part of a pool that one run
// uses, and the flag that ends the run. The caller takes part in its jobs. A job
// that arrives while the pool is busy with another caller's job runs on the caller
// alone, so any number of callers may share a pool and none waits for another.
#ifndef NACRE_CORE_PARALLEL_H
#define NACRE_CORE_PARALLEL_H

#include <stddef.h>
#include <stdint.h>

typedef struct nacre_pool nacre_pool;
typedef struct nacre_team nacre_team;

// Work on chunk `chunk` of the job; `thread` is below the team's thread count
// and differs between calls that run at the same time. A chunk takes a millisecond
// or less where the job can be cut so, or looks for the end of the run itself.
typedef void (*nacre_task)(void *job, size_t chunk, size_t thread);

// A pool of `threads` threads, the caller counted in; NULL when a thread
// cannot be made. One thread needs no pool: NULL is a pool of one everywhere.
nacre_pool *nacre_pool_create(size_t threads);
void nacre_pool_destroy(nacre_pool *pool);

struct nacre_team {
    nacre_pool *pool;     // NULL for the caller alone
    size_t threads;       // most that work at a time, the caller counted in
    const int32_t *stop;  // NULL, or ends the run when it is not zero
    // Runs a job on the pool. It is a member so that no kernel needs the pool's symbols.
    void (*parallel)(nacre_team *team, size_t chunks, nacre_task task, void *job);
};

// Makes a team of at most `threads` threads of the pool.
void nacre_team_init(nacre_team *team, nacre_pool *pool, size_t threads, const int32_t *stop);

// Mark where a run of the team begins and ends. Threads that take part in its jobs do not
// sleep between them.
void nacre_team_begin(nacre_team *team);
void nacre_team_end(nacre_team *team);

// The threads of a team; 1 for NULL.
static inline size_t nacre_team_threads(const nacre_team *team) { return team == NULL || team->pool == NULL ? 1 : team->threads; }

// Whether the run is to end. What a stopped job has written is of no use.
static inline int nacre_stopped(const nacre_team *team) {
    return team != NULL && team->stop != NULL && __atomic_load_n(team->stop, __ATOMIC_RELAXED) != 0;
}

// What a thread does while it looks for work, so that its processor saves power.
static inline void nacre_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Runs task for chunks 0..chunks-1 and returns when all are done, or when no chunk
// is left under way once the team is stopped. Which thread takes which chunk is not
// fixed; results must not depend on it.
static inline void nacre_parallel(nacre_team *team, size_t chunks, nacre_task task, void *job) {
    if (chunks > 1 && nacre_team_threads(team) > 1) {
        team->parallel(team, chunks, task, job);
        return;
    }
    for (size_t c = 0; c < chunks && !nacre_stopped(team); c++) task(job, c, 0);
}

#endif
