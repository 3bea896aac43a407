// Convolutions of blocked values with groups inside blocks, such as depthwise ones.
//
// A value [images][channels][rows][columns] blocked by c is [images][blocks][rows] [columns][c]:
// block b holds the channels from b*c on. In the last block, the lanes after the last channel are
// undefined.
#ifndef NACRE_CONV_BLOCKED_H
#define NACRE_CONV_BLOCKED_H

#include "conv/conv.h"

enum { NACRE_CONV_BLOCK = 64 };  // largest number of channels of a block

// The words of command f32_conv_depthwise_blocked. It has the operands of f32_conv_depthwise: x,
// add and y are blocked, w is written by pack, and bias, which may be absent, is plain. All are
// float32. Every group has as many filters as channels, a divisor of the block. There are at most
// three axes. add may be y.
typedef struct {
    nacre_conv_words conv;
    int64_t block;  // at most NACRE_CONV_BLOCK
} nacre_conv_blocked_words;

// Pixels first..stop-1 of a row of the result.
typedef struct {
    size_t first, stop;
} nacre_conv_span;

// Consecutive rows of the result of one block that meet the same rows of the kernel.
typedef struct {
    size_t rows;
    const float *x;        // the row of the value under the first row of the kernel that meets the value
    size_t next;           // floats from the value of one row to the value of the next
    size_t kernel_h;       // rows of the kernel that meet the value
    size_t gap;            // floats from one such row of the value to the next
    const float *w;        // of the first of them; [kernel_h][kernel_w][channels][block]
    size_t channels;       // of a group
    const int32_t *from;   // [channels][lanes]: the lane of each channel of a lane's group
    const float *bias;     // a block
    const float *add;      // in the layout of y, or NULL
    float *y;              // [rows][out][block]
    size_t block;
    size_t in, out, kernel_w, stride, dilation, pad;  // of the columns
    const nacre_conv_span *meet;  // the pixels that meet no padding under each column of the kernel
    size_t begin, stop;           // pixels that meet no padding under any column: begin..stop-1; stop >= begin
    const nacre_f32_finish *finish;  // only its clamp is used
} nacre_f32_blocked_rows;

// y[i][o] = clamp(bias + sum of w[ky][kx][k] x[i*next + ky*gap][o*stride + kx*dilation - pad] +
// add[i][o]), lane by lane, over x channels k of the lane's group. A kernel row of op
// f32_conv_depthwise_blocked with l lanes takes blocks that are multiples of l and, unless l is 1,
// groups that divide l.
typedef struct {
    size_t lanes;
    void (*rows)(const nacre_f32_blocked_rows *r);
} nacre_f32_blocked_depthwise_impl;
typedef const nacre_f32_blocked_depthwise_impl *nacre_f32_blocked_depthwise_fn(void);
const nacre_f32_blocked_depthwise_impl *nacre_f32_depthwise_blocked__scalar(void);

#endif
