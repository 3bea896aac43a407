#include "core/mem.h"

#include <stdint.h>
#if defined(_WIN32)

#define WIN32_LEAN_AND_MEAN
#include <malloc.h>
#include <windows.h>

void *nacre_alloc(size_t bytes) { return _aligned_malloc(bytes == 0 ? NACRE_ALIGN : bytes, NACRE_ALIGN); }

void nacre_free(void *p) { _aligned_free(p); }

size_t nacre_physical_memory(void) {
    MEMORYSTATUSEX m = {.dwLength = sizeof m};
    return GlobalMemoryStatusEx(&m) && m.ullTotalPhys <= SIZE_MAX ? (size_t)m.ullTotalPhys : 0;
}

#else

#include <stdlib.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

// nacre_alloc asks for large pages as far as a large block fills them. A page that a block fills in
// part would waste memory.
void *nacre_alloc(size_t bytes) {
    const size_t huge = (size_t)2 << 20, align = bytes >= huge ? huge : NACRE_ALIGN;
    void *p;
    if (posix_memalign(&p, align, bytes == 0 ? align : bytes) != 0) return NULL;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (align == huge) (void)madvise(p, bytes / huge * huge, MADV_HUGEPAGE);
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

#endif
