// Helpers shared by the files of the family: integers, indices, boxes.
#ifndef NACRE_COPY_INDEX_H
#define NACRE_COPY_INDEX_H

#include <string.h>

#include "copy/copy.h"

typedef struct {
    uint64_t half[2];
} nacre_w16;

// COPY_CHUNK_BYTES is the number of bytes that a chunk copies.
enum { COPY_CHUNK_BYTES = 64 << 10 };

// nacre_few reports whether n rows of c elements, stride apart, are pixels of 2 to 4 channels
// without gaps. Transposes move all channels of such pixels together.
static inline int nacre_few(size_t n, size_t c, ptrdiff_t stride) {
    return c >= 2 && c <= 4 && stride == (ptrdiff_t)c && n > c;
}

// copy_integer returns element i of a list of integers of 4 or 8 bytes.
static inline int64_t copy_integer(const void *list, int64_t bytes, size_t i) {
    return bytes == 4 ? ((const int32_t *)list)[i] : ((const int64_t *)list)[i];
}

// copy_index returns index i of a list into an axis, counted from the front. If it is out of range,
// copy_index ends the run and returns -1.
static inline int64_t copy_index(const nacre_call *c, const void *list, int64_t bytes, size_t i, int64_t extent) {
    const int64_t given = copy_integer(list, bytes, i), x = given < 0 ? given + extent : given;
    if (x >= 0 && x < extent) return x;
    nacre_fail(c, NACRE_FAILED_index, (int64_t)i, given, extent, extent - 1);
    return -1;
}

// copy_block copies n bytes. If n is a constant, the copy is one move.
static inline void copy_block(char *dst, const char *src, size_t n) {
    switch (n) {
    case 1: *dst = *src; return;
    case 2: memcpy(dst, src, 2); return;
    case 4: memcpy(dst, src, 4); return;
    case 8: memcpy(dst, src, 8); return;
    case 16: memcpy(dst, src, 16); return;
    default: memcpy(dst, src, n);
    }
}

// copy_odometer sets at to the indices of position p. list holds extent and step of each axis. It
// returns the sum of index * step.
static inline int64_t copy_odometer(const int64_t *list, size_t axes, size_t p, int64_t *at) {
    int64_t sum = 0;
    for (size_t a = axes; a-- > 0;) {
        at[a] = (int64_t)(p % (size_t)list[2 * a]);
        p /= (size_t)list[2 * a];
        sum += at[a] * list[2 * a + 1];
    }
    return sum;
}

// copy_advance moves to the next position and returns the change of the sum of copy_odometer.
static inline int64_t copy_advance(const int64_t *list, size_t axes, int64_t *at) {
    int64_t change = 0;
    for (size_t a = axes; a-- > 0;) {
        change += list[2 * a + 1];
        if (++at[a] < list[2 * a]) break;
        change -= list[2 * a] * list[2 * a + 1];
        at[a] = 0;
    }
    return change;
}

// copy_boxes are the boxes of a copy.
typedef struct {
    nacre_transpose_fn *transpose;
    size_t width, axes, boxes;
    const int64_t *list;
} copy_boxes;

// nacre_copy_boxes copies the boxes. starts is scratch for one number per box.
void nacre_copy_boxes(const copy_boxes *b, const void *src, void *dst, size_t *starts, nacre_team *team);

#endif
