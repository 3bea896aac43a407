package nacre

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/cpu"
	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Options say how a session runs. The zero value runs all outputs on all CPUs with
// the best kernels that these have.
type Options struct {
	// Threads is the number of threads that one run may use; 0 takes as many as Go
	// does (GOMAXPROCS). All sessions of the process share one pool, which has a thread
	// for every CPU and starts with the first session.
	Threads int
	// ISA names the instruction-set levels that kernels may use, such as "avx2" or
	// "scalar"; empty for all that the CPU has, narrowed by the environment variable
	// NACRE_ISA.
	ISA string
	// MemoryLimit bounds, in bytes, what one run may take beside weights and inputs:
	// elements, and what sequences, maps, strings and tensors take beside them. A run
	// that needs more fails with ErrMemory. Constants that are computed when the session
	// is made count too, as far as they take more than the weights of the file: such as
	// all elements of sparse ones, and weights made from a seed. NewSession then fails. The default, 0, is three quarters of the
	// memory that the process may use: of the limit of its control group on Linux, or
	// of the memory of the machine where that is less. Memory that the run does not need
	// any more and that Go has not collected yet may take a quarter of the limit more.
	MemoryLimit int
	// MemoryBudget bounds, in bytes, what the runs and streams of all sessions that have it
	// take together; nil for DefaultMemoryBudget, or for no such bound where MemoryLimit is
	// more than that.
	MemoryBudget *MemoryBudget
	// MaxWaiting bounds how many runs of the session may wait at a time, for a place or for
	// memory of MemoryBudget: one more fails with ErrBusy at once. 0 is no bound; with -1 none
	// waits.
	MaxWaiting int
	// MaxWait bounds how long a run waits, which then fails with ErrBusy. With 0 it waits
	// until its context ends.
	MaxWait time.Duration
	// WeightBudget bounds, in bytes, the weights in memory at a time; 0 for what the file
	// asks for (runtime.weight_streaming of a checkpoint of gpt.rs), else all of them.
	// Weights are read from the mapped file when nodes need them, and the least recently
	// used ones make room. It costs a reading of what has no room in every run, and
	// products of matrices without rearranged weights. A node whose weights are more than
	// the budget has them all, and so has each of several runs at a time. Beside the
	// budget stay weights that are no views of a file, those below 16 KiB, and
	// block-quantised ones in a form for kernels. Linux only.
	WeightBudget int
	// NoOptimize runs the graph as the file has it: what is slower, and shows the
	// model's own nodes in plans and profiles.
	NoOptimize bool
	// DirectConv computes convolutions as sums of products alone. Those by 3x3 kernels may
	// otherwise be computed with fewer products (Winograd), whose results of 8-bit codes are
	// the same, and of floats about as exact but where elements are infinite or not numbers,
	// or overflow: such reach all pixels of a tile of up to 4 x 4, and not those alone whose
	// kernel meets them. The weights take 1 to 4 times their memory then.
	DirectConv bool
	// Operators has the operators that nodes of the model may use; nil for the
	// standard ones. A registry of package runtime/op holds, beside those, what the
	// program brings. It must not change any more.
	Operators *op.Registry
	// Outputs names what runs compute, in the order of Session.Outputs; none for all
	// outputs of the model. A name is that of an output or of any value that a node of
	// the model's main graph computes. What none of them needs is not run, and inputs
	// that none of them needs are not required.
	Outputs []string
	// Quirks runs networks of formats whose own program computes something surprising or
	// wrong as that program does, rather than as it means to. It matters to files of Loom.
	Quirks bool
	// Device computes the nodes that it can, such as a GPU that package runtime/vulkan
	// opened; nil for the CPU alone, which computes the others in any case. The weights that
	// it reads lie in its memory until the model is closed. It must stay open until then.
	Device Device
	// Seed is that of weights that a file leaves to chance: those of architectures of Loom.
	// Equal seeds give equal weights.
	Seed uint64
}

// Device is a device with memory of its own beside the CPU, for any number of models. Sessions of
// equal devices share what they make, so its type must be comparable.
type Device interface {
	// Name is how plans call the device.
	Name() string
	// Accelerator returns what the plans of one model use the device with.
	Accelerator() (device.Accelerator, error)
}

// lowering returns the options of the network that sessions run.
func (o Options) lowering() formats.Lowering {
	return formats.Lowering{Quirks: o.Quirks, Seed: o.Seed}
}

// Validate checks what can be checked without a model. The error is ErrOption and
// names every option whose value no machine allows.
func (o Options) Validate() error {
	var errs []error
	if o.Threads < 0 {
		errs = append(errs, fmt.Errorf("option Threads is %d; it must not be negative", o.Threads))
	}
	if o.MemoryLimit < 0 {
		errs = append(errs, fmt.Errorf("option MemoryLimit is %d; it must not be negative", o.MemoryLimit))
	}
	if o.MaxWaiting < -1 {
		errs = append(errs, fmt.Errorf("option MaxWaiting is %d; it must not be less than -1", o.MaxWaiting))
	}
	if o.MaxWait < 0 {
		errs = append(errs, fmt.Errorf("option MaxWait is %v; it must not be negative", o.MaxWait))
	}
	if o.MemoryBudget != nil && o.MemoryBudget.memory == nil {
		errs = append(errs, errors.New("option MemoryBudget is none that NewMemoryBudget made"))
	}
	if o.WeightBudget < 0 {
		errs = append(errs, fmt.Errorf("option WeightBudget is %d; it must not be negative", o.WeightBudget))
	}
	if _, err := bindings.ParseISA(o.ISA); err != nil {
		errs = append(errs, fmt.Errorf("option ISA: %w", err))
	}
	met := map[string]bool{}
	for _, name := range o.Outputs {
		if met[name] {
			errs = append(errs, fmt.Errorf("option Outputs has %q twice", name))
		}
		met[name] = true
	}
	if o.Device != nil && !reflect.TypeOf(o.Device).Comparable() {
		errs = append(errs, fmt.Errorf("option Device is a %T; a device must be comparable, such as a pointer", o.Device))
	}
	if len(errs) == 0 {
		return nil
	}
	return mark(ErrOption, errors.Join(errs...))
}

// check reports what Validate does, and what this machine lacks.
func (o Options) check() error {
	if err := o.Validate(); err != nil {
		return err
	}
	if err := bindings.Available(); err != nil {
		return mark(ErrDevice, err)
	}
	if o.WeightBudget > 0 && !cpu.CanMove {
		return markf(ErrOption, "option WeightBudget: this system does not take the memory of weights back")
	}
	if o.ISA == "" {
		if _, err := bindings.DefaultISA(); err != nil {
			return mark(ErrOption, err)
		}
		return nil
	}
	mask, err := bindings.ParseISA(o.ISA)
	if err != nil {
		return mark(ErrOption, err)
	}
	if missing := mask &^ bindings.DetectISA(); missing != 0 {
		return markf(ErrOption, "option ISA: this CPU lacks %v", missing)
	}
	return nil
}

// below returns the options of the engine.
func (o Options) below(packs *cpu.Packs) runtime.Options {
	return runtime.Options{
		Threads: o.Threads, ISA: o.ISA, MemoryLimit: o.MemoryLimit, Memory: o.memory(),
		MaxWaiting: o.MaxWaiting, MaxWait: o.MaxWait,
		NoOptimize: o.NoOptimize, DirectConv: o.DirectConv, Registry: o.Operators, Packs: packs,
	}
}
