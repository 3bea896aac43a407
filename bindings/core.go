//go:build cgo

package bindings

/*
#cgo CFLAGS: -std=c11 -D_DEFAULT_SOURCE -O2 -g0 -Wall -Wextra -I${SRCDIR}/../csrc
#cgo LDFLAGS: -lm
#cgo !android LDFLAGS: -lpthread

#include "core/cpu.h"
#include "core/kernel.h"
#include "core/mem.h"
#include "core/parallel.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	_ "github.com/nacre-ml/nacre/csrc"
)

// Available returns nil if kernels can run in this build, else an error.
func Available() error { return nil }

// DetectISA returns the levels of this CPU and its operating system.
func DetectISA() ISA { return detect() }

// detect asks the CPU once: a virtual machine traps CPUID, so that it takes microseconds.
var detect = sync.OnceValue(func() ISA { return ISA(C.nacre_cpu_detect()) })

// Levels returns every level, in the order of csrc/core/isa.inc.
func Levels() LevelList {
	var list LevelList
	for i := C.int(0); ; i++ {
		row := C.nacre_isa_at(i)
		if row == nil {
			return list
		}
		list = append(list, Level{C.GoString(row.name), C.GoString(row.text), ISA(row.mask)})
	}
}

// Kernel is one row of a family's kernels.inc: an implementation of an op.
// The zero Kernel is no kernel.
type Kernel struct{ row *C.nacre_kernel }

// Op returns the function that the kernel computes, such as f32_gemm.
func (k Kernel) Op() string { return C.GoString(k.row.op) }

// Variant returns the name of the implementation, such as 12x32_avx512; the oracle is scalar.
func (k Kernel) Variant() string { return C.GoString(k.row.variant) }

// ISA returns the levels that the kernel needs.
func (k Kernel) ISA() ISA { return ISA(k.row.isa) }

// Valid reports whether k is a kernel.
func (k Kernel) Valid() bool { return k.row != nil }

func (k Kernel) fn() C.nacre_fn { return k.row.fn }

// Pool is a set of threads for the kernels of sessions. It is safe for concurrent use. A nil Pool
// is the calling thread alone.
type Pool struct {
	c    *C.nacre_pool
	size int
}

// NewPool returns a pool of threads: the caller's and threads-1 that it starts. For fewer than two
// it returns nil.
func NewPool(threads int) (*Pool, error) {
	if threads < 2 {
		return nil, nil
	}
	c := C.nacre_pool_create(C.size_t(threads))
	if c == nil {
		return nil, fmt.Errorf("starting %d threads: the system refused", threads)
	}
	return &Pool{c, threads}, nil
}

// SharedPool returns the pool of the process, with a thread per CPU. The first call starts it.
var SharedPool = sync.OnceValues(func() (*Pool, error) {
	return NewPool(max(runtime.NumCPU(), runtime.GOMAXPROCS(0)))
})

// Close ends the threads. No kernel may be running on the pool.
func (p *Pool) Close() {
	if p != nil && p.c != nil {
		C.nacre_pool_destroy(p.c)
		p.c = nil
	}
}

// Threads returns the number of threads, including the caller's.
func (p *Pool) Threads() int {
	if p == nil {
		return 1
	}
	return p.size
}

func alloc(n int) []byte {
	p := C.nacre_alloc(C.size_t(n))
	if p == nil {
		return nil
	}
	return unsafe.Slice((*byte)(p), max(n, 1))[:n]
}

func free(b []byte) { C.nacre_free(unsafe.Pointer(unsafe.SliceData(b))) }

// PhysicalMemory returns the main memory of the machine in bytes, 0 if unknown.
func PhysicalMemory() int { return int(C.nacre_physical_memory()) }
