//go:build cgo

package bindings

/*
#cgo CFLAGS: -std=c11 -D_DEFAULT_SOURCE -O2 -g0 -Wall -Wextra -I${SRCDIR}/../csrc
#cgo LDFLAGS: -lm
#cgo !android LDFLAGS: -lpthread

#include "core/cpu.h"
#include "core/mem.h"
#include "core/parallel.h"
#include "core/run.h"

static inline int kernel_fits(const nacre_kernel *k, const int64_t *words) { return k->entry->fits == NULL || k->entry->fits(k, words); }
static inline size_t kernel_scratch(const nacre_kernel *k, const int64_t *words, size_t threads) {
    return k->entry->scratch == NULL ? 0 : k->entry->scratch(k, words, threads);
}
static inline size_t kernel_packed(const nacre_kernel *k, const int64_t *words, size_t operand) {
    return k->entry->packed == NULL ? 0 : k->entry->packed(k, words, operand);
}
static inline size_t kernel_panel(const nacre_kernel *k) { return k->entry->panel == NULL ? 0 : k->entry->panel(k); }
static inline void kernel_pack(const nacre_kernel *k, const int64_t *words, size_t operand, const void *src, void *dst) {
    k->entry->pack(k, words, operand, src, dst);
}
#cgo noescape nacre_run
#cgo noescape kernel_fits
#cgo nocallback kernel_fits
#cgo noescape kernel_scratch
#cgo nocallback kernel_scratch
#cgo noescape kernel_packed
#cgo nocallback kernel_packed
#cgo noescape kernel_panel
#cgo nocallback kernel_panel
#cgo noescape kernel_pack
#cgo nocallback kernel_pack
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	all "github.com/nacre-ml/nacre/bindings/internal/families"
	_ "github.com/nacre-ml/nacre/csrc"
)

// Module reports whether the kernels are a module of WebAssembly, which has one thread.
const Module = false

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

// families returns the rows of every family.
func families() [][]Kernel {
	list := make([][]Kernel, len(all.All))
	for i, kernels := range all.All {
		first, count := kernels()
		rows := make([]row, count)
		list[i] = make([]Kernel, count)
		for j := range rows {
			rows[j] = read(&unsafe.Slice((*C.nacre_kernel)(first), count)[j])
			list[i][j] = Kernel{&rows[j]}
		}
	}
	return list
}

func read(k *C.nacre_kernel) row {
	r := row{
		op:      C.GoString(k.op),
		variant: C.GoString(k.variant),
		isa:     ISA(k.isa),
		at:      unsafe.Pointer(k),
		fn:      uintptr(unsafe.Pointer(k.fn)),
	}
	if e := k.entry; e != nil {
		r.command = true
		r.pack = uintptr(unsafe.Pointer(e.pack))
		r.words, r.operands, r.panel = int(e.words), int(e.operands), int(C.kernel_panel(k))
		r.exact, r.takesAll, r.unaligned = e.exact != 0, e.fits == nil, e.unaligned != 0
	}
	return r
}

func (r *row) c() *C.nacre_kernel { return (*C.nacre_kernel)(r.at) }

func fits(r *row, words []int64) bool { return C.kernel_fits(r.c(), wordsOf(words)) != 0 }

func scratch(r *row, words []int64, threads int) int {
	return int(C.kernel_scratch(r.c(), wordsOf(words), C.size_t(threads)))
}

func packedSize(r *row, words []int64, operand int) int {
	return int(C.kernel_packed(r.c(), wordsOf(words), C.size_t(operand)))
}

func pack(r *row, words []int64, operand int, src, dst []byte) {
	C.kernel_pack(r.c(), wordsOf(words), C.size_t(operand), unsafe.Pointer(unsafe.SliceData(src)),
		unsafe.Pointer(unsafe.SliceData(dst)))
}

func wordsOf(list []int64) *C.int64_t { return (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(list))) }

// A job is as long as a nacre_job, and commands begin with the same words, or this does not compile.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(job{})-C.sizeof_nacre_job]
	_ = [1]struct{}{}[commandKernel-C.NACRE_COMMAND_KERNEL]
	_ = [1]struct{}{}[commandLength-C.NACRE_COMMAND_LENGTH]
	_ = [1]struct{}{}[commandScratch-C.NACRE_COMMAND_SCRATCH]
	_ = [1]struct{}{}[commandOperands-C.NACRE_COMMAND_OPERANDS]
	_ = [1]struct{}{}[commandHeader-C.NACRE_COMMAND_HEADER]
)

func (c *Code) run(timed bool) {
	c.job.times = 0
	if timed {
		c.job.times = address(unsafe.Pointer(unsafe.SliceData(c.times)))
	}
	C.nacre_run((*C.nacre_job)(unsafe.Pointer(c.job)))
}

// pause does nothing: other threads run goroutines.
func pause() {}

// failure returns the columns of a row of csrc/core/failures.inc.
func failure(code int64) (text, kind string) {
	return C.GoString(C.nacre_failure_text(C.int64_t(code))), C.GoString(C.nacre_failure_kind(C.int64_t(code)))
}

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

// word returns the pool as a word of a job.
func (p *Pool) word() uint64 {
	if p == nil {
		return 0
	}
	return address(unsafe.Pointer(p.c))
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
