//go:build !cgo

package bindings

import (
	"errors"
	"sync"
	"time"
	"unsafe"
)

// Without cgo, kernels run in the module internal/wasm, with addresses of 32 bits. A host, such as
// a browser, instantiates the module and calls its functions. In js its memory is the program's;
// elsewhere it has memory of its own.

// Module reports whether the kernels are a module of WebAssembly, which has one thread.
const Module = true

// function is a function that the module exports. csrc/wasm.c defines them all.
type function int

const (
	wasmDetect function = iota
	wasmLevel
	wasmRow
	wasmFits
	wasmScratch
	wasmPacked
	wasmPack
	wasmRun
	wasmFailure
	wasmRate
	wasmRead
	wasmSearch
	wasmWhole
	wasmFunctions
)

var functionNames = [wasmFunctions]string{
	wasmDetect:  "nacre_wasm_detect",
	wasmLevel:   "nacre_wasm_level",
	wasmRow:     "nacre_wasm_row",
	wasmFits:    "nacre_wasm_fits",
	wasmScratch: "nacre_wasm_scratch",
	wasmPacked:  "nacre_wasm_packed",
	wasmPack:    "nacre_wasm_pack",
	wasmRun:     "nacre_run",
	wasmFailure: "nacre_wasm_failure",
	wasmRate:    "nacre_wasm_rate",
	wasmRead:    "nacre_probe_read",
	wasmSearch:  "nacre_wasm_search",
	wasmWhole:   "nacre_wasm_whole",
}

// host calls functions of the module.
type host interface {
	// call returns the result of a function, 0 if it has none. An argument is a whole number, an
	// address or a float32.
	call(f function, arguments ...float64) uint32
	// run calls wasmRun. It allocates nothing.
	run(j *job)
	// text returns the C string at an address in the module's data.
	text(at uint32) string
	// pause lets goroutines and the host's events run, if they have not for a while.
	pause()
	// pointer returns an address in the module's data.
	pointer(at uint32) unsafe.Pointer
}

// Available returns nil if kernels can run in this build, else an error.
func Available() error {
	_, err := kernels()
	return err
}

// module returns the host of the kernels. Callers have asked Available.
func module() host {
	h, err := kernels()
	if err != nil {
		panic(err)
	}
	return h
}

// exchange is memory where functions of the module store several results, and where they read the
// words of a command: a slice of a caller may be on a stack, which moves.
var exchange struct {
	sync.Mutex
	memory []byte
}

// results is what fill returns.
type results [13]uint32

// leastExchange is the least size of exchange.
const leastExchange = 4096

// exchanged returns n bytes of exchange, whose lock the caller holds.
func exchanged(n int) []byte {
	if n > len(exchange.memory) {
		if exchange.memory != nil {
			free(exchange.memory)
		}
		if exchange.memory = alloc(max(n, leastExchange)); exchange.memory == nil {
			panic(errNoMemory)
		}
	}
	return exchange.memory[:n]
}

var errNoMemory = errors.New("no memory for what kernels read")

// of returns an address as an argument.
func of(at unsafe.Pointer) float64 { return float64(address(at)) }

// fill calls a function that stores results, and reports whether it returned true.
func fill(f function, arguments ...float64) (list results, ok bool) {
	h := module()
	exchange.Lock()
	defer exchange.Unlock()
	at := unsafe.Pointer(unsafe.SliceData(exchanged(int(unsafe.Sizeof(list)))))
	ok = h.call(f, append(arguments, of(at))...) != 0
	return *(*results)(at), ok
}

// DetectISA returns the levels of the module; without one it returns none.
func DetectISA() ISA {
	if Available() != nil {
		return 0
	}
	return ISA(module().call(wasmDetect))
}

// Levels returns every level, in the order of csrc/core/isa.inc; without a module it returns none.
func Levels() LevelList {
	if Available() != nil {
		return nil
	}
	var list LevelList
	for i := 0; ; i++ {
		r, ok := fill(wasmLevel, float64(i))
		if !ok {
			return list
		}
		list = append(list, Level{module().text(r[0]), module().text(r[1]), ISA(r[2])})
	}
}

// families returns the rows of every family; without a module it returns none.
func families() [][]Kernel {
	if Available() != nil {
		return nil
	}
	var list [][]Kernel
	for {
		var rows []Kernel
		for {
			r, ok := fill(wasmRow, float64(len(list)), float64(len(rows)))
			if !ok {
				break
			}
			rows = append(rows, Kernel{&row{
				at: module().pointer(r[0]), op: module().text(r[1]), variant: module().text(r[2]), isa: ISA(r[3]),
				fn: uintptr(r[4]), command: r[5] != 0, words: int(r[6]), operands: int(r[7]), exact: r[8] != 0,
				takesAll: r[5] != 0 && r[9] == 0, pack: uintptr(r[10]), unaligned: r[11] != 0, panel: int(r[12]),
			}})
		}
		if rows == nil {
			return list
		}
		list = append(list, rows)
	}
}

