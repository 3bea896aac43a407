// Sums of a few elements of a plane, each with a weight: what sampling comes to once places are
// known. One row per level serves all commands that sample.
#ifndef NACRE_RESIZE_TAPS_H
#define NACRE_RESIZE_TAPS_H

#include <stdbool.h>

#include "resize/resize.h"

enum {
    NACRE_TAPS_BLOCK = 256,  // places whose taps are found together
    NACRE_TAPS_LANES = 16,   // a list of places has room up to a multiple of this
    NACRE_TAPS_AXIS = 4,     // taps of a place along one axis at most
    NACRE_TAPS_MOST = 64,    // and along all axes
};

// The taps of n places: tap t of place i is element at[t * pitch + i], with the weight
// part[t * pitch + i]. A tap whose there[t * pitch + i] is 0 is left out, so that what is no number
// there does not count; all are there if there is NULL. The lists are readable up to the next
// multiple of NACRE_TAPS_LANES, where at is an element, too.
typedef struct {
    size_t taps, pitch;
    int32_t *at;
    float *part, *there;
} nacre_taps;

// How places along an axis of n elements are sampled.
typedef struct {
    int64_t n, mode, padding;  // nacre_grid_mode, nacre_grid_padding
    float low, high;           // where padding begins
    float far;                 // how far beyond the border a place may be
} nacre_taps_axis;

// The taps of places along one axis: tap k of place i is at[k][i].
typedef struct {
    int32_t at[NACRE_TAPS_AXIS][NACRE_TAPS_BLOCK];
    float part[NACRE_TAPS_AXIS][NACRE_TAPS_BLOCK], there[NACRE_TAPS_AXIS][NACRE_TAPS_BLOCK];
} nacre_axis_taps;

typedef struct {
    // y[i] = (sum over t of part * x[at]) * scale[i] for i < n; without scale if that is NULL.
    void (*sum)(const float *x, const nacre_taps *t, const float *scale, size_t n, float *y);
    // y[i] = the largest part * x[at] of place i, for i < n; NaNs are passed over.
    void (*largest)(const float *x, const nacre_taps *t, size_t n, float *y);
    // y[i] = sum over k < count of part[k] * x[row[k] * stride + i] for i < n.
    void (*rows)(const float *x, size_t stride, const int32_t *row, const float *part, size_t count, size_t n,
            float *y);
    // Writes the taps of places x[0..n) and returns how many a place has. Unless base is NULL, a
    // place is base + x, whose fraction is that of x, exactly; mode is linear and padding zeros
    // then. x may be changed. Missing is set to true if a tap is left out.
    size_t (*axis)(const nacre_taps_axis *a, const int32_t *base, float *x, size_t n, nacre_axis_taps *out,
            bool *missing);
    // Multiplies the taps of t by `taps` taps along one more axis, whose elements are step apart.
    void (*join)(nacre_taps *t, const nacre_axis_taps *a, size_t taps, int32_t step, size_t n);
} nacre_f32_taps_impl;
typedef const nacre_f32_taps_impl *nacre_f32_taps_fn(void);

// The bytes of a table of that many taps a place, and the table in such memory. A table begins
// with one tap, element 0 with weight 1.
size_t nacre_taps_bytes(size_t taps, size_t places);
nacre_taps nacre_taps_in(void *memory, size_t taps, size_t places);
void nacre_taps_begin(nacre_taps *t, size_t n);

#endif
