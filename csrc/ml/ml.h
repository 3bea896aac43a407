// Classical machine learning: distances to support vectors, forests of decision
// trees.
#ifndef NACRE_ML_ML_H
#define NACRE_ML_ML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/kernel.h"
#include "core/parallel.h"

// Rows of support vectors that are transposed are padded to a multiple of this.
enum { NACRE_ML_PAD = 16 };

// Op f32_rbf, for each j < n:
//     out_j = exp(-gamma * sum over i < k of (x_i - v[i * stride + j])^2)
// stride is n rounded up to NACRE_ML_PAD, and what lies behind n in a row of v is
// any number.
typedef void (*nacre_f32_rbf_fn)(const float *x, const float *v, size_t n, size_t stride, size_t k, float gamma, float *out);

// The same for each row of x[rows, k], to out[rows, n].
void nacre_f32_rbf(nacre_f32_rbf_fn kernel, nacre_team *team, const float *x, size_t rows, size_t k, const float *v, size_t n, float gamma,
                   float *out);

// Nodes of decision trees, of float32 and of float64. A sample x goes on at next[0]
// if x[feature] <= value and else at next[1]; a NaN goes on at next[0] if the node
// has NACRE_TREE_NAN_FIRST. A leaf is a node whose next are both itself; its
// feature is 0 and its value what the sample gets: a weight, or the number of a
// list of votes in the low bits.
typedef struct {
    float value;
    uint32_t feature;  // with the flag
    uint32_t next[2];
} nacre_f32_tree_node;

typedef struct {
    double value;
    uint32_t feature;
    uint32_t next[2];
} nacre_f64_tree_node;

#define NACRE_TREE_NAN_FIRST 0x80000000u

// Samples, or trees, that go down at the same time.
enum { NACRE_TREE_LANES = 16 };

// Op f32_descend, for each l < NACRE_TREE_LANES: from node at[l] down to a leaf,
// whose number replaces at[l], with the features from x[offset[l]] on. No offset
// and no feature beyond it reaches 2^31. missing says that some node has
// NACRE_TREE_NAN_FIRST.
typedef void (*nacre_f32_descend_fn)(const nacre_f32_tree_node *nodes, const float *x, const uint32_t *offset, bool missing, uint32_t *at);
// Op f64_descend
typedef void (*nacre_f64_descend_fn)(const nacre_f64_tree_node *nodes, const double *x, const uint32_t *offset, bool missing, uint32_t *at);

typedef enum { NACRE_TREE_SUM, NACRE_TREE_MIN, NACRE_TREE_MAX } nacre_tree_aggregate;

// A forest. What the trees give a sample comes together in the order of the trees.
// With one target and first NULL the value of a leaf is a weight; else it is the
// number v of the votes first[v] to before first[v + 1], each a weight for a target.
typedef struct {
    nacre_f32_descend_fn descend;
    const nacre_f32_tree_node *nodes;
    const uint32_t *roots;
    size_t trees;
    bool missing;
    nacre_tree_aggregate aggregate;
    size_t targets;
    const uint32_t *first, *target;
    const float *weight;
} nacre_f32_forest;

typedef struct {
    nacre_f64_descend_fn descend;
    const nacre_f64_tree_node *nodes;
    const uint32_t *roots;
    size_t trees;
    bool missing;
    nacre_tree_aggregate aggregate;
    size_t targets;
    const uint32_t *first, *target;
    const double *weight;
} nacre_f64_forest;

// out[rows, targets] of the rows of x[rows, features], 0 where no tree has a vote;
// seen[rows, targets] says by 1 where one has. Seen is NULL where first is. Every
// feature of a node is below features.
void nacre_f32_forest_run(const nacre_f32_forest *f, nacre_team *team, const float *x, size_t rows, size_t features, float *out,
                          uint8_t *seen);
void nacre_f64_forest_run(const nacre_f64_forest *f, nacre_team *team, const double *x, size_t rows, size_t features, double *out,
                          uint8_t *seen);

const nacre_kernel *nacre_ml_kernels(size_t *count);

#endif
