// Code shared by the commands of float32 convolutions.
#ifndef NACRE_CONV_COMMAND_H
#define NACRE_CONV_COMMAND_H

#include <stddef.h>

#include "conv/conv.h"
#include "conv/space.h"

enum { CONV_X, CONV_W, CONV_BIAS, CONV_ADD, CONV_Y, CONV_OPERANDS };

typedef void conv_map(const void *x, void *y, size_t n, const void *params);

// Returns the address of element i of p, an array of elements of the type.
static inline void *conv_at(nacre_dtype type, const void *p, size_t i) {
    return (char *)p + i * nacre_float_size(type);
}

// Returns the elements of a filter of a convolution.
static inline size_t conv_depth(const nacre_conv *c) { return c->channels * conv_count(c->kernel, c->axes); }

// Reports whether the columns of a value are the value itself.
static inline int conv_is_pointwise(const nacre_conv *c) {
    for (size_t d = 0; d < c->axes; d++) {
        if (c->kernel[d] != 1 || c->stride[d] != 1 || c->pad[d] != 0 || c->in[d] != c->out[d]) return 0;
    }
    return 1;
}

static inline int conv_is_empty(const nacre_conv *c) {
    return c->images * c->groups * c->filters == 0 || conv_count(c->out, c->axes) == 0;
}

// Returns the operations after the sums, except for the added operand.
static inline nacre_f32_finish conv_finish(const nacre_conv_words *w) {
    return (nacre_f32_finish){.clamp = w->clamp != 0, .low = (float)w->low, .high = (float)w->high,
                              .map = (conv_map *)nacre_part_fn(w->map), .params = w->params};
}

// Returns n elements of an operand as floats: the operand itself, or a converted copy in scratch,
// which is advanced past it. NULL stays NULL.
const float *nacre_conv_floats(nacre_team *team, const nacre_half *half, nacre_dtype type, size_t n, const void *src,
                               float **scratch);

// Stores elements at..at+n-1 of a result from their sums, which it overwrites. It adds the elements
// of add, of the result's type, unless add is NULL, and applies finish. add may be y.
void nacre_conv_store(const nacre_half *half, nacre_dtype type, const nacre_f32_finish *finish, const void *add,
                      size_t at, size_t n, float *sums, void *y);

#endif
