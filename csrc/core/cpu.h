// CPU features as a mask of the levels in isa.inc.
#ifndef NACRE_CORE_CPU_H
#define NACRE_CORE_CPU_H

#include <stdint.h>

enum {
#define NACRE_ISA(name, bit, text) NACRE_ISA_##name = 1u << (bit),
#include "core/isa.inc"
#undef NACRE_ISA
    NACRE_ISA_scalar = 0
};

// nacre_cpu_detect returns the levels that both this CPU and its operating system support.
uint32_t nacre_cpu_detect(void);

// nacre_isa_at returns row i of isa.inc, or NULL if there is none.
typedef struct {
    const char *name;
    const char *text;
    uint32_t mask;
} nacre_isa_row;
const nacre_isa_row *nacre_isa_at(int i);

#endif
