#include "conv/conv.h"

#include "conv/blocked.h"
#include "conv/codes.h"
#include "conv/command.h"
#include "conv/dense.h"
#include "conv/expand.h"
#include "conv/winograd.h"
#include "core/simd.h"

extern const nacre_entry nacre_f32_conv_depthwise_entry, nacre_f32_conv_depthwise_blocked_entry,
    nacre_f32_conv_blocked_entry, nacre_f32_conv_blocked_halves_entry, nacre_f32_conv_parts_entry,
    nacre_f32_conv_parts_halves_entry, nacre_f32_conv_expand_entry, nacre_f32_conv_winograd_entry,
    nacre_f32_winograd_weights_entry, nacre_f32_conv_weights_entry, nacre_f32_conv_gemm_entry, nacre_f32_conv_transpose_entry, nacre_f64_conv_gemm_entry, nacre_f64_conv_entry;

// The signature of the kernel rows of each op.
typedef nacre_f32_im2col_fn conv_row_f32_conv_gemm;
typedef nacre_f32_depthwise_fn conv_row_f32_conv_depthwise;
typedef nacre_f32_blocked_depthwise_fn conv_row_f32_conv_depthwise_blocked;
typedef nacre_f32_dense_fn conv_row_f32_conv_blocked;
typedef nacre_f32_expand_fn conv_row_f32_conv_expand;
typedef nacre_f32_winograd_fn conv_row_f32_conv_winograd, conv_row_f32_winograd_weights;
typedef nacre_f32_codes_fn conv_row_f32_conv_weights;
typedef nacre_f32_col2im_fn conv_row_f32_conv_transpose;
typedef nacre_f64_im2col_fn conv_row_f64_conv_gemm;
typedef nacre_f64_conv_fn conv_row_f64_conv, conv_row_f64_conv_transpose;

#define NACRE_FAMILY conv
#include "core/table.inc"

// ---- shared by commands ----

enum { WIDEN_CHUNK = 1 << 15, STORE_PIECE = 1024 };

typedef struct {
    nacre_half_convert *widen;
    nacre_dtype type;
    const void *src;
    float *dst;
    size_t n;
} widen_job;

static void widen_chunk(void *job, size_t chunk, size_t thread) {
    (void)thread;
    const widen_job *const j = job;
    const size_t at = chunk * WIDEN_CHUNK;
    j->widen(conv_at(j->type, j->src, at), j->dst + at, nacre_min(WIDEN_CHUNK, j->n - at));
}

const float *nacre_conv_floats(nacre_team *team, const nacre_half *half, nacre_dtype type, size_t n, const void *src,
                               float **scratch) {
    if (src == NULL || type == NACRE_DTYPE_f32) return src;
    widen_job j = {half->widen[type], type, src, *scratch, n};
    *scratch += nacre_align_floats(n);
    nacre_parallel(team, nacre_ceil_div(n, WIDEN_CHUNK), widen_chunk, &j);
    return j.dst;
}

void nacre_conv_store(const nacre_half *half, nacre_dtype type, const nacre_f32_finish *finish, const void *add,
                      size_t at, size_t n, float *sums, void *y) {
    float list[STORE_PIECE];
    for (size_t i = 0; i < n && add != NULL; i += STORE_PIECE) {
        const size_t count = nacre_min(STORE_PIECE, n - i);
        half->widen[type](conv_at(type, add, at + i), list, count);
        NACRE_SIMD for (size_t k = 0; k < count; k++) sums[i + k] += list[k];
    }
    for (size_t i = 0; i < n && finish->clamp; i++) {
        if (sums[i] < finish->low) sums[i] = finish->low;
        if (sums[i] > finish->high) sums[i] = finish->high;
    }
    if (finish->map != NULL) finish->map(sums, sums, n, finish->params);
    if (type != NACRE_DTYPE_f32) half->narrow[type](sums, conv_at(type, y, at), n);
}
