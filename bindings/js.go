//go:build js

package bindings

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"syscall/js"
	"time"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings/internal/wasm"
)

// kernels instantiates the module in the program's own memory: a slice of Go's heap, which does not
// move, holds the module's stack and data.
var kernels = sync.OnceValues(func() (host, error) {
	h, err := instantiate(wasm.Kernels)
	if err != nil {
		return nil, fmt.Errorf("kernels for WebAssembly: %w", err)
	}
	return h, nil
})

// stackBytes is the size of the module's stack. The stack grows down, to the mark below it.
const (
	stackBytes = 1 << 20
	markBytes  = 64
	mark       = 0xa5
)

// instance is an instance of the module, as a host.
type instance struct {
	area      []byte // the mark, the stack, and the data behind it
	base      uint32 // the address of the area
	functions [wasmFunctions]js.Value
	job       *job      // what run runs, at one address
	running   []any     // the address
	others    time.Time // when goroutines ran last
	events    time.Time // when events were handled last
}

func instantiate(code []byte) (h *instance, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case js.Error:
			err = fmt.Errorf("%w (they need an engine with WebAssembly SIMD)", e)
		default:
			panic(e)
		}
	}()
	size, table, err := wasm.Sizes(code)
	if err != nil {
		return nil, err
	}
	memory, err := ownMemory()
	if err != nil {
		return nil, err
	}
	h = &instance{area: alignedBytes(markBytes + stackBytes + size)}
	for i := range h.area[:markBytes] {
		h.area[i] = mark
	}
	h.base = uint32(uintptr(unsafe.Pointer(unsafe.SliceData(h.area))))
	data := int(h.base) + markBytes + stackBytes

	bytes := js.Global().Get("Uint8Array").New(len(code))
	js.CopyBytesToJS(bytes, code)
	api := js.Global().Get("WebAssembly")
	global := func(mutable bool, value int) js.Value {
		return api.Get("Global").New(map[string]any{"value": "i32", "mutable": mutable}, value)
	}
	made := api.Get("Instance").New(api.Get("Module").New(bytes), map[string]any{"env": map[string]any{
		"memory":                    memory,
		"__indirect_function_table": api.Get("Table").New(map[string]any{"element": "anyfunc", "initial": 1 + table}),
		"__stack_pointer":           global(true, data),
		"__memory_base":             global(false, data),
		"__table_base":              global(false, 1),
	}, "host": map[string]any{
		"yield": js.Global().Get("Function").Get("prototype"), // a function that does nothing; no flag asks for it
	}})
	exports := made.Get("exports")
	exports.Call("__wasm_apply_data_relocs")
	for f, name := range functionNames {
		h.functions[f] = exports.Get(name)
	}
	h.job = new(job)
	h.running = []any{of(unsafe.Pointer(h.job))}
	return h, nil
}

// ownMemory returns the WebAssembly.Memory of this program. A page may set it as nacreMemory.
// Otherwise it is read from the object that wasm_exec.js made for the program, which makes the
// functions that js.FuncOf returns, so that one call of it can return the object itself.
func ownMemory() (js.Value, error) {
	if m := js.Global().Get("nacreMemory"); m.Truthy() {
		return m, nil
	}
	class := js.Global().Get("Go")
	if !class.Truthy() {
		return js.Value{}, errors.New("there is no class Go of wasm_exec.js, and nacreMemory is not set")
	}
	prototype := class.Get("prototype")
	const method = "_makeFuncWrapper"
	original := prototype.Get(method)
	prototype.Set(method, js.Global().Get("Object").Get("prototype").Get("valueOf"))
	self := js.FuncOf(func(js.Value, []js.Value) any { return nil })
	prototype.Set(method, original)
	defer self.Release()
	if run := self.Get("_inst"); run.Truthy() {
		return run.Get("exports").Get("mem"), nil
	}
	return js.Value{}, errors.New("wasm_exec.js is of another version of Go; set nacreMemory to the program's memory")
}

