//go:build cgo

package bindings

/*
#include "probe/probe.h"

// Package probe defines it; weak, so that cgo can link this package by itself.
#pragma weak nacre_probe_read

static inline size_t rate(nacre_fn f, size_t ops) { return ((nacre_rate_fn *)f)(ops); }

#cgo nocallback rate
#cgo noescape nacre_probe_read
#cgo nocallback nacre_probe_read
*/
import "C"

import "unsafe"

func rate(r *row, ops int) int { return int(C.rate(r.c().fn, C.size_t(ops))) }

func readAll(buf []byte) {
	C.nacre_probe_read(unsafe.Pointer(unsafe.SliceData(buf)), C.size_t(len(buf)))
}
