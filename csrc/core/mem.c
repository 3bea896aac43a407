#include "core/mem.h"
#include "core/numbers.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

void *nacre_alloc(size_t bytes) {
    const size_t huge = (size_t)2 << 20;
    const size_t align = bytes >= huge ? huge : NACRE_ALIGN;
    if (bytes > SIZE_MAX - align) return NULL;
    bytes = nacre_round_up(bytes, align);
    void *const p = aligned_alloc(align, bytes == 0 ? align : bytes);
    if (p == NULL) return NULL;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (align == huge) (void)madvise(p, bytes, MADV_HUGEPAGE);
#endif
    return p;
}

void nacre_free(void *p) { free(p); }

size_t nacre_physical_memory(void) {
#if defined(_SC_PHYS_PAGES)
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages > 0 && size > 0 && (size_t)pages <= SIZE_MAX / (size_t)size) return (size_t)pages * (size_t)size;
#endif
    return 0;
}