// withWords calls a function with a kernel, the words of a command and other arguments.
func withWords(f function, r *row, list []int64, arguments ...float64) uint32 {
	exchange.Lock()
	defer exchange.Unlock()
	words := bytesOf(list)
	memory := exchanged(len(words))
	copy(memory, words)
	all := append([]float64{of(r.at), of(unsafe.Pointer(unsafe.SliceData(memory)))}, arguments...)
	return module().call(f, all...)
}

// bytesOf returns the memory of a list.
func bytesOf[T int64 | float32](list []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(zero)))
}

func fits(r *row, list []int64) bool { return withWords(wasmFits, r, list) != 0 }

func scratch(r *row, list []int64, threads int) int {
	return int(withWords(wasmScratch, r, list, float64(threads)))
}

func packedSize(r *row, list []int64, operand int) int {
	return int(withWords(wasmPacked, r, list, float64(operand)))
}

func pack(r *row, list []int64, operand int, src, dst []byte) {
	at, back := lend(src, dst)
	defer back()
	withWords(wasmPack, r, list, float64(operand), at[0], at[1])
}

// run has the module run the commands one by one, with pauses between them. No goroutine runs while
// the module does, so that the stop flag is set and timers fire in pauses alone. The module has no
// clock, either.
func (c *Code) run(timed bool) {
	all, place := c.job.commands, 0
	c.job.commands, c.job.done = 1, 1
	for i := range all {
		if timed {
			c.times[i] = time.Since(begin).Nanoseconds()
		}
		c.job.code = address(unsafe.Pointer(unsafe.SliceData(c.words[place:])))
		module().run(c.job)
		if c.job.done == 0 {
			c.job.done = i
			return
		}
		place += int(c.words[place+commandLength])
		pause()
	}
	if timed {
		c.times[all] = time.Since(begin).Nanoseconds()
	}
	c.job.done = all
}

func pause() { module().pause() }

var begin = time.Now()

// failure returns the columns of a row of csrc/core/failures.inc.
func failure(code int64) (text, kind string) {
	r, ok := fill(wasmFailure, float64(code))
	if !ok {
		return "", ""
	}
	return module().text(r[0]), module().text(r[1])
}

func rate(r *row, ops int) int { return int(module().call(wasmRate, of(r.at), float64(ops))) }

func readAll(buf []byte) {
	at, back := lend(buf)
	defer back()
	module().call(wasmRead, at[0], float64(len(buf)))
}

func search(r *row, size, tries int, low, high float32, table, x, w, inverse, shift, sums []float32) {
	at, back := lend(bytesOf(table), bytesOf(x), bytesOf(w), bytesOf(inverse), bytesOf(shift), bytesOf(sums))
	defer back()
	module().call(wasmSearch, append([]float64{of(r.at), float64(size), float64(tries), float64(low), float64(high)}, at...)...)
}

func wholeNumbers(r *row, size, reach int, low, high float32, table, x, w, unit, inverse []float32, least, most float32,
	whole, sums []float32) {
	at, back := lend(bytesOf(table), bytesOf(x), bytesOf(w), bytesOf(unit), bytesOf(inverse), bytesOf(whole), bytesOf(sums))
	defer back()
	all := append([]float64{of(r.at), float64(size), float64(reach), float64(low), float64(high)}, at[:5]...)
	all = append(all, float64(least), float64(most))
	module().call(wasmWhole, append(all, at[5:]...)...)
}

// sink makes addresses escape.
var sink unsafe.Pointer

// still returns an address that a call takes as a number. It makes the memory escape to the heap,
// because stacks move.
//
//go:noinline
func still(at unsafe.Pointer) unsafe.Pointer {
	sink = at
	sink = nil
	return at
}

// memoryAlign is what addresses of Alloc are a multiple of.
const memoryAlign = 64

// alignedBytes returns n bytes of Go's heap at a multiple of memoryAlign. Objects of the heap do not
// move.
func alignedBytes(n int) []byte {
	b := make([]byte, max(n, 1)+memoryAlign)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % memoryAlign)
	return b[skip : skip+n : len(b)]
}

// Pool is a set of threads. The module has one thread, so there is none.
type Pool struct{}

// NewPool returns nil, the calling thread alone: it is the only one that runs kernels.
func NewPool(threads int) (*Pool, error) { return nil, nil }

// Close does nothing.
func (*Pool) Close() {}

// Threads returns 1.
func (*Pool) Threads() int { return 1 }

func (*Pool) word() uint64 { return 0 }
