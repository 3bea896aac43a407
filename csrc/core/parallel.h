// A pool of threads that share the chunks of one job.
//
// The caller takes part. A job that arrives while the pool is busy with
// another caller's job runs on the caller alone, so any number of callers may
// share a pool and none waits for another.
#ifndef NACRE_CORE_PARALLEL_H
#define NACRE_CORE_PARALLEL_H

#include <stddef.h>

typedef struct nacre_pool nacre_pool;

// Work on chunk `chunk` of the job; `thread` is below the pool's thread count
// and differs between calls that run at the same time.
typedef void (*nacre_task)(void *job, size_t chunk, size_t thread);

// A pool of `threads` threads, the caller counted in; NULL when a thread
// cannot be made. One thread needs no pool: NULL is a pool of one everywhere.
nacre_pool *nacre_pool_create(size_t threads);
void nacre_pool_destroy(nacre_pool *pool);
size_t nacre_pool_threads(const nacre_pool *pool);

// Runs task for chunks 0..chunks-1 and returns when all are done. Which thread
// takes which chunk is not fixed; results must not depend on it.
void nacre_parallel(nacre_pool *pool, size_t chunks, nacre_task task, void *job);

#endif