func (h *instance) call(f function, arguments ...float64) uint32 {
	list := make([]any, len(arguments))
	for i, a := range arguments {
		list[i] = a
	}
	result := h.functions[f].Invoke(list...)
	h.checkStack()
	if result.Type() != js.TypeNumber {
		return 0
	}
	return uint32(result.Int())
}

func (h *instance) run(j *job) {
	*h.job = *j
	h.functions[wasmRun].Invoke(h.running...)
	*j = *h.job
	h.checkStack()
}

// checkStack panics if the stack of the module grew beyond its end.
func (h *instance) checkStack() {
	for _, b := range h.area[:markBytes] {
		if b != mark {
			panic("bindings: a kernel used more than its stack")
		}
	}
}

// A program pauses for goroutines if none ran for turn, and for events of the engine, such as a
// message to a worker, if none were handled for round.
const (
	turn  = time.Millisecond
	round = 50 * time.Millisecond
)

func (h *instance) pause() {
	now := time.Now()
	switch {
	case now.Sub(h.events) > round:
		events.wait()
		h.events = time.Now()
		h.others = h.events
	case now.Sub(h.others) > turn:
		runtime.Gosched()
		h.others = now
	}
}

// events is the queue of the engine's events.
var events queue

// queue waits for events. An event of its own comes after the ones that are there.
type queue struct {
	own  func()        // asks for the own event; nil before the first wait
	came chan struct{} // closed when the own event comes; nil if it is not asked for
}

// wait returns when the engine has handled its events.
func (q *queue) wait() {
	if q.own == nil {
		q.begin()
	}
	if q.came == nil {
		q.came = make(chan struct{})
		q.own()
	}
	<-q.came
}

// begin finds a way to the own event: Node's, or a message to itself, which browsers deliver after
// earlier ones. A timer would take milliseconds, and a shorter one no turn at all.
func (q *queue) begin() {
	back := js.FuncOf(func(js.Value, []js.Value) any {
		close(q.came)
		q.came = nil
		return nil
	})
	if f := js.Global().Get("setImmediate"); f.Truthy() {
		q.own = func() { f.Invoke(back) }
		return
	}
	channel := js.Global().Get("MessageChannel").New()
	channel.Get("port1").Set("onmessage", back)
	port := channel.Get("port2")
	q.own = func() { port.Call("postMessage", nil) }
}

func (h *instance) text(at uint32) string {
	from := h.area[at-h.base:]
	n := 0
	for from[n] != 0 {
		n++
	}
	return string(from[:n])
}

func (h *instance) pointer(at uint32) unsafe.Pointer { return unsafe.Pointer(&h.area[at-h.base]) }

// lend returns the addresses of memory as arguments. The memory stays until back is called.
func lend(parts ...[]byte) (at []float64, back func()) {
	at = make([]float64, len(parts))
	for i, b := range parts {
		at[i] = of(still(unsafe.Pointer(unsafe.SliceData(b))))
	}
	return at, func() { runtime.KeepAlive(parts) }
}

const (
	addressable = 4 << 30  // bytes that addresses reach
	reserve     = 64 << 20 // bytes that alloc leaves to Go
	large       = 1 << 20  // bytes of a block before which alloc looks for room
)

// alloc returns memory of Go's heap. It returns nil where Go would end the program, because no
// addresses are left.
func alloc(n int) []byte {
	if n >= large && n > Room() {
		runtime.GC()
		if n > Room() {
			return nil
		}
	}
	return alignedBytes(n)
}

// Room returns the bytes that Go's heap can still provide.
func Room() int {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	unused := int(sample[1].Value.Uint64() + sample[2].Value.Uint64())
	return addressable - int(sample[0].Value.Uint64()) + unused - reserve
}

func free([]byte) {}

// PhysicalMemory returns the bytes that addresses reach.
func PhysicalMemory() int { return addressable }
