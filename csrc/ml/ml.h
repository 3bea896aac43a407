// Classical machine learning: distances to support vectors, and forests of decision trees.
#ifndef NACRE_ML_ML_H
#define NACRE_ML_ML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/kernel.h"
#include "core/numbers.h"
#include "core/parallel.h"

// ---- f32_rbf ----------------------------------------------------------------------

// NACRE_ML_PAD: rows of packed vectors, which are transposed, are padded to a multiple of it.
enum { NACRE_ML_PAD = 16 };

// nacre_rbf_function is a function of the square d of a distance.
typedef enum {
    NACRE_RBF_EXP,     // exp(-gamma * d)
    NACRE_RBF_SQUARE,  // d
    NACRE_RBF_ROOT,    // sqrt(d)
} nacre_rbf_function;

// The words of command f32_rbf, of x[rows, k] and n vectors v[n, k] to y[rows, n]:
//     y[r, j] = function(sum over i < k of (x[r, i] - v[j, i])^2)
// Operands are x, v and y. If packed is set, v is packed.
typedef struct {
    int64_t rows, k, n;
    double gamma;
    int64_t function;  // nacre_rbf_function
    int64_t packed;
} nacre_f32_rbf_words;

// A row of the op: out_j, for each j < n, of one x and the elements v[i * stride + j] of vector j.
// stride is a multiple of NACRE_ML_PAD. The padding of a row of v may hold any number.
typedef void nacre_f32_rbf_fn(const float *x, const float *v, size_t n, size_t stride, size_t k,
                              nacre_rbf_function function, float gamma, float *out);

// ---- f32_forest, f64_forest ---------------------------------------------------------

// Nodes of decision trees, of float32 and of float64. A sample x goes to next[0] if x[feature] <=
// value, else to next[1]. A NaN goes to next[0] if the node has NACRE_TREE_NAN_FIRST. In a leaf,
// both next are the leaf itself and feature is 0. The value of a leaf is a weight, or holds the
// number of a list of votes in its low bits.
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

// NACRE_TREE_LANES is the number of samples, or of trees, that descend together.
enum { NACRE_TREE_LANES = 16 };

// A row of the op: for each l < NACRE_TREE_LANES, it descends from node at[l] to a leaf and stores
// the leaf's number in at[l]. The features of lane l start at x[offset[l]]. No offset reaches 2^31,
// nor an offset plus a feature. missing means that a node has NACRE_TREE_NAN_FIRST.
typedef void nacre_f32_descend_fn(const nacre_f32_tree_node *nodes, const float *x, const uint32_t *offset,
                                  bool missing, uint32_t *at);
typedef void nacre_f64_descend_fn(const nacre_f64_tree_node *nodes, const double *x, const uint32_t *offset,
                                  bool missing, uint32_t *at);

typedef enum { NACRE_TREE_SUM, NACRE_TREE_MIN, NACRE_TREE_MAX } nacre_tree_aggregate;

// The words of commands f32_forest and f64_forest, of x[rows, features] to y[rows, targets]. The
// votes of trees are aggregated in the order of the trees. If no tree votes for a target, y is 0;
// else seen[rows, targets] is 1. Operands are x, nodes, roots[trees] of uint32, first, target,
// weight, y and seen. With one target, first, target, weight and seen may be left out, and the
// value of a leaf is a weight. Otherwise it is the number v of a list of votes, first[v] to before
// first[v + 1], each with weight[i] for target[i]. Every feature of a node is below features.
typedef struct {
    int64_t rows, features, targets, trees;
    int64_t aggregate;  // nacre_tree_aggregate
    int64_t missing;    // a node has NACRE_TREE_NAN_FIRST
} nacre_forest_words;

extern const nacre_entry nacre_f32_rbf_entry, nacre_f32_forest_entry, nacre_f64_forest_entry;

const nacre_kernel *nacre_ml_kernels(size_t *count);

#endif
