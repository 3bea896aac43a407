// Convolutions of codes in blocks (conv/blocked.h).
//
// Kernels multiply bytes of signed weights by codes of the value in the form that a variant takes:
// as unsigned or signed bytes, offset by 128 if needed, or as 16 bits.
#ifndef NACRE_QUANT_I8_BLOCKED_H
#define NACRE_QUANT_I8_BLOCKED_H

#include "conv/dense.h"
#include "quant/i8_conv.h"

// A tile of sums: consecutive pixels of one or two blocks of filters. Its sums consist of steps,
// each of some groups of channels of a block.
typedef struct {
    size_t pixels, blocks, lanes;
    const char *x;        // of the first pixel
    size_t pitch;         // bytes of x from one pixel to the next
    const size_t *step;   // bytes from x to the first channel of each step
    size_t steps, whole;  // the first `whole` steps have all groups of a block
    size_t groups, rest;  // groups of such a step, and of each other step
    const int8_t *w;      // [groups of all steps][blocks][lanes][group]
    int32_t *sums;        // [pixels][blocks][lanes]
    const int8_t *next;   // weights to prefetch, some for each group of this tile
    size_t next_step;     // bytes to prefetch for a group
} nacre_i8_tile;

// The epilogue of the sums of a block of filters. With numbers of filters,
//     y = saturate(round((sums + start) * scale + add, then) + zero)
// where then is a nacre_i8_then, and ties are rounded to even.
typedef struct {
    size_t pixels, lanes, row;  // row: from the sums of a pixel to the sums of the next
    const int32_t *sums, *start;
    const float *scale, *add;
    const nacre_i8_then *then;  // without row_add and codes
    const int32_t *more;        // added to the sums, [pixels][lanes], or NULL
    const uint8_t *codes;       // [pixels][lanes], as y, which it may be, or NULL
    int32_t zero;
    uint8_t *y;
} nacre_i8_tile_finish;

// sums[p*row + l] -= w_zero[l] * totals[p]
typedef struct {
    size_t pixels, lanes, row;
    int32_t *sums;
    const int32_t *w_zero, *totals;
} nacre_i8_move;

// A kernel row of op i8_conv_blocked with l lanes takes blocks of l channels; the row with 1 lane
// takes any.
typedef struct {
    size_t lanes;
    size_t group;     // channels that are contiguous in packed weights
    size_t x_bytes;   // of a code of the value: 1 or 2
    int x_unsigned;   // such bytes are unsigned
    size_t pixels[8]; // the sizes of tiles, largest first, 1 and then 0 at the end
    void (*tile)(const nacre_i8_tile *t);
    void (*move)(const nacre_i8_move *m);
    void (*finish)(const nacre_i8_tile_finish *f);
} nacre_i8_blocked_impl;
typedef const nacre_i8_blocked_impl *nacre_i8_blocked_fn(void);

// ---- i8_conv_depthwise_blocked ----

enum { NACRE_I8_TAPS = 4 };  // columns of the kernel that are contiguous in packed weights

// A row of the result of a block. The value is bytes, offset by 128 if the variant takes them with
// another sign. 64 bytes after it may be read.
typedef struct {
    const uint8_t *x;  // the value under the first column of the kernel, for the first pixel
    size_t kernel_h, gap;  // rows of the kernel, and bytes from the value under one to the value under the next
    size_t kernel_w, groups, step;  // columns, groups of them, and bytes of x from one pixel to the next
    const int8_t *w;   // [kernel_h][groups][lanes][NACRE_I8_TAPS]
    nacre_i8_tile_finish finish;  // for all pixels; without sums
} nacre_i8_depthwise_row;

// A kernel row of op i8_conv_depthwise_blocked with l lanes takes blocks of l channels; the row
// with 1 lane takes any.
typedef struct {
    size_t lanes;
    int x_unsigned;  // bytes are unsigned
    void (*row)(const nacre_i8_depthwise_row *r);
    // Sets more[o][l] to -w_zero[l] times the sum of the codes under the kernel. The kernel meets
    // `line` bytes of the row; columns has as many numbers.
    void (*more)(const nacre_i8_depthwise_row *r, const int32_t *w_zero, size_t line, int32_t *columns, int32_t *more);
} nacre_i8_depthwise_impl;
typedef const nacre_i8_depthwise_impl *nacre_i8_depthwise_fn(void);

