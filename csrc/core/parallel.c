#include "core/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "core/mem.h"

// A thread looks for work for a while before it sleeps, because a wake-up costs the caller more
// than most jobs take. A thread that took part in the last job looks until no run has been under
// way for LINGER nanoseconds. It yields its core every SPIN pauses, and sleeps if a yield takes
// longer than WANTED nanoseconds: the system soon schedules a thread that slept, but not one that
// has used up its share.
enum { SPIN = 500, LINGER = 200000, WANTED = 20000 };

// pool_share is chunks next..end-1 of a job. Jobs are divided among threads in the same way, so
// that a thread has in its caches the chunks that it wrote in the job before.
typedef struct {
    _Alignas(NACRE_ALIGN) atomic_size_t next;
    size_t end;
} pool_share;

struct nacre_pool {
    size_t threads;  // including the caller
    pthread_t *workers;
    pthread_mutex_t owner;  // held by the caller whose job is running

    pthread_mutex_t mutex;
    pthread_cond_t wake;
    atomic_uint generation;  // incremented for each job
    atomic_size_t runs;      // runs under way
    atomic_bool stop;

    // The job, written by the owner while the gate is shut. A worker counts itself in before it
    // looks at the gate, and the owner shuts the gate before it looks at the count. So a late
    // worker never touches a finished job, and the owner never waits for a sleeping worker.
    nacre_task task;
    void *job;
    size_t limit;   // threads that take part
    size_t shares;  // shares of the job's chunks, at most one per thread that takes part
    pool_share *share;
    const nacre_team *team;
    atomic_bool open;
    atomic_size_t inside;
};

typedef struct {
    nacre_pool *pool;
    size_t thread;
} worker_arg;

// take_chunks takes the chunks of the thread's own share, then the chunks of the others.
static void take_chunks(nacre_pool *p, size_t thread) {
    for (size_t i = 0; i < p->shares; i++) {
        pool_share *const s = &p->share[(thread + i) % p->shares];
        for (;;) {
            const size_t c = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed);
            if (c >= s->end) break;
            if (nacre_stopped(p->team)) return;
            p->task(p->job, c, thread);
        }
    }
}

static int64_t pool_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool has_job(nacre_pool *p, unsigned seen) {
    return atomic_load_explicit(&p->generation, memory_order_acquire) != seen;
}

// look waits for a job after job number seen, for a limited time. took_part says whether the thread
// took part in that job.
static void look(nacre_pool *p, unsigned seen, bool took_part) {
    for (int64_t last = pool_clock();;) {
        for (int i = 0; i < SPIN; i++) {
            if (has_job(p, seen)) return;
            nacre_pause();
        }
        if (!took_part) return;
        const int64_t now = pool_clock();
        if (atomic_load_explicit(&p->runs, memory_order_relaxed) > 0) last = now;
        sched_yield();
        if (now - last > LINGER || pool_clock() - now > WANTED) return;
    }
}

static void *worker(void *arg) {
    nacre_pool *const p = ((worker_arg *)arg)->pool;
    const size_t thread = ((worker_arg *)arg)->thread;
    free(arg);
    unsigned seen = 0;
    bool took_part = false;
    for (;;) {
        look(p, seen, took_part);
        if (!has_job(p, seen)) {
            pthread_mutex_lock(&p->mutex);
            while (!has_job(p, seen)) pthread_cond_wait(&p->wake, &p->mutex);
            pthread_mutex_unlock(&p->mutex);
        }
        seen = atomic_load_explicit(&p->generation, memory_order_acquire);
        if (atomic_load(&p->stop)) return NULL;
        atomic_fetch_add(&p->inside, 1);
        if (atomic_load(&p->open)) {
            took_part = thread < p->limit;
            if (took_part) take_chunks(p, thread);
        }
        atomic_fetch_sub(&p->inside, 1);
    }
}

static void start_job(nacre_pool *p) {
    pthread_mutex_lock(&p->mutex);
    atomic_fetch_add_explicit(&p->generation, 1, memory_order_acq_rel);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->mutex);
}

nacre_pool *nacre_pool_create(size_t threads) {
    if (threads < 2) return NULL;
    nacre_pool *p = calloc(1, sizeof *p);
    if (p == NULL) return NULL;
    p->workers = calloc(threads - 1, sizeof *p->workers);
    p->share = nacre_alloc(threads * sizeof *p->share);
    if (p->workers == NULL || p->share == NULL) {
        nacre_free(p->share);
        free(p->workers);
        free(p);
        return NULL;
    }
    pthread_mutex_init(&p->owner, NULL);
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->wake, NULL);
    p->threads = 1;
    for (size_t i = 1; i < threads; i++) {
        worker_arg *arg = malloc(sizeof *arg);
        if (arg == NULL) break;
        *arg = (worker_arg){p, i};
        if (pthread_create(&p->workers[i - 1], NULL, worker, arg) != 0) {
            free(arg);
            break;
        }
        p->threads++;
    }
    if (p->threads < threads) {
        nacre_pool_destroy(p);
        return NULL;
    }
    return p;
}

void nacre_pool_destroy(nacre_pool *p) {
    if (p == NULL) return;
    atomic_store(&p->stop, true);
    start_job(p);
    for (size_t i = 1; i < p->threads; i++) pthread_join(p->workers[i - 1], NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->mutex);
    pthread_mutex_destroy(&p->owner);
    nacre_free(p->share);
    free(p->workers);
    free(p);
}

static void run_job(nacre_team *team, size_t chunks, nacre_task task, void *job) {
    nacre_pool *const p = team->pool;
    if (pthread_mutex_trylock(&p->owner) != 0) {
        for (size_t c = 0; c < chunks && !nacre_stopped(team); c++) task(job, c, 0);
        return;
    }
    p->task = task;
    p->job = job;
    p->limit = team->threads;
    p->team = team;
    p->shares = chunks < team->threads ? chunks : team->threads;
    for (size_t i = 0, first = 0; i < p->shares; i++) {
        atomic_store_explicit(&p->share[i].next, first, memory_order_relaxed);
        first += chunks / p->shares + (i < chunks % p->shares);
        p->share[i].end = first;
    }
    atomic_store(&p->open, true);
    start_job(p);
    take_chunks(p, 0);
    atomic_store(&p->open, false);
    for (int i = 0; atomic_load(&p->inside) != 0; i++) {
        if (i < SPIN) {
            nacre_pause();
        } else {
            sched_yield();
        }
    }
    pthread_mutex_unlock(&p->owner);
}

void nacre_team_init(nacre_team *team, nacre_pool *pool, size_t threads, const int32_t *stop) {
    const size_t most = pool == NULL ? 1 : pool->threads;
    *team = (nacre_team){pool, threads < most ? threads : most, stop, run_job};
    if (team->threads < 2) team->pool = NULL;
}

void nacre_team_begin(nacre_team *team) {
    if (team->pool != NULL) atomic_fetch_add_explicit(&team->pool->runs, 1, memory_order_relaxed);
}

void nacre_team_end(nacre_team *team) {
    if (team->pool != NULL) atomic_fetch_sub_explicit(&team->pool->runs, 1, memory_order_relaxed);
}
