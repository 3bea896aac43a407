//go:build cgo

package bindings

/*
#include "pool/pool.h"

static inline nacre_i8_pooling byte_pooling(nacre_fn f, const nacre_pooling *p, size_t inner, const nacre_i8_mean *mean) {
    return (nacre_i8_pooling){((nacre_i8_pooling_fn *)f)(), *p, inner, *mean};
}

static inline size_t byte_pooling_scratch(nacre_fn f, const nacre_pooling *p, size_t inner, const nacre_i8_mean *mean, size_t threads) {
    const nacre_i8_pooling o = byte_pooling(f, p, inner, mean);
    return nacre_i8_pooling_scratch(&o, threads);
}

static inline void byte_pooling_run(nacre_fn f, const nacre_pooling *p, size_t inner, const nacre_i8_mean *mean, nacre_team *pool,
                                    const void *x, void *scratch, void *y) {
    const nacre_i8_pooling o = byte_pooling(f, p, inner, mean);
    nacre_i8_pooling_run(&o, pool, x, scratch, y);
}

#cgo noescape byte_pooling_scratch
#cgo nocallback byte_pooling_scratch
#cgo noescape byte_pooling_run
#cgo nocallback byte_pooling_run
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

func (p *BytePooling) mean() C.nacre_i8_mean {
	return C.nacre_i8_mean{is_signed: cbool(p.Signed), x_zero: C.int32_t(p.XZero), ratio: C.float(p.Ratio), before: C.int32_t(p.Before),
		after: C.int32_t(p.After)}
}

// Scratch is how many bytes Run needs beside input and output, for a kernel of op
// i8_pooling.
func (p *BytePooling) Scratch(k Kernel, threads *Pool) int {
	c, mean := p.c(), p.mean()
	return int(C.byte_pooling_scratch(k.fn(), &c, C.size_t(p.Inner), &mean, C.size_t(threads.Threads())))
}

// Run computes y with a kernel of op i8_pooling. Scratch has the length that Scratch
// says and lies at a multiple of 64 bytes.
func (p *BytePooling) Run(k Kernel, threads *Pool, x unsafe.Pointer, scratch []byte, y unsafe.Pointer) {
	c, mean := p.c(), p.mean()
	C.byte_pooling_run(k.fn(), &c, C.size_t(p.Inner), &mean, threads.ptr(), x, bytesAt(scratch), y)
}
