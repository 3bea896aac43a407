// Maximum and average over windows of blocked values: [planes][in...][block], where a plane is a
// block of channels. Channels are independent of each other.
#ifndef NACRE_POOL_BLOCKED_H
#define NACRE_POOL_BLOCKED_H

#include "pool/pool.h"

// The words of command f32_pooling_blocked. Operands are x and y, of float32. There are at most
// three axes; planes are blocks of channels.
typedef struct {
    nacre_pooling_extents extents;
    int64_t block;
} nacre_pooling_blocked_words;

// A row of the result of one plane.
typedef struct {
    const float *x;   // the first row of the value that is under the window
    size_t slices;    // slices of such rows; 0 if there are none
    size_t away;      // floats from one slice to the next
    size_t rows;      // of a slice
    size_t gap;       // floats from one row to the next
    const nacre_pooling_axis *columns;
    size_t block;
    bool max;
    const nacre_team *team;  // checked within a row, which ends if the team has stopped
    const float *counts;  // of an average: columns that count, by output
    float outer;          // rows that count, of all slices
    float *y;
} nacre_f32_blocked_pooling;

// Computes y[o] = max or (sum / (counts[o] * outer)) of x[o*stride + t*dilation - pad] over the
// rows and taps t, channel by channel. A kernel row of op f32_pooling_blocked with l lanes takes
// blocks that are multiples of l.
typedef struct {
    size_t lanes;
    void (*row)(const nacre_f32_blocked_pooling *r);
} nacre_f32_blocked_pooling_impl;
typedef const nacre_f32_blocked_pooling_impl *nacre_f32_blocked_pooling_fn(void);

#endif
