#include "probe/probe.h"

#include <stdint.h>
#include <string.h>

#include "core/target.h"

#define NACRE_KERNEL(op, variant, isa, function) extern nacre_rate_fn function;
#include "probe/kernels.inc"
#undef NACRE_KERNEL

static const nacre_kernel probe_rows[] = {
#define NACRE_KERNEL(op, variant, isa, function) {#op, #variant, isa, (nacre_fn)function, NULL},
#include "probe/kernels.inc"
#undef NACRE_KERNEL
};

const nacre_kernel *nacre_probe_kernels(size_t *count) {
    *count = sizeof probe_rows / sizeof probe_rows[0];
    return probe_rows;
}

unsigned long nacre_probe_read(const void *src, size_t n) {
    const size_t words = n / sizeof(uint64_t) / 32 * 8;
    const uint64_t *const s = src;
    uint64_t sum[8] = {0};
    for (size_t i = 0; i < words; i += 8) {
        for (size_t j = 0; j < 8; j++) {
            sum[j] += s[i + j] ^ s[words + i + j] ^ s[2 * words + i + j] ^ s[3 * words + i + j];
        }
    }
    uint64_t all = 0;
    for (size_t j = 0; j < 8; j++) all += sum[j];
    return (unsigned long)all;
}
