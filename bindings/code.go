//go:build cgo

package bindings

/*
#include <stdlib.h>
#include "core/run.h"

#cgo noescape nacre_run

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
	"sync/atomic"
	"unsafe"
)

// IsCommand reports whether commands can run the kernel. Other kernels are parts only.
func (k Kernel) IsCommand() bool { return k.row.entry != nil }

// IsPart reports whether commands of other kernels can call the kernel.
func (k Kernel) IsPart() bool { return k.row.fn != nil }

// TakesAll reports whether the kernel can compute every command that has its words.
func (k Kernel) TakesAll() bool { return k.row.entry != nil && k.row.entry.fits == nil }

// IsExact reports whether the kernel is only for commands whose lengths do not vary.
func (k Kernel) IsExact() bool { return k.row.entry != nil && k.row.entry.exact != 0 }

// IsSamePart reports whether commands that call either kernel call the same function.
func (k Kernel) IsSamePart(other Kernel) bool { return other.row != nil && k.row.fn == other.row.fn }

// Words returns the least number of words of a command, Operands the number of its operands.
func (k Kernel) Words() int    { return int(k.row.entry.words) }
func (k Kernel) Operands() int { return int(k.row.entry.operands) }

// Word returns the kernel as a word of a command that calls it as a part, 0 for the zero Kernel.
func (k Kernel) Word() int64 { return int64(uintptr(unsafe.Pointer(k.row))) }

// Packing identifies how kernels pack constants. Kernels of equal Packing pack alike for the same
// words.
type Packing struct {
	pack, row uintptr
	panel     int
}

// Packing returns how the kernel packs constants.
func (k Kernel) Packing() Packing {
	p := Packing{pack: uintptr(unsafe.Pointer(k.row.entry.pack)), panel: k.Panel()}
	if p.panel == 0 {
		p.row = uintptr(unsafe.Pointer(k.row.fn))
	}
	return p
}

// Panel returns the columns of a panel, if the kernel packs a right matrix as panels of columns that
// follow each other. It returns 0 for another form.
func (k Kernel) Panel() int { return int(C.kernel_panel(k.row)) }

func words(list []int64) *C.int64_t { return (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(list))) }

// Fits reports whether the kernel can compute a command with these words.
func (k Kernel) Fits(list []int64) bool { return C.kernel_fits(k.row, words(list)) != 0 }

// Scratch returns the bytes of scratch that a command needs on that many threads.
func (k Kernel) Scratch(list []int64, threads int) int {
	return int(C.kernel_scratch(k.row, words(list), C.size_t(threads)))
}

// Packed returns the bytes that Pack writes for a constant operand, 0 if commands take the operand
// unpacked.
func (k Kernel) Packed(list []int64, operand int) int {
	return int(C.kernel_packed(k.row, words(list), C.size_t(operand)))
}

// PacksUnaligned reports whether Pack takes elements at any address.
func (k Kernel) PacksUnaligned() bool { return k.row.entry.unaligned != 0 }

// Pack packs operand src into dst. dst has Packed bytes at a multiple of 64. src is at a multiple of
// its element size, unless PacksUnaligned reports true.
func (k Kernel) Pack(list []int64, operand int, src unsafe.Pointer, dst []byte) {
	C.kernel_pack(k.row, words(list), C.size_t(operand), src, unsafe.Pointer(unsafe.SliceData(dst)))
}

// The number of words before the operands of a command in memory.
const commandHeader = C.NACRE_COMMAND_HEADER

// Code is a list of commands in memory outside Go's heap. Addresses in it are numbers: their memory
// must not move while Run runs.
type Code struct {
	memory []byte
	words  []uint64
	job    *C.nacre_job
	count  int
	times  []int64
}

// NewCode returns a Code with space for that many commands, and words and operands in total. It
// returns nil if there is no memory.
func NewCode(commands, words, operands int) *Code {
	size := int(unsafe.Sizeof(C.nacre_job{})+63) / 64 * 64
	total := commands*commandHeader + words + operands
	memory := Alloc(size + 8*total + 8*(commands+1))
	if memory == nil {
		return nil
	}
	at := unsafe.Pointer(unsafe.SliceData(memory))
	c := &Code{memory: memory, job: (*C.nacre_job)(at)}
	*c.job = C.nacre_job{}
	c.words = unsafe.Slice((*uint64)(unsafe.Add(at, size)), total)[:0]
	c.times = unsafe.Slice((*int64)(unsafe.Add(at, size+8*total)), commands+1)
	c.job.code = (*C.uint64_t)(unsafe.Add(at, size))
	return c
}

// Free releases the memory. Run must not be called afterwards.
func (c *Code) Free() {
	Free(c.memory)
	*c = Code{}
}

// Bytes returns the size of the code in memory.
func (c *Code) Bytes() int { return len(c.memory) }

// Append adds a command. It returns the places of its first operand and of its first word, for Set.
func (c *Code) Append(k Kernel, list []int64, operands int) (operand, word int) {
	start := len(c.words)
	operand = start + commandHeader
	word = operand + operands
	c.words = c.words[:word+len(list)]
	c.words[start+C.NACRE_COMMAND_KERNEL] = uint64(k.Word())
	c.words[start+C.NACRE_COMMAND_LENGTH] = uint64(len(c.words) - start)
	c.words[start+C.NACRE_COMMAND_SCRATCH] = 0
	c.words[start+C.NACRE_COMMAND_OPERANDS] = uint64(operands)
	clear(c.words[operand:word])
	for i, w := range list {
		c.words[word+i] = uint64(w)
	}
	c.count++
	return operand, word
}

// ScratchOf returns the place of the scratch address of the command with its first operand at place
// operand.
func ScratchOf(operand int) int { return operand - commandHeader + C.NACRE_COMMAND_SCRATCH }

// Set changes a word, an operand's address or a scratch address.
func (c *Code) Set(place int, word uint64) { c.words[place] = word }

// Len returns the number of commands.
func (c *Code) Len() int { return c.count }

// Flag stops runs. It is outside Go's heap, so that kernels can read it.
type Flag struct{ word *int32 }

// NewFlag returns a flag that is not set, or nil if there is no memory. Free releases it.
func NewFlag() *Flag {
	b := Alloc(64)
	if b == nil {
		return nil
	}
	f := &Flag{(*int32)(unsafe.Pointer(unsafe.SliceData(b)))}
	f.Clear()
	return f
}

// Set stops the runs that poll the flag, current and future ones, between two chunks of work.
func (f *Flag) Set() { atomic.StoreInt32(f.word, 1) }

// Clear allows runs again.
func (f *Flag) Clear() { atomic.StoreInt32(f.word, 0) }

// IsSet reports whether Set was called after the last Clear.
func (f *Flag) IsSet() bool { return atomic.LoadInt32(f.word) != 0 }

// Free releases the flag. No run may use it afterwards.
func (f *Flag) Free() { Free(unsafe.Slice((*byte)(unsafe.Pointer(f.word)), 64)) }

// Failure is why a command stopped a run: the elements of an input.
type Failure struct {
	code int64
	Args [4]int
}

// Text is a format with a %d for each of the Args; Kind is SHAPE or UNSUPPORTED.
func (f Failure) Text() string { return C.GoString(C.nacre_failure_text(C.int64_t(f.code))) }
func (f Failure) Kind() string { return C.GoString(C.nacre_failure_kind(C.int64_t(f.code))) }

// Run runs the commands on at most threads threads of the pool and returns how many completed. All
// do unless one fails or stop is set. If one fails, failed is true and failure says why. If timed
// is true, Times returns their times.
func (c *Code) Run(p *Pool, threads int, stop *Flag, timed bool) (done int, failure Failure, failed bool) {
	c.job.commands = C.size_t(c.count)
	c.job.threads = C.size_t(threads)
	c.job.pool = nil
	if p != nil {
		c.job.pool = p.c
	}
	c.job.stop = nil
	if stop != nil {
		c.job.stop = (*C.int32_t)(unsafe.Pointer(stop.word))
	}
	c.job.times = nil
	if timed {
		c.job.times = (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(c.times)))
	}
	C.nacre_run(c.job)
	if code := int64(c.job.failure.code); code != 0 {
		failure.code = code
		for i := range failure.Args {
			failure.Args[i] = int(c.job.failure.args[i])
		}
		failed = true
	}
	return int(c.job.done), failure, failed
}

// Times returns when each command of a timed run began, and when the last one ended, in nanoseconds
// of an arbitrary clock.
func (c *Code) Times() []int64 { return c.times[:c.count+1] }
