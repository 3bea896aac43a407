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

// Command f32_winograd_weights has the same words, and the weights and the packed weights as
// operands. It packs weights that are not constant floats.

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

// NACRE_WINOGRAD_CHANNELS is the most channels with kernels that are transformed together, for
// blocks of at most NACRE_WINOGRAD_LANES filters, the most lanes of a level. Of larger blocks,
// there are fewer channels in proportion.
enum { NACRE_WINOGRAD_CHANNELS = 16, NACRE_WINOGRAD_LANES = 16 };

// Kernels of some channels of n filters. Element i of the kernel of channel k of filter f is float
// f*step + 9*k + i at x, which has any address. Its point p goes to y[p*stride + k*gap + f]. Zeros
// fill the block after the last filter.
typedef struct {
    const double (*row)[3];  // transform three numbers to points
    size_t side, n, block, channels;
    const void *x;
    size_t step;
    float *y;
    size_t stride, gap;
} nacre_f32_winograd_weights;

// Transforms kernels in double precision. x has their elements, [channels][9][block]. block equals
// w->block and is a constant of the caller. The points of a row go to all channels before those of
// the next, because stores to many distant places at a time are slow.
NACRE_INLINE void nacre_winograd_weights(const nacre_f32_winograd_weights *w, size_t block, const float *x) {
    double g[NACRE_WINOGRAD_CHANNELS * 9 * NACRE_WINOGRAD_LANES], half[3][NACRE_CONV_BLOCK];
    NACRE_SIMD
    for (size_t i = 0; i < w->channels * 9 * block; i++) g[i] = x[i];
    for (size_t p = 0; p < w->side; p++) {
        const double *const down = w->row[p];
        for (size_t k = 0; k < w->channels; k++) {
            for (size_t j = 0; j < 3; j++) {
                const double *const a = g + (k * 9 + j) * block, *const b = a + 3 * block, *const c = a + 6 * block;
                NACRE_SIMD
                for (size_t f = 0; f < block; f++) half[j][f] = down[0] * a[f] + down[1] * b[f] + down[2] * c[f];
            }
            float *y = w->y + p * w->side * w->stride + k * w->gap;
            for (size_t q = 0; q < w->side; q++, y += w->stride) {
                const double *const across = w->row[q];
                const double *const a = half[0], *const b = half[1], *const c = half[2];
                NACRE_SIMD
                for (size_t f = 0; f < block; f++) {
                    y[f] = (float)(across[0] * a[f] + across[1] * b[f] + across[2] * c[f]);
                }
            }
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
    // Computes the points of the kernels of up to NACRE_WINOGRAD_CHANNELS channels.
    void (*weights)(const nacre_f32_winograd_weights *w);
} nacre_f32_winograd_impl;
typedef const nacre_f32_winograd_impl *nacre_f32_winograd_fn(void);

#endif
