//go:build cgo

package bindings

/*
#include "ml/ml.h"

// Package ml defines these; weak, so that cgo can link this package by itself.
#pragma weak nacre_f32_rbf
#pragma weak nacre_f32_forest_run
#pragma weak nacre_f64_forest_run

static inline void forest_f32(nacre_fn descend, nacre_team *pool, const void *nodes, const uint32_t *roots, size_t trees, bool missing,
                              int aggregate, size_t targets, const uint32_t *first, const uint32_t *target, const float *weight,
                              const float *x, size_t rows, size_t features, float *out, uint8_t *seen) {
    const nacre_f32_forest f = {(nacre_f32_descend_fn)descend, nodes, roots, trees, missing, (nacre_tree_aggregate)aggregate, targets,
                                first, target, weight};
    nacre_f32_forest_run(&f, pool, x, rows, features, out, seen);
}

static inline void forest_f64(nacre_fn descend, nacre_team *pool, const void *nodes, const uint32_t *roots, size_t trees, bool missing,
                              int aggregate, size_t targets, const uint32_t *first, const uint32_t *target, const double *weight,
                              const double *x, size_t rows, size_t features, double *out, uint8_t *seen) {
    const nacre_f64_forest f = {(nacre_f64_descend_fn)descend, nodes, roots, trees, missing, (nacre_tree_aggregate)aggregate, targets,
                                first, target, weight};
    nacre_f64_forest_run(&f, pool, x, rows, features, out, seen);
}

_Static_assert(sizeof(nacre_f32_tree_node) == 16 && sizeof(nacre_f64_tree_node) == 24, "TreeNode has the same size");

#cgo noescape nacre_f32_rbf
#cgo nocallback nacre_f32_rbf
#cgo noescape forest_f32
#cgo nocallback forest_f32
#cgo noescape forest_f64
#cgo nocallback forest_f64
*/
import "C"

import "unsafe"

// RBFF32 computes out[rows,n], exp(-gamma d) of the squared distances d between
// the rows of x[rows,k] and n vectors, with a kernel of op f32_rbf. V is the
// vectors transposed, [k,n] with rows padded to a multiple of MLPad.
func RBFF32(k Kernel, p *Pool, x []float32, rows, width int, v []float32, n int, gamma float32, out []float32) {
	C.nacre_f32_rbf(C.nacre_f32_rbf_fn(k.fn()), p.ptr(), f32(x), C.size_t(rows), C.size_t(width), f32(v), C.size_t(n), C.float(gamma), f32(out))
}

// ForestF32 computes out[rows,targets] of x[rows,features]. Where f.First is not
// nil seen[rows,targets] says by 1 which of them some tree has a vote for.
func ForestF32(f *Forest[float32], p *Pool, x []float32, rows, features int, out []float32, seen []byte) {
	C.forest_f32(f.Kernel.fn(), p.ptr(), unsafe.Pointer(unsafe.SliceData(f.Nodes)), u32(f.Roots), C.size_t(len(f.Roots)), C.bool(f.Missing),
		C.int(f.Aggregate), C.size_t(f.Targets), u32(f.First), u32(f.Target), f32(f.Weight), f32(x), C.size_t(rows), C.size_t(features),
		f32(out), (*C.uint8_t)(unsafe.SliceData(seen)))
}

// ForestF64 is ForestF32 in float64.
func ForestF64(f *Forest[float64], p *Pool, x []float64, rows, features int, out []float64, seen []byte) {
	C.forest_f64(f.Kernel.fn(), p.ptr(), unsafe.Pointer(unsafe.SliceData(f.Nodes)), u32(f.Roots), C.size_t(len(f.Roots)), C.bool(f.Missing),
		C.int(f.Aggregate), C.size_t(f.Targets), u32(f.First), u32(f.Target), f64(f.Weight), f64(x), C.size_t(rows), C.size_t(features),
		f64(out), (*C.uint8_t)(unsafe.SliceData(seen)))
}

// u32 is the address of the first element; NULL for a nil slice.
func u32(s []uint32) *C.uint32_t { return (*C.uint32_t)(unsafe.SliceData(s)) }

func f64(s []float64) *C.double { return (*C.double)(unsafe.SliceData(s)) }
