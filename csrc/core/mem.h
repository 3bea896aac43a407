// Aligned memory outside Go's heap, for arenas and packed weights.
#ifndef NACRE_CORE_MEM_H
#define NACRE_CORE_MEM_H

#include <stddef.h>

enum { NACRE_ALIGN = 64 };

// At least `bytes` bytes at a multiple of NACRE_ALIGN, not cleared; blocks of
// 2 MiB and more ask for huge pages. NULL when there is no memory.
void *nacre_alloc(size_t bytes);
void nacre_free(void *p);

#endif
