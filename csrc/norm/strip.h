// Runs of elements of float or 16-bit floats, seen as floats.
#ifndef NACRE_NORM_STRIP_H
#define NACRE_NORM_STRIP_H

#include "half/half.h"
#include "norm/norm.h"

// What an operand holds, and the conversions of 16-bit floats.
typedef struct {
    nacre_float_type type;
    const nacre_half *half;  // NULL for float
} norm_type;

static inline norm_type norm_type_of(int64_t type, int64_t half) {
    return (norm_type){(nacre_float_type)type, half == 0 ? NULL : ((nacre_half_fn *)nacre_part_fn(half))()};
}

static inline void *norm_at(norm_type t, const void *base, size_t at) {
    return (char *)(uintptr_t)base + at * (t.type == NACRE_FLOAT32 ? sizeof(float) : sizeof(uint16_t));
}

// n elements from the one numbered at: where they lie, or widened in room.
static inline const float *norm_read(norm_type t, const void *base, size_t at, size_t n, float *room) {
    if (t.type == NACRE_FLOAT32) return norm_at(t, base, at);
    t.half->widen[t.type](norm_at(t, base, at), room, n);
    return room;
}

// Where elements from the one numbered at are to be written; norm_write follows.
static inline float *norm_room(norm_type t, void *base, size_t at, float *room) { return t.type == NACRE_FLOAT32 ? norm_at(t, base, at) : room; }

static inline void norm_write(norm_type t, void *base, size_t at, size_t n, const float *room) {
    if (t.type != NACRE_FLOAT32) t.half->narrow[t.type](room, norm_at(t, base, at), n);
}

// A whole operand as floats; NULL for one that is left out.
static inline const float *norm_read_all(norm_type t, const void *base, size_t n, float *room) {
    return base == NULL ? NULL : norm_read(t, base, 0, n, room);
}

// Elements that a chunk of work should at least have.
enum { NORM_GRAIN = 1 << 14 };

// How many items of that many elements make a chunk.
static inline size_t norm_per_chunk(size_t elements) { return elements >= NORM_GRAIN ? 1 : NORM_GRAIN / (elements == 0 ? 1 : elements); }

#endif
