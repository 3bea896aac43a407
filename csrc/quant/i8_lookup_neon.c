// A table as four parts of 64 bytes, each of which leaves what lies outside as it is.
#include "core/arm.h"
#include "quant/quant.h"

#if NACRE_AARCH64

void nacre_i8_lookup__neon(size_t n, const uint8_t *x, const uint8_t *table, uint8_t *y) {
    uint8x16x4_t parts[4];
    for (int h = 0; h < 4; h++) parts[h] = vld1q_u8_x4(table + 64 * h);
    const uint8x16_t part = vdupq_n_u8(64);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        uint8x16_t at = vld1q_u8(x + i), found = vqtbl4q_u8(parts[0], at);
        for (int h = 1; h < 4; h++) {
            at = vsubq_u8(at, part);
            found = vqtbx4q_u8(found, parts[h], at);
        }
        vst1q_u8(y + i, found);
    }
    for (; i < n; i++) y[i] = table[x[i]];
}

#endif
