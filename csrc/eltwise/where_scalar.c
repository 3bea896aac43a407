// Selection by element width: the elements are only moved.
#include "core/target.h"
#include "eltwise/eltwise.h"
#include "eltwise/loop.h"

typedef struct {
    uint64_t half[2];
} nacre_pair64;

// One loop per way of stepping, so that each can be made vector code.
#define LOOP(C, A, B)                                        \
    {                                                        \
        NACRE_EACH y[i] = cond[i * (C)] != 0 ? a[i * (A)] : b[i * (B)]; \
        return;                                              \
    }
#define WHERE(name, T)                                                                                      \
    void nacre_where_##name##__scalar(const uint8_t *cond, size_t step_cond, const void *pa, size_t step_a, \
                                      const void *pb, size_t step_b, void *py, size_t n) {                  \
        const T *const a = pa, *const b = pb;                                                               \
        T *const y = py;                                                                                    \
        if (step_cond != 0 && step_a != 0 && step_b != 0) LOOP(1, 1, 1)                                     \
        if (step_cond != 0 && step_a != 0) LOOP(1, 1, 0)                                                    \
        if (step_cond != 0 && step_b != 0) LOOP(1, 0, 1)                                                    \
        LOOP(step_cond, step_a, step_b)                                                                     \
    }
WHERE(1, uint8_t)
WHERE(2, uint16_t)
WHERE(4, uint32_t)
WHERE(8, uint64_t)
WHERE(16, nacre_pair64)
#undef WHERE
#undef LOOP
