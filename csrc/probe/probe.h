// Ceilings of the machine, for benchmarks to relate kernels to. Callers take
// the time; a probe does a known amount of work.
#ifndef NACRE_PROBE_PROBE_H
#define NACRE_PROBE_PROBE_H

#include <stddef.h>

#include "core/kernel.h"
#include "core/parallel.h"

const nacre_kernel *nacre_probe_kernels(size_t *count);

// Rows of op f32_fma_rate: at least `ops` floating-point operations, a
// multiply-add counted as two, none of which waits for another. Returns how many
// it did. The loops are assembly: a compiler that spills one accumulator makes
// the ceiling a lie.
typedef size_t nacre_f32_fma_rate_fn(size_t ops);

// Reads n bytes at a multiple of 64, in four streams as bandwidth needs, and
// returns a value that depends on all of them.
unsigned long nacre_probe_read(const void *src, size_t n);

#endif
