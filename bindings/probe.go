//go:build cgo

package bindings

/*
#include "probe/probe.h"

// Package probe defines these; weak, so that cgo can link this package by itself.
#pragma weak nacre_probe_read

static inline size_t rate(nacre_fn f, size_t ops) { return ((nacre_rate_fn *)f)(ops); }

#cgo nocallback rate
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
func ProbeFMA(isa ISA) (float64, error) { return probe("f32_fma_rate", isa, 50e6) }

// ProbeDot is ProbeFMA for products of bytes that are summed in int32. The rate is the upper bound of
// dense int8 kernels.
func ProbeDot(isa ISA) (float64, error) { return probe("i8_dot_rate", isa, 400e6) }

// probe returns the rate of an op, in operations per second.
func probe(op string, isa ISA, ops float64) (float64, error) {
	k, err := Select(op, isa)
	if err != nil {
		return 0, err
	}
	C.rate(k.fn(), C.size_t(ops)) // until the clock rate settles
	start := time.Now()
	done := C.rate(k.fn(), C.size_t(ops))
	return float64(done) / time.Since(start).Seconds(), nil
}

// ProbeRead returns the rate, in bytes per second, at which one thread reads buf. To measure
// memory, buf must be much larger than the caches; to measure a cache, as large as it.
func ProbeRead(buf []byte) float64 {
	start := time.Now()
	C.nacre_probe_read(unsafe.Pointer(unsafe.SliceData(buf)), C.size_t(len(buf)))
	return float64(len(buf)) / time.Since(start).Seconds()
}
