// Tables of taps.
#include "core/simd.h"
#include "resize/taps.h"

static size_t taps_pitch(size_t places) { return nacre_strides(places, NACRE_TAPS_LANES) * NACRE_TAPS_LANES; }

size_t nacre_taps_bytes(size_t taps, size_t places) { return 3 * taps * taps_pitch(places) * sizeof(float); }

nacre_taps nacre_taps_in(void *memory, size_t taps, size_t places) {
    const size_t pitch = taps_pitch(places), n = taps * pitch;
    float *const floats = memory;
    return (nacre_taps){1, pitch, (int32_t *)memory, floats + n, floats + 2 * n};
}

void nacre_taps_begin(nacre_taps *t, size_t n) {
    t->taps = 1;
    n = taps_pitch(n);
    NACRE_SIMD for (size_t i = 0; i < n; i++) {
        t->at[i] = 0;
        t->part[i] = 1;
        t->there[i] = 1;
    }
}
