// The loops of all elementwise kernels. The compiler turns them into vector code for the target
// region that contains them.
#ifndef NACRE_ELTWISE_LOOP_H
#define NACRE_ELTWISE_LOOP_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "core/simd.h"

// An iteration touches only its own index, even if y is x.
#define NACRE_EACH NACRE_SIMD for (size_t i = 0; i < n; i++)

// NACRE_EACH_OF(T) is NACRE_EACH over elements of type T. In WebAssembly only elements of 4 bytes
// become vectors, so that the module is smaller.
#if NACRE_WASM
#define NACRE_EACH_OF(T) \
    NACRE_SIMD_PRAGMA(omp simd if (sizeof(T) == 4)) for (size_t i = 0; i < n; i++)
#else
#define NACRE_EACH_OF(T) NACRE_EACH
#endif

// y = expr of x.
#define NACRE_CONVERT_LOOP(function, T, R, expr)                 \
    void function(const void *px, void *py, size_t n) {          \
        const T *const px_ = px;                                 \
        R *const py_ = py;                                       \
        NACRE_EACH_OF(T) {                                       \
            const T x = px_[i];                                  \
            py_[i] = (R)(expr);                                  \
        }                                                        \
    }

// y = expr of x and the parameters p and q.
#define NACRE_UNARY_LOOP(function, T, R, expr)                              \
    void function(const void *px, void *py, size_t n, const void *params) { \
        const T *const px_ = px;                                            \
        R *const py_ = py;                                                  \
        const T p = ((const T *)params)[0], q = ((const T *)params)[1];     \
        (void)p, (void)q;                                                   \
        NACRE_EACH_OF(T) {                                                  \
            const T x = px_[i];                                             \
            py_[i] = (R)(expr);                                             \
        }                                                                   \
    }

// Repeats the first of n elements of that many bytes.
void nacre_repeat(void *y, size_t size, size_t n);

// y = expr of a and b. Either may be one number.
#define NACRE_BINARY_LOOP(function, T, R, expr)                                                            \
    void function(const void *pa, size_t step_a, const void *pb, size_t step_b, void *py, size_t n) {      \
        const T *const pa_ = pa, *const pb_ = pb;                                                          \
        R *const py_ = py;                                                                                 \
        if (step_a != 0 && step_b != 0) {                                                                  \
            NACRE_EACH_OF(T) {                                                                             \
                const T a = pa_[i], b = pb_[i];                                                            \
                py_[i] = (R)(expr);                                                                        \
            }                                                                                              \
        } else if (step_a != 0) {                                                                          \
            const T b = *pb_;                                                                              \
            NACRE_EACH_OF(T) {                                                                             \
                const T a = pa_[i];                                                                        \
                py_[i] = (R)(expr);                                                                        \
            }                                                                                              \
        } else if (step_b != 0) {                                                                          \
            const T a = *pa_;                                                                              \
            NACRE_EACH_OF(T) {                                                                             \
                const T b = pb_[i];                                                                        \
                py_[i] = (R)(expr);                                                                        \
            }                                                                                              \
        } else if (n > 0) {                                                                                \
            const T a = *pa_, b = *pb_;                                                                    \
            *py_ = (R)(expr);                                                                              \
            nacre_repeat(py, sizeof *py_, n);                                                              \
        }                                                                                                  \
    }

#endif
