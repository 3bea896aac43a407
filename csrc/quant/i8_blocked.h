// Convolutions of codes in blocks (conv/blocked.h).
//
// Kernels multiply bytes of weights with sign by codes of the value that are stored as a
// variant takes them: as bytes without or with sign, moved there by 128, or as 16 bits.
#ifndef NACRE_QUANT_I8_BLOCKED_H
#define NACRE_QUANT_I8_BLOCKED_H

#include "conv/dense.h"
#include "quant/i8_conv.h"

// A tile of sums: pixels that follow each other of one or two blocks of filters. What it
// is summed over comes in steps, each of some groups of channels of a block.
typedef struct {
    size_t pixels, blocks, lanes;
    const char *x;        // of the first pixel
    size_t pitch;         // bytes of x from one pixel to the next
    const size_t *step;   // bytes from x to the first channel of a step
    size_t steps, whole;  // of the steps the first `whole` have all groups of a block
    size_t groups, rest;  // of these, and of the others
    const int8_t *w;      // [groups of all steps][blocks][lanes][group]
    int32_t *sums;        // [pixels][blocks][lanes]
    const int8_t *next;   // weights that will be needed, some for each group of this tile
    size_t next_step;     // bytes of them for a group
} nacre_i8_tile;

// What becomes of the sums of a block of filters: with numbers of filters,
//     y = saturate(round((sums + start) * scale + add, then) + zero)
// where then is of nacre_i8_then, and halves are rounded to even.
typedef struct {
    size_t pixels, lanes, row;  // row: from the sums of a pixel to those of the next
    const int32_t *sums, *start;
    const float *scale, *add;
    const nacre_i8_then *then;  // without row_add and codes
    const int32_t *more;        // what is added to sums, [pixels][lanes], or NULL
    const uint8_t *codes;       // [pixels][lanes], as y, which they may be, or NULL
    int32_t zero;
    uint8_t *y;
} nacre_i8_tile_finish;

// sums[p*row + l] -= w_zero[l] * totals[p]
typedef struct {
    size_t pixels, lanes, row;
    int32_t *sums;
    const int32_t *w_zero, *totals;
} nacre_i8_move;

// A row of op i8_conv_blocked with l lanes takes blocks of l channels, one of 1 lane any.
typedef struct {
    size_t lanes;
    size_t group;     // channels that lie together in packed weights
    size_t x_bytes;   // of a code of the value: 1 or 2
    int x_unsigned;   // bytes have no sign
    size_t pixels[8]; // the sizes of tiles, largest first, 1 and then 0 at the end
    void (*tile)(const nacre_i8_tile *t);
    void (*move)(const nacre_i8_move *m);
    void (*finish)(const nacre_i8_tile_finish *f);
} nacre_i8_blocked_impl;
typedef const nacre_i8_blocked_impl *nacre_i8_blocked_fn(void);

// ---- i8_conv_depthwise_blocked ----

enum { NACRE_I8_TAPS = 4 };  // columns of the kernel that lie together in packed weights

// A row of the result of a block. The value is bytes, moved by 128 where a variant takes them
// with another sign; behind it, 64 bytes can be read.
typedef struct {
    const uint8_t *x;  // what the first column of the kernel meets for the first pixel
    size_t kernel_h, gap;  // rows of the kernel, and bytes from what one meets to what the next does
    size_t kernel_w, groups, step;  // columns, groups of them, and bytes from one pixel's to the next's
    const int8_t *w;   // [kernel_h][groups][lanes][NACRE_I8_TAPS]
    nacre_i8_tile_finish finish;  // of all pixels; without sums
} nacre_i8_depthwise_row;

// A row of op i8_conv_depthwise_blocked with l lanes takes blocks of l channels, one of 1
// lane any.
typedef struct {
    size_t lanes;
    int x_unsigned;  // bytes have no sign
    void (*row)(const nacre_i8_depthwise_row *r);
    // more[o][l] = -w_zero[l] * sum of the codes under the kernel, of the row of which the kernel meets
    // `line` bytes. columns has as many numbers.
    void (*more)(const nacre_i8_depthwise_row *r, const int32_t *w_zero, size_t line, int32_t *columns, int32_t *more);
} nacre_i8_depthwise_impl;
typedef const nacre_i8_depthwise_impl *nacre_i8_depthwise_fn(void);

