// Threads that go through the phases of one job together.
//
// A phase has as many parts as every other, and begins when all parts of the phase
// before are done. Threads wait for each other without sleep, so a phase may take
// microseconds. A part belongs to a thread, whose caches keep what it reads in every
// phase; it is done by another where its own does not come to it.
#ifndef NACRE_CORE_PHASES_H
#define NACRE_CORE_PHASES_H

#include <sched.h>
#include <stdbool.h>

#include "core/parallel.h"

enum {
    NACRE_PHASE_PARTS = 64,        // most parts of a phase
    NACRE_PHASE_PATIENCE = 64,     // looks at a part of another thread before it is taken from it
    NACRE_PHASE_SPIN = 1 << 10     // looks before a thread leaves its processor to others
};

// A part of a phase. Parts of one phase run at the same time, in any order.
typedef void (*nacre_phase_task)(void *job, size_t phase, size_t part);

typedef struct {
    nacre_team *team;
    size_t phases, parts;
    size_t threads;  // as many as parts at most
    nacre_phase_task task;
    void *job;
    // Parts that are done, of all phases. A thread adds to it when it has done one.
    _Alignas(64) size_t done;
    // How many phases a part was taken in.
    struct {
        _Alignas(64) size_t phases;
    } taken[NACRE_PHASE_PARTS];
} nacre_phases;

// Runs a part unless another thread has taken it, which it reports.
static inline bool nacre_phase_take(nacre_phases *p, size_t phase, size_t part) {
    size_t expected = phase;
    if (__atomic_load_n(&p->taken[part].phases, __ATOMIC_RELAXED) != phase) return false;
    if (!__atomic_compare_exchange_n(&p->taken[part].phases, &expected, phase + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return false;
    p->task(p->job, phase, part);
    __atomic_fetch_add(&p->done, 1, __ATOMIC_RELEASE);
    return true;
}

// Takes the parts of others and waits for what they have under way. It reports false
// at the end of the run.
static inline bool nacre_phase_wait(nacre_phases *p, size_t phase, size_t *patience) {
    const size_t all = (phase + 1) * p->parts;
    bool helped = false;
    for (size_t looks = 0; __atomic_load_n(&p->done, __ATOMIC_ACQUIRE) < all; looks++) {
        if (nacre_stopped(p->team)) return false;
        for (size_t part = 0; looks == *patience && part < p->parts; part++) helped = nacre_phase_take(p, phase, part) || helped;
        if (looks < NACRE_PHASE_SPIN) {
            nacre_pause();
        } else {
            sched_yield();
        }
    }
    *patience = helped ? 0 : NACRE_PHASE_PATIENCE;
    return true;
}

// Each chunk is a thread of those that go through the phases.
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

// Runs task for parts 0..parts-1, NACRE_PHASE_PARTS at most, of phases 0..phases-1 and returns when all are done, or
// when none is left under way once the team is stopped.
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
