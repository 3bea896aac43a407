// Convolutions of single pixels followed by depthwise ones, of blocked values (blocked.h): Sandler
// et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks" (2018).
#ifndef NACRE_CONV_EXPAND_H
#define NACRE_CONV_EXPAND_H

#include "conv/blocked.h"
#include "conv/dense.h"

// The words of command f32_conv_expand. The operands are x, the weights and bias of the first
// convolution, the weights and bias of the second, and y. x and y are blocked. Weights are as
// f32_conv_blocked and f32_conv_depthwise_blocked pack them. A bias is plain and may be absent. All
// are float32. The first convolution has one group, two axes, a kernel and strides of 1 and no
// padding; its result is the value of the second. Nothing is added to either. Only a few rows of
// the first result are in memory at a time.
typedef struct {
    nacre_conv_words expand, depthwise;
    int64_t block;  // at most NACRE_CONV_BLOCK
} nacre_conv_expand_words;

// A kernel row of op f32_conv_expand takes the blocks that both parts take.
typedef struct {
    nacre_f32_dense_fn *dense;
    nacre_f32_blocked_depthwise_fn *depthwise;
} nacre_f32_expand_impl;
typedef const nacre_f32_expand_impl *nacre_f32_expand_fn(void);
const nacre_f32_expand_impl *nacre_f32_conv_expand__scalar(void);

#endif