// ---- commands in blocks ----

enum { BLOCKED8_PLAIN = 4 };  // largest number of channels of a plain value

typedef struct {
    size_t in, out, kernel, stride, dilation, pad;
} blocked8_axis;

// If all pixels of a value are consecutive, it is flat: it is cut into rows of `width` pixels; the
// last may have fewer.
typedef struct {
    const nacre_i8_blocked_impl *impl;  // of i8_conv_blocked
    size_t x_bytes;                     // of a code in the form of steps: 1 or 2
    int x_unsigned;                     // such bytes are unsigned
    size_t images, channels, filters, lanes;
    size_t group_channels, group_filters;  // of a group of the convolution
    size_t window;                         // codes that are summed for one result
    blocked8_axis d, h, w;  // slices of a result along d are computed separately, like images
    size_t pixels, width;   // of a slice, of a row
    int flat, plain, copied, shared;  // shared: steps refer to one copy for all chunks
    size_t in_blocks, out_blocks, taps, steps;
    size_t step_channels;             // of a block, or a divisor of it that divides groups of the convolution
    size_t whole, groups, rest;       // steps of all these channels; groups of such a step, and of each other step
    size_t run;                       // consecutive steps with contiguous channels, which tiles take as one
    size_t unit;                      // bytes of a pixel in the form of steps
    size_t blocks;                    // of filters in one tile, which meet the same steps
    size_t weight_count;              // of packed weights
    size_t line, band_rows;           // pixels of a row of a copy, and its rows
    size_t row_lines, slice_lines;    // of a copy: lines from row to row, and from slice to slice under the kernel
    size_t rows_each, bands, parts, groups_each;
    size_t first;                     // of the current slices
    dense_cut cut, last;
    size_t *step;
    size_t *place;  // of the weights of each group of blocks of filters
    int32_t *totals;
    char *copies;
    int moved;        // weights have zero points, in the form of packed weights: w_zero of filters
    int32_t *start, *w_zero;
    float *scale, *add;
    int32_t pad;   // the zero point of x in the form of steps
    uint8_t flip;  // XORed with bytes of x when they are copied
    int x_signed;
    i8_conv_numbers numbers;
    const uint8_t *x;
    const int8_t *weights;
    uint8_t *y;
} blocked8_job;

static inline size_t blocked8_reach(const blocked8_axis *a, size_t n) {
    return (n - 1) * a->stride + (a->kernel - 1) * a->dilation + 1;
}

// Returns axis d of three. The convolution has the last ones; those before have one position.
static inline blocked8_axis blocked8_axis_of(const nacre_conv *c, size_t d) {
    if (d + c->axes < 3) return (blocked8_axis){1, 1, 1, 1, 1, 0};
    d -= 3 - c->axes;
    return (blocked8_axis){c->in[d], c->out[d], c->kernel[d], c->stride[d], c->dilation[d], c->pad[d]};
}

// Returns the pixels of a slice of the value.
static inline size_t blocked8_slice(const blocked8_job *j) { return j->flat ? j->pixels : j->h.in * j->w.in; }

static inline size_t blocked8_copy_lines(const blocked8_job *j) { return j->d.kernel * j->band_rows; }

// Copies the rows of a block under `rows` rows, from o on, of a slice of the result, in the form of
// steps, with the zero point around. image counts slices of images.
void nacre_blocked8_copy(const blocked8_job *j, size_t image, size_t block, size_t o, size_t rows, char *dst);

// Lays out start, w_zero, scale and add for all filters of whole blocks, and returns their bytes.
size_t nacre_blocked8_place(blocked8_job *j, char *scratch);

// Reads the numbers of the command. sums are the sums of the packed weights of filters.
void nacre_blocked8_put(blocked8_job *j, const nacre_call *c, const nacre_i8_conv_words *w, const int32_t *sums);

#endif
