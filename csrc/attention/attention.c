#include "attention/attention.h"

extern const nacre_entry nacre_attention_gemv_entry, nacre_attention_tiles_entry, nacre_attention_amx_entry,
    nacre_f64_attention_entry, nacre_rotary_entry,
    nacre_linear_attention_entry, nacre_causal_conv_entry, nacre_attention_lengths_entry, nacre_attention_append_entry,
    nacre_codes_widen_entry, nacre_tensor_scatter_entry;

// The signature of the kernel rows of each op.
typedef nacre_f32_attention_fn attention_row_f32_attention;
typedef nacre_f32_rotary_fn attention_row_f32_rotary;
typedef nacre_f32_linear_attention_fn attention_row_f32_linear_attention;
typedef nacre_f32_causal_conv_fn attention_row_f32_causal_conv;

#define NACRE_FAMILY attention
#include "core/table.inc"
