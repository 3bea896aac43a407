#include "reduce/reduce.h"

typedef nacre_f32_reduce_fn reduce_row_f32_reduce;
typedef nacre_f32_arg_fn reduce_row_f32_arg;
typedef nacre_f32_scan_fn reduce_row_f32_scan;
typedef nacre_f32_topk_fn reduce_row_f32_topk;
typedef nacre_int_reduce_fn reduce_row_i64_reduce, reduce_row_i32_reduce;

#define NACRE_FAMILY reduce
#include "core/table.inc"
