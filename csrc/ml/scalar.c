// The oracle of f32_rbf, and the only variant of forests.
#include <math.h>

#include "core/vec.h"
#include "ml/ml.h"

// DESCEND moves all lanes one step at a time, including lanes that have reached a leaf. So no
// branch depends on a sample, and the loads of all lanes overlap.
#define DESCEND(type, T)                                                                                                      \
    NACRE_INLINE void type##_descend_scalar(const nacre_##type##_tree_node *nodes, const T *x, const uint32_t *offset,        \
                                            bool missing, uint32_t *at) {                                                     \
        for (;;) {                                                                                                            \
            uint32_t moved = 0;                                                                                               \
            for (int l = 0; l < NACRE_TREE_LANES; l++) {                                                                      \
                const nacre_##type##_tree_node *n = nodes + at[l];                                                            \
                const T v = x[(size_t)offset[l] + (missing ? n->feature & ~NACRE_TREE_NAN_FIRST : n->feature)];               \
                unsigned second = !(v <= n->value);                                                                           \
                if (missing) second &= !((n->feature >> 31) & (unsigned)(v != v));                                            \
                const uint32_t to = n->next[second];                                                                          \
                moved |= to ^ at[l];                                                                                          \
                at[l] = to;                                                                                                   \
            }                                                                                                                 \
            if (moved == 0) return;                                                                                           \
        }                                                                                                                     \
    }                                                                                                                         \
    void nacre_##type##_descend__scalar(const nacre_##type##_tree_node *nodes, const T *x, const uint32_t *offset,            \
                                        bool missing, uint32_t *at) {                                                         \
        if (missing) {                                                                                                        \
            type##_descend_scalar(nodes, x, offset, true, at);                                                                \
        } else {                                                                                                              \
            type##_descend_scalar(nodes, x, offset, false, at);                                                               \
        }                                                                                                                     \
    }

DESCEND(f32, float)
DESCEND(f64, double)

#undef DESCEND

void nacre_f32_rbf__scalar(const float *x, const float *v, size_t n, size_t stride, size_t k,
                           nacre_rbf_function function, float gamma, float *out) {
    for (size_t j = 0; j < n; j++) {
        float sum = 0;
        for (size_t i = 0; i < k; i++) {
            const float d = x[i] - v[i * stride + j];
            sum += d * d;
        }
        out[j] = function == NACRE_RBF_SQUARE ? sum : function == NACRE_RBF_ROOT ? sqrtf(sum) : expf(-gamma * sum);
    }
}