// ---- commands in blocks ----

enum { BLOCKED8_PLAIN = 4 };  // channels of a plain value, at most

typedef struct {
    size_t in, out, kernel, stride, dilation, pad;
} blocked8_axis;

// Values of whose rows pixels follow each other as rows do are flat: rows of `width` pixels,
// of which the last may have fewer.
typedef struct {
    const nacre_i8_blocked_impl *impl;  // of i8_conv_blocked
    size_t x_bytes;                     // of a code that steps meet: 1 or 2
    int x_unsigned;                     // such bytes have no sign
    size_t images, channels, filters, lanes;
    size_t group_channels, group_filters;  // of a group of the convolution
    size_t window;                         // codes that a sum has
    blocked8_axis d, h, w;  // a result has slices along d, of which each is computed by itself, like an image
    size_t pixels, width;   // of a slice, of a row
    int flat, plain, copied, shared;  // shared: steps lie in one copy for all chunks
    size_t in_blocks, out_blocks, taps, steps;
    size_t step_channels;             // of a block, or a divisor of it that groups of the convolution are made of
    size_t whole, groups, rest;       // steps of all these channels; groups of such a step, and of the last ones
    size_t run;                       // steps whose channels follow each other, which tiles take as one
    size_t unit;                      // bytes of a pixel that steps meet
    size_t blocks;                    // of filters that tiles take together, which meet the same steps
    size_t weight_count;              // packed ones
    size_t line, band_rows;           // pixels of a row of a copy, and rows
    size_t row_lines, slice_lines;    // of a copy: lines from a row to the next, from a slice under the kernel to the next
    size_t rows_each, bands, parts, groups_each;
    size_t first;                     // of the slices at hand
    dense_cut cut, last;
    size_t *step;
    size_t *place;  // of the weights of each group of blocks of filters
    int32_t *totals;
    char *copies;
    int moved;        // weights have zero points, counted as packed ones are: w_zero of filters
    int32_t *start, *w_zero;
    float *scale, *add;
    int32_t pad;   // what stands for the zero point of x
    uint8_t flip;  // of bytes of x on their way to a copy
    int x_signed;
    i8_conv_numbers numbers;
    const uint8_t *x;
    const int8_t *weights;
    uint8_t *y;
} blocked8_job;

static inline size_t blocked8_reach(const blocked8_axis *a, size_t n) { return (n - 1) * a->stride + (a->kernel - 1) * a->dilation + 1; }

// Axis d of three, of which the convolution has the last ones; those before have one position.
static inline blocked8_axis blocked8_axis_of(const nacre_conv *c, size_t d) {
    if (d + c->axes < 3) return (blocked8_axis){1, 1, 1, 1, 1, 0};
    d -= 3 - c->axes;
    return (blocked8_axis){c->in[d], c->out[d], c->kernel[d], c->stride[d], c->dilation[d], c->pad[d]};
}

// Pixels of a slice of the value.
static inline size_t blocked8_slice(const blocked8_job *j) { return j->flat ? j->pixels : j->h.in * j->w.in; }

static inline size_t blocked8_copy_lines(const blocked8_job *j) { return j->d.kernel * j->band_rows; }

// Copies the rows of a block that `rows` rows of a slice of the result from o on meet, as steps take
// them, with what stands for the zero point around. Image counts slices of images.
void nacre_blocked8_copy(const blocked8_job *j, size_t image, size_t block, size_t o, size_t rows, char *dst);

// Lays out start, w_zero, scale and add for all filters of whole blocks, and returns bytes.
size_t nacre_blocked8_place(blocked8_job *j, char *scratch);

// Reads the numbers of the command. Sums are those of the packed weights of filters.
void nacre_blocked8_put(blocked8_job *j, const nacre_call *c, const nacre_i8_conv_words *w, const int32_t *sums);

#endif
