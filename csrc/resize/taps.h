// Weighted sums of a few elements of a plane. All commands that sample reduce to them once
// positions are known. One row per level serves all of these commands.
#ifndef NACRE_RESIZE_TAPS_H
#define NACRE_RESIZE_TAPS_H

#include <stdbool.h>

#include "resize/resize.h"

enum {
    NACRE_TAPS_BLOCK = 256,  // positions in one table of taps
    NACRE_TAPS_LANES = 16,   // lists of positions are padded to a multiple of this
    NACRE_TAPS_AXIS = 4,     // most taps per position along one axis
    NACRE_TAPS_MOST = 64,    // most taps per position along all axes
};

// nacre_taps holds the taps of n positions. Tap t of position i is element at[t * pitch + i], with
// weight part[t * pitch + i]. If there[t * pitch + i] is 0, the tap is skipped, even if its element
// is NaN. If there is NULL, no tap is skipped. The lists are readable up to the next multiple of
// NACRE_TAPS_LANES, and at holds valid elements there.
typedef struct {
    size_t taps, pitch;
    int32_t *at;
    float *part, *there;
} nacre_taps;

// nacre_taps_axis describes how positions along an axis of n elements are sampled.
typedef struct {
    int64_t n, mode, padding;  // nacre_grid_mode, nacre_grid_padding
    float low, high;           // where padding begins
    float far;                 // greatest distance of a position beyond the border
} nacre_taps_axis;

// nacre_axis_taps holds the taps of positions along one axis. Tap k of position i is at[k][i].
typedef struct {
    int32_t at[NACRE_TAPS_AXIS][NACRE_TAPS_BLOCK];
    float part[NACRE_TAPS_AXIS][NACRE_TAPS_BLOCK], there[NACRE_TAPS_AXIS][NACRE_TAPS_BLOCK];
} nacre_axis_taps;

typedef struct {
    // y[i] = (sum over t of part * x[at]) * scale[i] for i < n. If scale is NULL, it is 1.
    void (*sum)(const float *x, const nacre_taps *t, const float *scale, size_t n, float *y);
    // y[i] = the largest part * x[at] of position i, for i < n. NaNs are skipped.
    void (*largest)(const float *x, const nacre_taps *t, size_t n, float *y);
    // y[i] = sum over k < count of part[k] * x[row[k] * stride + i] for i < n.
    void (*rows)(const float *x, size_t stride, const int32_t *row, const float *part, size_t count, size_t n,
            float *y);
    // Writes the taps of positions x[0..n) and returns the number of taps per position. If base is
    // not NULL, a position is base + x, and its fraction is computed from x alone, exactly; the
    // mode is then linear and the padding zeros. It may overwrite x. It sets missing to true if a
    // tap is skipped.
    size_t (*axis)(const nacre_taps_axis *a, const int32_t *base, float *x, size_t n, nacre_axis_taps *out,
            bool *missing);
    // Multiplies the taps of t by `taps` taps along one more axis, with elements step apart.
    void (*join)(nacre_taps *t, const nacre_axis_taps *a, size_t taps, int32_t step, size_t n);
} nacre_f32_taps_impl;
typedef const nacre_f32_taps_impl *nacre_f32_taps_fn(void);

// nacre_taps_bytes returns the bytes of a table with that many taps per position. nacre_taps_in
// returns the table in such memory. nacre_taps_begin sets it to one tap, element 0 with weight 1.
size_t nacre_taps_bytes(size_t taps, size_t places);
nacre_taps nacre_taps_in(void *memory, size_t taps, size_t places);
void nacre_taps_begin(nacre_taps *t, size_t n);

#endif
