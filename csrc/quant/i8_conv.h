// Numbers of convolutions of codes, shared by commands for plain and for blocked values.
#ifndef NACRE_QUANT_I8_CONV_H
#define NACRE_QUANT_I8_CONV_H

#include "quant/numbers.h"

enum {
    CONV8_X, CONV8_X_SCALE, CONV8_X_ZERO, CONV8_W, CONV8_W_SCALE, CONV8_W_ZERO, CONV8_Y_SCALE, CONV8_Y_ZERO, CONV8_BIAS,
    CONV8_ADD, CONV8_ADD_SCALE, CONV8_ADD_ZERO, CONV8_STAGE_SCALE, CONV8_STAGE_ZERO, CONV8_Y, CONV8_OPERANDS
};

// The numbers of whole tensors, and the steps after sums times scales, but for row_add.
typedef struct {
    quant_tensor x, y, add;
    float step;  // scale of sums times scales: of the stage, or of y
    nacre_i8_then then;
} i8_conv_numbers;

static inline i8_conv_numbers i8_conv_numbers_of(const nacre_call *c, const nacre_i8_conv_words *w) {
    i8_conv_numbers n = {
        .x = quant_tensor_of(c, CONV8_X_SCALE, w->x_scale, w->x_signed ? NACRE_DTYPE_i8 : NACRE_DTYPE_u8),
        .y = quant_tensor_of(c, CONV8_Y_SCALE, w->y_scale, (nacre_dtype)w->y),
        .add = quant_tensor_of(c, CONV8_ADD_SCALE, w->add_scale, w->add_signed ? NACRE_DTYPE_i8 : NACRE_DTYPE_u8),
        .then = {.codes = nacre_operand(c, CONV8_ADD), .is_signed = w->add_signed != 0, .low = -INFINITY,
                 .high = INFINITY},
    };
    n.step = n.y.scale;
    n.then.ratio = n.add.scale / n.y.scale;
    if (w->staged) {
        const nacre_dtype type = w->stage_signed ? NACRE_DTYPE_i8 : NACRE_DTYPE_u8;
        const quant_tensor stage = quant_tensor_of(c, CONV8_STAGE_SCALE, w->stage_scale, type);
        const float low = (float)((w->stage_signed ? -128 : 0) - stage.zero);
        n.step = stage.scale;
        n.then.stage = (nacre_i8_stage){1, low, low + 255, stage.scale / n.y.scale,
                                        -((float)n.add.zero * n.then.ratio)};
    }
    if (w->clamp) {
        n.then.low = (float)w->low / n.y.scale;
        n.then.high = (float)w->high / n.y.scale;
    }
    return n;
}

// i8_conv_scale returns the factor of the sums of a filter, and i8_conv_add the number then added,
// both in units of step.
static inline float i8_conv_scale(const nacre_call *c, const nacre_i8_conv_words *w, const i8_conv_numbers *n,
                                  size_t filter) {
    const void *const scale = nacre_operand(c, CONV8_W_SCALE);
    return n->x.scale * (scale == NULL ? 1
                         : quant_float((nacre_dtype)w->w_scale, scale, w->w_scales == 1 ? 0 : filter)) / n->step;
}

static inline float i8_conv_add(const nacre_call *c, const nacre_i8_conv_words *w, const i8_conv_numbers *n,
                                size_t filter) {
    const float *const bias = nacre_operand(c, CONV8_BIAS);
    float add = w->bias_float && bias != NULL ? bias[filter] / n->step : 0;
    if (n->then.codes != NULL && !n->then.stage.there) add -= (float)n->add.zero * n->then.ratio;
    return add;
}

#endif
