// The oracles of i8_lookup and of f32_quantize.
#include "core/simd.h"
#include "core/vec.h"
#include "quant/quant.h"

// The oracle of i8_lookup.
void nacre_i8_lookup__scalar(size_t n, const uint8_t *x, const uint8_t *table, uint8_t *y) {
    for (size_t i = 0; i < n; i++) y[i] = table[x[i]];
}

// The oracle of f32_quantize.
#define K(name) f32_quantize_##name##__scalar
#define KERNEL(name) nacre_##name##__scalar
#include "quant/f32_quantize.inc"
