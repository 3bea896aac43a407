// Threads that go through the phases of one job together.
//
// All phases have the same number of parts. A phase begins when all parts of the phase before are
// done. Threads wait for each other without sleeping, so a phase may be as short as microseconds.
// Each part belongs to a thread, so that the thread's caches keep what the part reads in every
// phase. If that thread is late, another thread takes the part.
#ifndef NACRE_CORE_PHASES_H
#define NACRE_CORE_PHASES_H

#include <sched.h>
#include <stdbool.h>

#include "core/parallel.h"

enum {
    NACRE_PHASE_PARTS = 64,        // most parts of a phase
    NACRE_PHASE_PATIENCE = 64,     // looks at another thread's parts before taking them
    NACRE_PHASE_SPIN = 1 << 10     // looks before a thread yields its processor
};

// nacre_phase_task computes a part of a phase. Parts of one phase run at the same time, in any
// order.
typedef void (*nacre_phase_task)(void *job, size_t phase, size_t part);

typedef struct {
    nacre_team *team;
    size_t phases, parts;
    size_t threads;  // at most as many as parts
    nacre_phase_task task;
    void *job;
    // Parts done, in all phases. A thread increments it after each part.
    _Alignas(64) size_t done;
    // The number of phases in which each part was taken.
    struct {
        _Alignas(64) size_t phases;
    } taken[NACRE_PHASE_PARTS];
} nacre_phases;

// nacre_phase_take runs a part and returns true. If another thread has taken the part, it returns
// false.
static inline bool nacre_phase_take(nacre_phases *p, size_t phase, size_t part) {
    size_t expected = phase;
    if (__atomic_load_n(&p->taken[part].phases, __ATOMIC_RELAXED) != phase) return false;
    if (!__atomic_compare_exchange_n(&p->taken[part].phases, &expected, phase + 1, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED)) {
        return false;
    }
    p->task(p->job, phase, part);
    __atomic_fetch_add(&p->done, 1, __ATOMIC_RELEASE);
    return true;
}

// nacre_phase_wait waits until the phase is done. If its patience ends, it takes parts of other
// threads. It returns false if the run is stopped.
static inline bool nacre_phase_wait(nacre_phases *p, size_t phase, size_t *patience) {
    const size_t all = (phase + 1) * p->parts;
    bool helped = false;
    for (size_t looks = 0; __atomic_load_n(&p->done, __ATOMIC_ACQUIRE) < all; looks++) {
        if (nacre_stopped(p->team)) return false;
        for (size_t part = 0; looks == *patience && part < p->parts; part++) {
            helped = nacre_phase_take(p, phase, part) || helped;
        }
        if (looks < NACRE_PHASE_SPIN) {
            nacre_pause();
        } else {
            sched_yield();
        }
    }
    *patience = helped ? 0 : NACRE_PHASE_PATIENCE;
    return true;
}

// nacre_phases_chunk is one of the threads that go through the phases.
static inline void nacre_phases_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    nacre_phases *const p = job;
    const size_t first = chunk * p->parts / p->threads, last = (chunk + 1) * p->parts / p->threads;
    size_t patience = 0;
    for (;;) {
        const size_t phase = __atomic_load_n(&p->done, __ATOMIC_ACQUIRE) / p->parts;
        if (phase >= p->phases) return;
        for (size_t part = first; part < last; part++) {
            if (nacre_stopped(p->team)) return;
            nacre_phase_take(p, phase, part);
        }
        if (!nacre_phase_wait(p, phase, &patience)) return;
    }
}

// nacre_run_phases runs task for parts 0..parts-1, at most NACRE_PHASE_PARTS, of phases
// 0..phases-1, and returns when all are done. If the team is stopped, it returns when no part is
// under way.
static inline void nacre_run_phases(nacre_team *team, size_t phases, size_t parts, nacre_phase_task task, void *job) {
    const size_t most = nacre_team_threads(team), threads = most < parts ? most : parts;
    if (threads > 1) {
        nacre_phases p = {.team = team, .phases = phases, .parts = parts, .threads = threads, .task = task, .job = job};
        nacre_parallel(team, threads, nacre_phases_chunk, &p);
        return;
    }
    for (size_t phase = 0; phase < phases; phase++) {
        for (size_t part = 0; part < parts && !nacre_stopped(team); part++) task(job, phase, part);
    }
}

#endif
