// Convolutions of all channels, from blocked or plain values to blocked ones (blocked.h).
#ifndef NACRE_CONV_DENSE_H
#define NACRE_CONV_DENSE_H

#include "conv/blocked.h"

// The words of command f32_conv_blocked. Operands are those of f32_conv_gemm: add and y
// are blocked, x is blocked or, with plain, plain, w is what pack wrote, and bias, which
// may be left out, is plain. All are float32. There is one group, or x is blocked; there are up to
// three axes. Add may be y.
typedef struct {
    nacre_conv_words conv;
    int64_t block;  // at most NACRE_CONV_BLOCK
    int64_t plain;  // whether x is plain
} nacre_conv_dense_words;

enum { NACRE_DENSE_PIXELS = 14, NACRE_DENSE_BLOCKS = 2 };  // of a tile at most

// A tile of the result: pixels that follow each other of one or two blocks of filters.
// What it is summed over comes in steps, each of the channels of a block, which lie side by
// side, or of a plain value's one channel.
typedef struct {
    size_t pixels, blocks;
    size_t lanes;         // of a block, and floats from one pixel of y to the next
    size_t pitch;         // floats of x from one pixel to the next
    const float *x;       // of the first pixel
    const size_t *step;   // floats from x to the first channel of a step
    size_t steps, whole;  // of the steps the first `whole` have a block of channels
    size_t rest;          // channels of the others
    const float *w;       // [channels of all steps][blocks][lanes]
    const float *start;   // what is added to sums, [blocks][lanes]; NULL for what y holds
    const float *add;     // and beside it: laid out as y, which it may be, or NULL
    const float *own;     // of blocked values, [blocks][lanes]: below 0 for lanes that are stored, else 0; NULL where all are
    float *y;
    size_t y_block;                  // floats from a block of y to the next
    const nacre_f32_finish *finish;  // NULL where more is to be summed; of it the clamp counts
    const float *next;               // weights that will be needed: some for each channel of this tile
    size_t next_step;                // floats of them for a channel
} nacre_f32_dense_tile;

// A row of op f32_conv_blocked with l lanes takes blocks of l channels, one of 1 lane any.
typedef struct {
    size_t lanes;
    size_t band;     // floats of the value that a band of rows meets at most, or one row: second-level cache
    size_t weights;  // floats of weights of a chunk of steps at most, or one step: first-level cache
    size_t pixels[8];  // the sizes of tiles, largest first, 1 and then 0 at the end
    void (*tile)(const nacre_f32_dense_tile *t);        // of blocked values: a pitch of lanes
    size_t plain_pixels[8];
    void (*plain_tile)(const nacre_f32_dense_tile *t);  // of plain ones: steps of 1 channel, any pitch
} nacre_f32_dense_impl;
typedef const nacre_f32_dense_impl *nacre_f32_dense_fn(void);
const nacre_f32_dense_impl *nacre_f32_conv_blocked__scalar(void);

// Whether the channels are summed up in halves, of which a thread can have each: those of small maps with
// many channels and half as many filters or fewer. Such a value lies by channels in the caches of the
// threads that wrote it. Half is the floats that a kernel needs for the sums of the second, laid out as y; it
// does not depend on how many pixels there are. Join adds these to y, and finishes it.
int nacre_dense_halved(const nacre_conv_dense_words *w);
size_t nacre_dense_half(const nacre_conv_dense_words *w);
void nacre_dense_join(const nacre_call *c, float *half);

// Of the entry of these rows, for others of the op: which convolutions there are, and weights, which all
// rows pack alike.
int nacre_dense_fits(const nacre_kernel *kernel, const int64_t *words);
size_t nacre_dense_packed(const nacre_kernel *kernel, const int64_t *words, size_t operand);
void nacre_dense_pack(const nacre_kernel *kernel, const int64_t *words, size_t operand, const void *src, void *dst);

// A row of pixels in tiles: all of the largest size but for the last few.
enum { NACRE_DENSE_TAIL = 2 * NACRE_DENSE_PIXELS };
typedef struct {
    int plain;  // whether tiles are those of any pitch
    size_t most, full, tail[NACRE_DENSE_TAIL], tails;
} dense_cut;
dense_cut nacre_dense_cut_by(const size_t *sizes, size_t n);  // sizes as of an impl
dense_cut nacre_dense_cut(const nacre_f32_dense_impl *impl, int plain, size_t n);

// Computes a row of which t is the first tile, which it changes: x, y and add move on with
// the pixels, and next by a portion.
void nacre_dense_row(const nacre_f32_dense_impl *impl, const dense_cut *cut, nacre_f32_dense_tile *t, size_t portion);

#endif
