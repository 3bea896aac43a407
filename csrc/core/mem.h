// Aligned memory outside Go's heap, for arenas and packed weights.
#ifndef NACRE_CORE_MEM_H
#define NACRE_CORE_MEM_H

#include <stddef.h>

enum { NACRE_ALIGN = 64 };

// nacre_alloc returns at least `bytes` bytes at a multiple of NACRE_ALIGN, not cleared, or NULL if
// there is no memory. On Linux, blocks of 2 MiB and more ask for huge pages.
void *nacre_alloc(size_t bytes);
void nacre_free(void *p);

// nacre_physical_memory returns the bytes of main memory, or 0 if the system does not tell.
size_t nacre_physical_memory(void);

#endif
