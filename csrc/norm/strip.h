// Runs of float or 16-bit float elements, read and written as floats.
#ifndef NACRE_NORM_STRIP_H
#define NACRE_NORM_STRIP_H

#include "half/half.h"
#include "norm/norm.h"

// norm_type is the element type of an operand, with the conversions of 16-bit floats.
typedef struct {
    nacre_dtype type;
    const nacre_half *half;  // NULL for float
} norm_type;

static inline norm_type norm_type_of(int64_t type, int64_t half) {
    return (norm_type){(nacre_dtype)type, half == 0 ? NULL : ((nacre_half_fn *)nacre_part_fn(half))()};
}

static inline void *norm_at(norm_type t, const void *base, size_t at) {
    return (char *)(uintptr_t)base + at * (t.type == NACRE_DTYPE_f32 ? sizeof(float) : sizeof(uint16_t));
}

// norm_read returns n elements from element `at` on, in place if they are floats, else widened into
// room.
static inline const float *norm_read(norm_type t, const void *base, size_t at, size_t n, float *room) {
    if (t.type == NACRE_DTYPE_f32) return norm_at(t, base, at);
    t.half->widen[t.type](norm_at(t, base, at), room, n);
    return room;
}

// norm_room returns where to write elements from element `at` on. A call of norm_write follows.
static inline float *norm_room(norm_type t, void *base, size_t at, float *room) {
    return t.type == NACRE_DTYPE_f32 ? norm_at(t, base, at) : room;
}

static inline void norm_write(norm_type t, void *base, size_t at, size_t n, const float *room) {
    if (t.type != NACRE_DTYPE_f32) t.half->narrow[t.type](room, norm_at(t, base, at), n);
}

// norm_read_all returns a whole operand as floats, or NULL if it is left out.
static inline const float *norm_read_all(norm_type t, const void *base, size_t n, float *room) {
    return base == NULL ? NULL : norm_read(t, base, 0, n, room);
}

// NORM_GRAIN is the least number of elements of a chunk.
enum { NORM_GRAIN = 1 << 14 };

// norm_per_chunk returns the number of items per chunk, given the elements of an item.
static inline size_t norm_per_chunk(size_t elements) {
    return elements >= NORM_GRAIN ? 1 : NORM_GRAIN / (elements == 0 ? 1 : elements);
}

#endif
