// The tiles of amx.h as memory and C. Using tiles outside nacre_amx_begin and nacre_amx_end aborts
// the program, as on a processor.
#ifndef NACRE_CORE_AMX_EMULATED_H
#define NACRE_CORE_AMX_EMULATED_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NACRE_AMX_TILES = 8 };

typedef union {
    uint8_t bytes[NACRE_AMX_ROWS][NACRE_AMX_LINE];
    int8_t i8[NACRE_AMX_ROWS][NACRE_AMX_LINE];
    uint16_t bf16[NACRE_AMX_ROWS][NACRE_AMX_LINE / 2];
    float f32[NACRE_AMX_ROWS][NACRE_AMX_LINE / 4];
    int32_t i32[NACRE_AMX_ROWS][NACRE_AMX_LINE / 4];
} nacre_amx_tile;

// Each file may have its own tiles, because its kernels begin, use and end them by themselves.
static _Thread_local struct {
    int begun;
    nacre_amx_tile tile[NACRE_AMX_TILES];
} nacre_amx_thread;

static inline void nacre_amx_begin(void) {
    memset(&nacre_amx_thread, 0, sizeof nacre_amx_thread);
    nacre_amx_thread.begun = 1;
}

static inline void nacre_amx_end(void) { nacre_amx_thread.begun = 0; }

static inline nacre_amx_tile *nacre_amx_at(int t) {
    if (!nacre_amx_thread.begun) abort();
    return &nacre_amx_thread.tile[t];
}

static inline void nacre_amx_load(int t, const void *p, size_t line) {
    nacre_amx_tile *y = nacre_amx_at(t);
    for (size_t i = 0; i < NACRE_AMX_ROWS; i++) memcpy(y->bytes[i], (const uint8_t *)p + i * line, NACRE_AMX_LINE);
}

static inline void nacre_amx_store(int t, void *p, size_t line) {
    const nacre_amx_tile *x = nacre_amx_at(t);
    for (size_t i = 0; i < NACRE_AMX_ROWS; i++) memcpy((uint8_t *)p + i * line, x->bytes[i], NACRE_AMX_LINE);
}

// nacre_amx_wide returns a bfloat16 as a float32. Subnormal numbers become zeros, as in TDPBF16PS.
static inline float nacre_amx_wide(uint16_t x) {
    const uint32_t bits = (x & 0x7f80) ? (uint32_t)x << 16 : (uint32_t)(x & 0x8000) << 16;
    float y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

static inline void nacre_amx_bf16(int tc, int ta, int tb) {
    enum { N = NACRE_AMX_LINE / 4 };
    nacre_amx_tile *c = nacre_amx_at(tc);
    const nacre_amx_tile *a = nacre_amx_at(ta), *b = nacre_amx_at(tb);
    float right[N][2][N];
    for (size_t k = 0; k < N; k++) {
        for (size_t j = 0; j < N; j++) right[k][0][j] = nacre_amx_wide(b->bf16[k][2 * j]);
        for (size_t j = 0; j < N; j++) right[k][1][j] = nacre_amx_wide(b->bf16[k][2 * j + 1]);
    }
    for (size_t i = 0; i < NACRE_AMX_ROWS; i++) {
        float even[N] = {0}, odd[N] = {0};
        for (size_t k = 0; k < N; k++) {
            const float x = nacre_amx_wide(a->bf16[i][2 * k]), y = nacre_amx_wide(a->bf16[i][2 * k + 1]);
            for (size_t j = 0; j < N; j++) even[j] += x * right[k][0][j];
            for (size_t j = 0; j < N; j++) odd[j] += y * right[k][1][j];
        }
        for (size_t j = 0; j < N; j++) c->f32[i][j] += even[j] + odd[j];
    }
}

static inline void nacre_amx_s8u8(int tc, int ta, int tb) {
    enum { N = NACRE_AMX_LINE / 4 };
    nacre_amx_tile *c = nacre_amx_at(tc);
    const nacre_amx_tile *a = nacre_amx_at(ta), *b = nacre_amx_at(tb);
    int32_t right[NACRE_AMX_LINE][N];
    for (size_t k = 0; k < NACRE_AMX_LINE; k++) {
        for (size_t j = 0; j < N; j++) right[k][j] = b->bytes[k / 4][4 * j + k % 4];
    }
    for (size_t i = 0; i < NACRE_AMX_ROWS; i++) {
        uint32_t sum[N];
        memcpy(sum, c->i32[i], sizeof sum);
        for (size_t k = 0; k < NACRE_AMX_LINE; k++) {
            for (size_t j = 0; j < N; j++) sum[j] += (uint32_t)(a->i8[i][k] * right[k][j]);
        }
        memcpy(c->i32[i], sum, sizeof sum);
    }
}

#define NACRE_AMX_ZERO(t) memset(nacre_amx_at(t), 0, sizeof(nacre_amx_tile))
#define NACRE_AMX_LOAD(t, p, line) nacre_amx_load(t, p, line)
#define NACRE_AMX_STORE(t, p, line) nacre_amx_store(t, p, line)
#define NACRE_AMX_BF16(c, a, b) nacre_amx_bf16(c, a, b)
#define NACRE_AMX_S8U8(c, a, b) nacre_amx_s8u8(c, a, b)

#endif
