// Convolutions by 3x3 kernels with fewer products (Winograd, "Arithmetic complexity of
// computations", 1980; Lavin and Gray, "Fast algorithms for convolutional neural networks", 2015),
// of blocked values.
//
// The result is cut into tiles of m x m pixels, each computed from (m+2) x (m+2) pixels of the
// value. These and the kernels are transformed, multiplied point by point with sums over channels,
// and transformed back. The points of interpolation are 0, +-2/3, +-3/2 and infinity if m = 4, and
// 0, +-1 and infinity if m = 2.
#ifndef NACRE_CONV_WINOGRAD_H
#define NACRE_CONV_WINOGRAD_H

#include <string.h>

#include "conv/dense.h"
#include "core/simd.h"
#include "core/vec.h"

// The words of command f32_conv_winograd. It has the operands of f32_conv_blocked; x is blocked,
// kernels are 3x3, strides and dilations 1.
typedef struct {
    nacre_conv_words conv;
    int64_t block;  // at most NACRE_CONV_BLOCK
    int64_t tile;   // m, 2 or 4
} nacre_conv_winograd_words;

enum { NACRE_WINOGRAD_SIDE = 6, NACRE_WINOGRAD_POINTS = NACRE_WINOGRAD_SIDE * NACRE_WINOGRAD_SIDE };  // largest tile

// The destination of a tile of the result: element (i,j) of a block of channels is at y + i*pitch +
// j*block. add has the same layout, or is NULL.
typedef struct {
    const float *bias;  // a block
    const float *add;
    float *y;
    size_t pitch, block;
    const nacre_f32_finish *finish;  // only its clamp is used
} nacre_f32_winograd_out;

// Kernels of one channel of n filters. Element i of the kernel of filter f is at x + f*step + i,
// and its point p goes to y[p*stride + f]. Zeros fill the block after the last filter.
typedef struct {
    const double (*row)[3];  // transform three numbers to points
    size_t side, n, block;
    const float *x;
    size_t step;
    float *y;
    size_t stride;
} nacre_f32_winograd_weights;

// Transforms kernels in double precision. block equals w->block and is a constant of the caller.
NACRE_INLINE void nacre_winograd_weights(const nacre_f32_winograd_weights *w, size_t block) {
    float x[9][NACRE_CONV_BLOCK];
    double half[3][NACRE_CONV_BLOCK];
    if (w->n < block) memset(x, 0, sizeof x);
    for (size_t f = 0; f < w->n; f++) {
        const float *const g = w->x + f * w->step;
        x[0][f] = g[0], x[1][f] = g[1], x[2][f] = g[2];
        x[3][f] = g[3], x[4][f] = g[4], x[5][f] = g[5];
        x[6][f] = g[6], x[7][f] = g[7], x[8][f] = g[8];
    }
    float *y = w->y;
    for (size_t p = 0; p < w->side; p++) {
        const double *const down = w->row[p];
        for (size_t j = 0; j < 3; j++) {
            const float *const a = x[j], *const b = x[3 + j], *const c = x[6 + j];
            NACRE_SIMD
            for (size_t f = 0; f < block; f++) half[j][f] = down[0] * a[f] + down[1] * b[f] + down[2] * c[f];
        }
        for (size_t q = 0; q < w->side; q++, y += w->stride) {
            const double *const across = w->row[q];
            const double *const a = half[0], *const b = half[1], *const c = half[2];
            NACRE_SIMD
            for (size_t f = 0; f < block; f++) y[f] = (float)(across[0] * a[f] + across[1] * b[f] + across[2] * c[f]);
        }
    }
}

// A kernel row of op f32_conv_winograd with l lanes takes blocks of l channels; the row with 1 lane
// takes any.
typedef struct {
    size_t lanes;
    nacre_f32_dense_fn *dense;
    // Writes point p of the transformed pixels of a block to v + p*gap. Pixel (i,j) is at x +
    // i*pitch + j*block.
    void (*forward)(size_t m, const float *x, size_t pitch, size_t block, float *v, size_t gap);
    // Computes a tile of the result from its points at v + p*gap.
    void (*back)(size_t m, const float *v, size_t gap, const nacre_f32_winograd_out *o);
    // Computes the points of the kernels of a channel.
    void (*weights)(const nacre_f32_winograd_weights *w);
} nacre_f32_winograd_impl;
typedef const nacre_f32_winograd_impl *nacre_f32_winograd_fn(void);

#endif
