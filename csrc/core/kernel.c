#include "core/kernel.h"

#include <string.h>

const nacre_kernel *nacre_kernel_select(const nacre_kernel *rows, size_t count, const char *op, uint32_t mask) {
    for (size_t i = 0; i < count; i++) {
        if ((rows[i].isa & ~mask) == 0 && strcmp(rows[i].op, op) == 0) return &rows[i];
    }
    return NULL;
}
