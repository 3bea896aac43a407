#include <string.h>

#include "conv/conv.h"
#include "conv/space.h"

static void im2col_rows_scalar(const conv_run *runs, size_t count, size_t step, const float *x, size_t plane, size_t n,
                               size_t nr, float *dst, size_t ld) {
    for (size_t r = 0; r < n; r++, x += plane, dst += ld) {
        memset(dst, 0, nr * sizeof *dst);
        for (size_t i = 0; i < count; i++) {
            float *const d = dst + runs[i].lane;
            const float *const s = x + runs[i].offset;
            if (step == 1) {
                for (size_t l = 0; l < runs[i].lanes; l++) d[l] = s[l];
            } else {
                for (size_t l = 0; l < runs[i].lanes; l++) d[l] = s[l * step];
            }
        }
    }
}

#define OWN(name) im2col_scalar_##name
#define ROWS im2col_rows_scalar
#include "conv/f32_im2col.inc"
#undef OWN
#undef ROWS

void nacre_f32_im2col__scalar(const nacre_conv *c, const float *x, size_t k0, size_t k, size_t j0, size_t n, size_t nr,
                              float *dst) {
    im2col_scalar_panels(c, x, k0, k, j0, n, nr, dst);
}
