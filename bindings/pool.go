//go:build cgo

package bindings

/*
#include "pool/pool.h"

#cgo noescape nacre_f32_pooling
#cgo nocallback nacre_f32_pooling
#cgo noescape nacre_f32_pooling_scratch
#cgo nocallback nacre_f32_pooling_scratch
*/
import "C"

import "unsafe"

func poolFamily() []Kernel {
	return family((*C.nacre_kernel)(unsafe.Pointer(&C.nacre_pool_kernels)), C.nacre_pool_kernel_count)
}

func (p *Pooling) c() (c C.nacre_pooling) {
	c.planes, c.axes = C.size_t(p.Planes), C.size_t(len(p.Axes))
	c.max, c.count_pad = C.bool(p.Max), C.bool(p.CountPad)
	for i, a := range p.Axes {
		c.axis[i] = C.nacre_pooling_axis{in: C.size_t(a.In), out: C.size_t(a.Out), taps: C.size_t(a.Taps), stride: C.size_t(a.Stride),
			dilation: C.size_t(a.Dilation), pad: C.size_t(a.Pad), pad_end: C.size_t(a.PadEnd)}
	}
	return c
}

// Scratch is how many floats PoolingF32 needs beside input and output.
func (p *Pooling) Scratch(threads *Pool) int {
	c := p.c()
	return int(C.nacre_f32_pooling_scratch(&c, C.size_t(threads.Threads())))
}

// PoolingF32 computes p on x with kernels of ops f32_pooling_rows and
// f32_pooling_cols. Scratch has the length that Scratch says.
func PoolingF32(rows, cols Kernel, threads *Pool, x []float32, p *Pooling, scratch, out []float32) {
	c := p.c()
	C.nacre_f32_pooling(C.nacre_f32_pooling_rows_fn(rows.fn()), C.nacre_f32_pooling_cols_fn(cols.fn()), threads.ptr(), f32(x), &c, f32(scratch), f32(out))
}
