#include "norm/norm.h"

// The signature of the rows of each op.
typedef nacre_f32_softmax_fn norm_row_f32_softmax;
typedef nacre_f32_norm_fn norm_row_f32_layer_norm, norm_row_f32_skip_norm, norm_row_f32_embed_norm,
    norm_row_f32_group_norm, norm_row_f32_batch_norm;
typedef nacre_f32_lrn_fn norm_row_f32_lrn;

#define NACRE_FAMILY norm
#include "core/table.inc"
