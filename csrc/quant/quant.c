#include "quant/i8_winograd.h"
#include "quant/quant.h"
#include "quant/search.h"

// The signature of the kernel rows of each op.
typedef nacre_i8_gemm_fn quant_row_i8_gemm, quant_row_i8_gemv, quant_row_i8_conv_gemv, quant_row_i8_conv_gemm,
    quant_row_i8_conv_depthwise;
typedef nacre_f32_quantize_fn quant_row_f32_quantize, quant_row_f32_dequantize, quant_row_f32_quantize_dynamic,
    quant_row_i8_pair;
typedef nacre_i8_blocked_fn quant_row_i8_conv_blocked;
typedef nacre_i8_winograd_fn quant_row_i8_conv_winograd;
typedef nacre_i8_depthwise_fn quant_row_i8_conv_depthwise_blocked;
typedef nacre_i8_lookup_fn quant_row_i8_lookup;
typedef nacre_f32_search_fn quant_row_f32_search;
typedef nacre_f32_whole_fn quant_row_f32_whole;

#define NACRE_FAMILY quant
#include "core/table.inc"
