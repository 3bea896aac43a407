//go:build !cgo && !js

package bindings

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings/internal/heap"
	"github.com/nacre-ml/nacre/bindings/internal/hosted"
	"github.com/nacre-ml/nacre/bindings/internal/wasm"
)

// Apart reports whether kernels have memory of their own. Commands then use copies of other memory.
const Apart = true

var errNoHost = errors.New("this program was built without cgo and does not import " +
	"github.com/nacre-ml/nacre/bindings/wazero, so it has no kernels; import that package, or build with CGO_ENABLED=1 " +
	"and a C compiler")

// kernels starts the module in memory of its own.
var kernels = sync.OnceValues(func() (host, error) {
	if hosted.Start == nil {
		return nil, errNoHost
	}
	h, err := start(wasm.Kernels)
	if err != nil {
		return nil, fmt.Errorf("kernels for WebAssembly: %w", err)
	}
	region = h
	return h, nil
})

// flagClear is the value of a flag that does not stop runs. A collection of Go's heap stops all
// goroutines, and a goroutine in the module stops when it yields.
const flagClear = flagYields

// unset returns the flag of runs without one.
var unset = sync.OnceValue(NewFlag)

// region is the instance of kernels; nil for none. It is set before anything is allocated in it.
var region *instance

// The memory of an instance begins with an unused line, because no address is 0, and the mark. The
// stack, which grows down to the mark, the module's data and the heap follow.
const (
	markAt     = heap.Align
	stackAt    = markAt + heap.Align
	stackBytes = 1 << 20
	dataAt     = stackAt + stackBytes
	mark       = 0xa5
)

// instance is an instance of the module, as a host.
type instance struct {
	hosted.Instance
	memory []byte
	mark   []byte
	heap   *heap.Heap

	mu      sync.Mutex // one call runs at a time
	running [1]float64
}

func start(code []byte) (*instance, error) {
	size, table, err := wasm.Sizes(code)
	if err != nil {
		return nil, err
	}
	end := (dataAt + size + heap.Align - 1) / heap.Align * heap.Align
	made, err := hosted.Start(code, hosted.Layout{Data: dataAt, Table: table, Functions: functionNames[:]}, end-dataAt)
	if err != nil {
		return nil, err
	}
	h := &instance{Instance: made, memory: made.Memory()}
	h.mark = h.memory[markAt:stackAt]
	for i := range h.mark {
		h.mark[i] = mark
	}
	h.heap = heap.New(h.memory[end:], made.Commit, made.Release)
	return h, nil
}

func (h *instance) call(f function, arguments ...float64) uint32 {
	h.mu.Lock()
	defer h.mu.Unlock()
	result := h.Call(int(f), arguments)
	h.checkStack()
	return result
}

func (h *instance) run(j *job) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running[0] = of(unsafe.Pointer(j))
	h.Call(int(wasmRun), h.running[:])
	h.checkStack()
}

// checkStack panics if the stack of the module grew beyond its end.
func (h *instance) checkStack() {
	for _, b := range h.mark {
		if b != mark {
			panic("bindings: a kernel used more than its stack")
		}
	}
}

func (h *instance) text(at uint32) string {
	n := 0
	for h.memory[int(at)+n] != 0 {
		n++
	}
	return string(h.memory[at : int(at)+n])
}

func (h *instance) pointer(at uint32) unsafe.Pointer { return unsafe.Pointer(&h.memory[at]) }

// pause does nothing: other goroutines run beside the module.
func (h *instance) pause() {}

// alloc returns memory of the module, or of Go's heap if there are no kernels.
func alloc(n int) []byte {
	if Available() != nil {
		return alignedBytes(n)
	}
	return region.heap.Alloc(n)
}

func free(b []byte) {
	if region != nil {
		region.heap.Free(b)
	}
}

// PhysicalMemory returns the bytes that addresses of the module reach; without kernels it returns 0.
func PhysicalMemory() int {
	if Available() != nil {
		return 0
	}
	return len(region.memory)
}

// Reaches reports whether commands can use memory in its place.
func Reaches(b []byte) bool { return region == nil || len(b) == 0 || region.has(SpanOf(b)) }

// has reports whether the module has the memory.
func (h *instance) has(s Span) bool {
	from := SpanOf(h.memory)
	return s.at >= from.at && s.at-from.at < uintptr(from.bytes)
}

// address returns an address in the module's memory as a word.
func address(at unsafe.Pointer) uint64 {
	if at == nil {
		return 0
	}
	if s := (Span{at: uintptr(at)}); region == nil || !region.has(s) {
		panic("bindings: an address outside the memory of kernels")
	}
	return uint64(uintptr(at) - SpanOf(region.memory).at)
}

// residents is the copies of Resident, by the address of the original.
var residents sync.Map

// Resident returns the address, as a word of commands, of memory that the program keeps forever and
// does not change.
func Resident(memory []byte) int64 {
	if len(memory) == 0 || Available() != nil {
		return 0
	}
	from := unsafe.SliceData(memory)
	at, ok := residents.Load(from)
	if !ok {
		b := alloc(len(memory))
		if b == nil {
			panic(errNoMemory)
		}
		copy(b, memory)
		var met bool
		if at, met = residents.LoadOrStore(from, int64(address(unsafe.Pointer(unsafe.SliceData(b))))); met {
			free(b)
		}
	}
	return at.(int64)
}
