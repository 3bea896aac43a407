// Aligned memory outside Go's heap, for arenas and packed weights.
#ifndef NACRE_CORE_MEM_H
#define NACRE_CORE_MEM_H

#include <stddef.h>

enum { NACRE_ALIGN = 64 };

// At least `bytes` bytes at a multiple of NACRE_ALIGN, not cleared; on Linux, blocks of
// 2 MiB and more ask for huge pages. NULL when there is no memory.
void *nacre_alloc(size_t bytes);
void nacre_free(void *p);

// Bytes of main memory that the machine has; 0 when the system does not say.
size_t nacre_physical_memory(void);

#endif
