// Probes of the machine's ceilings, with which benchmarks compare kernels. A probe does a known
// amount of work; the caller measures the time.
#ifndef NACRE_PROBE_PROBE_H
#define NACRE_PROBE_PROBE_H

#include <stddef.h>

#include "core/kernel.h"
#include "core/parallel.h"

const nacre_kernel *nacre_probe_kernels(size_t *count);

// Rows of ops f32_fma_rate and i8_dot_rate: at least `ops` independent operations on floats, or on
// bytes whose products are summed in int32; a multiply-add counts as two. It returns how many it
// did. The loops are assembly, because a spilled accumulator would lower the ceiling.
typedef size_t nacre_rate_fn(size_t ops);

// nacre_probe_read reads n bytes at a multiple of 64, in four streams for full bandwidth. It
// returns a value that depends on all of them.
unsigned long nacre_probe_read(const void *src, size_t n);

#endif
