// Convolutions of all channels, from blocked or plain values to blocked ones (blocked.h).
#ifndef NACRE_CONV_DENSE_H
#define NACRE_CONV_DENSE_H

#include "conv/blocked.h"

// The words of command f32_conv_blocked. It has the operands of f32_conv_gemm: add and y are
// blocked, x is blocked, or plain if `plain` is set, w is written by pack, and bias, which may be
// absent, is plain. All are float32. There is one group, or x is blocked. There are at most three
// axes. add may be y.
typedef struct {
    nacre_conv_words conv;
    int64_t block;  // at most NACRE_CONV_BLOCK
    int64_t plain;  // whether x is plain
} nacre_conv_dense_words;

enum { NACRE_DENSE_PIXELS = 14, NACRE_DENSE_BLOCKS = 2 };  // largest tile

// A tile of the result: consecutive pixels of one or two blocks of filters. Its sums consist of
// steps. Each step has the contiguous channels of a block, or one channel of a plain value.
typedef struct {
    size_t pixels, blocks;
    size_t lanes;         // of a block, and floats from one pixel of y to the next
    size_t pitch;         // floats of x from one pixel to the next
    const float *x;       // of the first pixel
    const size_t *step;   // floats from x to the first channel of each step
    size_t steps, whole;  // the first `whole` steps have a block of channels
    size_t rest;          // channels of each other step
    const float *w;       // [channels of all steps][blocks][lanes]
    const float *start;   // added to the sums, [blocks][lanes]; NULL to add y instead
    const float *add;     // added as well, in the layout of y, which it may be, or NULL
    const float *own;     // of blocked values, [blocks][lanes]: below 0 for lanes to store, else 0; NULL for all
    float *y;
    size_t y_block;                  // floats from a block of y to the next
    const nacre_f32_finish *finish;  // only its clamp is used; NULL if more sums follow
    const float *next;               // weights to prefetch: some for each channel of this tile
    size_t next_step;                // floats to prefetch for a channel
} nacre_f32_dense_tile;

// A kernel row of op f32_conv_blocked with l lanes takes blocks of l channels; the row with 1 lane
// takes any.
typedef struct {
    size_t lanes;
    size_t band;     // floats of the value under a band of rows at most, or one row: second-level cache
    size_t weights;  // floats of weights of a chunk of steps at most, or one step: first-level cache
    size_t pixels[8];  // the sizes of tiles, largest first, 1 and then 0 at the end
    void (*tile)(const nacre_f32_dense_tile *t);        // of blocked values, with pitch == lanes
    size_t plain_pixels[8];
    void (*plain_tile)(const nacre_f32_dense_tile *t);  // of plain values, with steps of 1 channel and any pitch
} nacre_f32_dense_impl;
typedef const nacre_f32_dense_impl *nacre_f32_dense_fn(void);
const nacre_f32_dense_impl *nacre_f32_conv_blocked__scalar(void);

// Kernel rows of the op named halves sum the channels in two halves, which two threads can compute.
// nacre_dense_halved reports whether they take a convolution: small maps with many channels and at
// most half as many filters. The caches of the threads that wrote such a value hold it by channels.
// nacre_dense_half returns the floats that these rows need for the sums of the second half, in the
// layout of y; it does not depend on the number of pixels. nacre_dense_join adds these sums to y
// and applies the epilogue.
int nacre_dense_halved(const nacre_conv_dense_words *w);
size_t nacre_dense_half(const nacre_conv_dense_words *w);
void nacre_dense_join(const nacre_call *c, float *half);

// Members of the entry, for other kernel rows of the op: the convolutions they take, and packing,
// which is the same for all rows.
int nacre_dense_fits(const nacre_kernel *kernel, const int64_t *words);
size_t nacre_dense_packed(const nacre_kernel *kernel, const int64_t *words, size_t operand);
void nacre_dense_pack(const nacre_kernel *kernel, const int64_t *words, size_t operand, const void *src, void *dst);

// A row of pixels cut into tiles: all of the largest size but for the last few.
enum { NACRE_DENSE_TAIL = 2 * NACRE_DENSE_PIXELS };
typedef struct {
    int plain;  // whether tiles take any pitch
    size_t most, full, tail[NACRE_DENSE_TAIL], tails;
} dense_cut;
dense_cut nacre_dense_cut_by(const size_t *sizes, size_t n);  // sizes as in an impl
dense_cut nacre_dense_cut(const nacre_f32_dense_impl *impl, int plain, size_t n);

// Computes a row that begins with tile t. It advances x, y and add of t by the pixels, and next by
// `portion` for each tile.
void nacre_dense_row(const nacre_f32_dense_impl *impl, const dense_cut *cut, nacre_f32_dense_tile *t, size_t portion);

#endif
