// Convolutions of codes in blocks by 3x3 kernels with fewer products (conv/winograd.h), of tiles of
// 2x2 pixels.
//
// Everything is exact. Points of codes, and four times the points of kernels, are 16-bit integers.
// Sums of their products are four times the sums of the convolution. These fit 32 bits, so
// intermediate sums may wrap.
#ifndef NACRE_QUANT_I8_WINOGRAD_H
#define NACRE_QUANT_I8_WINOGRAD_H

#include "quant/i8_blocked.h"

enum { NACRE_I8_SIDE = 4, NACRE_I8_POINTS = NACRE_I8_SIDE * NACRE_I8_SIDE };

// Computes the points of the pixels of a row of tiles of a block.
typedef struct {
    size_t tiles, lanes;
    const int16_t *x;  // the first pixel of four rows
    size_t line;       // numbers from one row to the next
    int16_t *y;
    size_t tile, point;  // numbers of y from one tile to the next, and from one point to the next
} nacre_i8_forward;

// Computes the sums of two rows of pixels from the sums of the points of a row of tiles of a block.
typedef struct {
    size_t tiles, lanes;
    const int32_t *x;
    size_t tile, point;  // numbers of x from one tile to the next, and from one point to the next
    int32_t *y;          // [2][2*tiles][lanes]
} nacre_i8_back;

// A kernel row of op i8_conv_winograd with l lanes takes blocks of l channels; the row with 1 lane
// takes any. Steps of tiles have two channels, with 16-bit codes and weights.
typedef struct {
    size_t lanes;
    size_t pixels[8];  // as in nacre_i8_blocked_impl
    void (*tile)(const nacre_i8_tile *t);
    void (*forward)(const nacre_i8_forward *f);
    void (*back)(const nacre_i8_back *b);
    void (*finish)(const nacre_i8_tile_finish *f);
} nacre_i8_winograd_impl;
typedef const nacre_i8_winograd_impl *nacre_i8_winograd_fn(void);

#endif
