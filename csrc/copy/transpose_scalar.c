#include "copy/transpose.h"

#define TRANSPOSE_SCALAR(name, T)                                                                                 \
    void name(const void *src, void *dst, size_t rows, size_t cols, ptrdiff_t src_stride, ptrdiff_t dst_stride) { \
        const T *const s = src;                                                                                   \
        T *const d = dst;                                                                                         \
        for (size_t c = 0; c < cols; c++) {                                                                       \
            for (size_t r = 0; r < rows; r++) {                                                                   \
                d[(ptrdiff_t)c * dst_stride + (ptrdiff_t)r] = s[(ptrdiff_t)r * src_stride + (ptrdiff_t)c];        \
            }                                                                                                     \
        }                                                                                                         \
    }

TRANSPOSE_SCALAR(nacre_w1_transpose__scalar, uint8_t)
TRANSPOSE_SCALAR(nacre_w2_transpose__scalar, uint16_t)
TRANSPOSE_SCALAR(nacre_w4_transpose__scalar, uint32_t)
TRANSPOSE_SCALAR(nacre_w8_transpose__scalar, uint64_t)
TRANSPOSE_SCALAR(nacre_w16_transpose__scalar, nacre_w16)

#undef TRANSPOSE_SCALAR
