//go:build !cgo && !js

package wazero

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/nacre-ml/nacre/bindings/internal/hosted"
)

func init() { hosted.Start = start }

// page is the unit of WebAssembly's memory.
const page = 64 << 10

// sizes are the bytes of memory that start tries to reserve. The first is as many as addresses of 32
// bits reach, without the last page, so that the number of bytes is one, too.
var sizes = [...]uint64{1<<32 - page, 1 << 31, 1 << 30, 1 << 29}

// instance is an instance of the module, as hosted.Instance says.
type instance struct {
	reservation
	functions []function
	stack     []uint64  // of a call
	others    time.Time // when other goroutines last had their turn
}

// function is an exported function and the types of its parameters.
type function struct {
	api.Function
	parameters []api.ValueType
}

// start compiles the module, or loads the result from a cache.
func start(module []byte, layout hosted.Layout, size int) (_ hosted.Instance, err error) {
	x := &instance{}
	host, err := newRuntime()
	if err != nil {
		return nil, err
	}
	if x.reservation, err = reserveMost(layout.Data + size); err != nil {
		return nil, err
	}
	if err := x.instantiate(host, module, layout); err != nil {
		x.reservation.end()
		return nil, err
	}
	return x, nil
}

// reserveMost reserves as much memory as the system gives, and commits the first bytes.
func reserveMost(first int) (r reservation, err error) {
	for _, n := range sizes {
		if r, err = reserve(int(n)); err == nil {
			break
		}
	}
	if err != nil {
		return r, err
	}
	if !r.Commit(r.all[:first]) {
		r.end()
		return r, errors.New("there is no memory")
	}
	return r, nil
}

func (x *instance) instantiate(host wazero.Runtime, module []byte, layout hosted.Layout) error {
	ctx := experimental.WithMemoryAllocator(context.Background(),
		experimental.MemoryAllocatorFunc(func(uint64, uint64) experimental.LinearMemory { return linear(x.all) }))
	if _, err := host.Instantiate(ctx, environment(len(x.all)/page, layout)); err != nil {
		return err
	}
	if _, err := host.NewHostModuleBuilder("host").NewFunctionBuilder().
		WithGoFunction(api.GoFunc(x.yield), nil, nil).Export("yield").Instantiate(ctx); err != nil {
		return err
	}
	code, err := host.CompileModule(ctx, module)
	if err != nil {
		return err
	}
	made, err := host.InstantiateModule(ctx, code, wazero.NewModuleConfig().WithStartFunctions("__wasm_apply_data_relocs"))
	if err != nil {
		return err
	}
	for _, name := range layout.Functions {
		f := made.ExportedFunction(name)
		if f == nil {
			return fmt.Errorf("the module has no function %s", name)
		}
		parameters := f.Definition().ParamTypes()
		x.functions = append(x.functions, function{f, parameters})
		x.stack = make([]uint64, max(len(x.stack), len(parameters), 1))
	}
	return nil
}

// turn is the time after which other goroutines have their turn.
const turn = time.Millisecond

// yield is where the runtime stops a goroutine that is in the module. It lets others run, which have
// timers, if they have not for a while.
func (x *instance) yield(context.Context, []uint64) {
	if now := time.Now(); now.Sub(x.others) > turn {
		x.others = now
		runtime.Gosched()
	}
}

// newRuntime returns wazero's compiler. Its interpreter would be slower than Go.
func newRuntime() (host wazero.Runtime, err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("wazero does not compile for this system, %s/%s; build with CGO_ENABLED=1 and a C compiler",
				runtime.GOOS, runtime.GOARCH)
		}
	}()
	config := wazero.NewRuntimeConfigCompiler()
	if folder, err := os.UserCacheDir(); err == nil {
		if cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(folder, "nacre", "wazero")); err == nil {
			config = config.WithCompilationCache(cache)
		}
	}
	return wazero.NewRuntimeWithConfig(context.Background(), config), nil
}

func (x *instance) Memory() []byte { return x.all }

func (x *instance) Call(at int, arguments []float64) uint32 {
	f := &x.functions[at]
	x.stack[0] = 0
	for i, t := range f.parameters {
		if t == api.ValueTypeF32 {
			x.stack[i] = api.EncodeF32(float32(arguments[i]))
		} else {
			x.stack[i] = uint64(whole(arguments[i]))
		}
	}
	if err := f.CallWithStack(context.Background(), x.stack); err != nil {
		panic(fmt.Errorf("kernels for WebAssembly: %w", err))
	}
	return uint32(x.stack[0])
}

// whole returns a whole number as 32 bits.
func whole(v float64) uint32 {
	if v < 0 {
		return uint32(int32(v))
	}
	return uint32(min(v, math.MaxUint32))
}

// linear is reserved memory as one that wazero asks for.
type linear []byte

func (m linear) Reallocate(size uint64) []byte {
	if size > uint64(len(m)) {
		return nil
	}
	return m[:size:size]
}

// Free does nothing: the memory lasts as long as the program.
func (linear) Free() {}
