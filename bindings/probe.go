//go:build cgo

package bindings

/*
#include "probe/probe.h"

// Package probe defines these; weak, so that cgo can link this package by itself.
#pragma weak nacre_probe_read

static inline size_t fma_rate(nacre_fn f, size_t ops) { return ((nacre_f32_fma_rate_fn *)f)(ops); }

#cgo nocallback fma_rate
#cgo noescape nacre_probe_read
#cgo nocallback nacre_probe_read
*/
import "C"

import (
	"time"
	"unsafe"
)

// ProbeFMA returns the rate, in operations per second, of float32 multiply-adds on one thread, with
// the best levels in isa. A multiply-add is two operations. The rate is the upper bound of dense
// float32 kernels. ProbeFMA takes about a millisecond.
func ProbeFMA(isa ISA) (float64, error) {
	k, err := Select("f32_fma_rate", isa)
	if err != nil {
		return 0, err
	}
	const ops = 50e6
	C.fma_rate(k.fn(), ops) // until the clock rate settles
	start := time.Now()
	done := C.fma_rate(k.fn(), ops)
	return float64(done) / time.Since(start).Seconds(), nil
}

// ProbeRead returns the rate, in bytes per second, at which one thread reads buf. To measure
// memory, buf must be much larger than the caches; to measure a cache, as large as it.
func ProbeRead(buf []byte) float64 {
	start := time.Now()
	C.nacre_probe_read(unsafe.Pointer(unsafe.SliceData(buf)), C.size_t(len(buf)))
	return float64(len(buf)) / time.Since(start).Seconds()
}
