package runtime

import (
	"errors"
	"log/slog"
	goruntime "runtime"
	"time"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/exec"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Options say how a session runs. The zero value is a good choice.
type Options struct {
	// Threads is the number of threads that one run may use; 0 is GOMAXPROCS.
	Threads int
	// ISA names the instruction-set levels that kernels may use, such as "avx2" or "scalar". If it
	// is empty, they use all levels of the CPU, narrowed by the environment variable NACRE_ISA.
	ISA string
	// MemoryLimit is the most bytes that one run may take, including the constants computed for it,
	// but not the file's weights and the inputs; 0 is DefaultMemoryLimit.
	MemoryLimit int
	// Made is the bytes of the model's weights that are not from its file.
	Made int
	// Memory is the budget that runs and streams take their bytes from; nil for no limit beside
	// MemoryLimit.
	Memory *exec.Memory
	// MaxWaiting is the number of runs that may wait to begin, negative for none. MaxWait is how
	// long one waits. 0 is no bound for either.
	MaxWaiting int
	MaxWait    time.Duration
	// Log is told of plans, waits and refusals; nil for none.
	Log *slog.Logger
	// NoOptimize runs the graph as the file has it.
	NoOptimize bool
	// DirectConv computes convolutions without transforms.
	DirectConv bool
	// Accuracy says which products round their activations.
	Accuracy device.Accuracy
	// Registry finds operators; nil is the standard one.
	Registry *op.Registry
	// Packs shares rearranged weights with other sessions of the same model; nil keeps them for
	// this session.
	Packs *cpu.Packs
	// Accelerator computes the nodes that it can; nil for none.
	Accelerator device.Accelerator
	// Layouts chooses the layouts of values. The zero value is a good choice.
	Layouts device.LayoutPolicy
}

// Validate returns the errors in the options that hold on all machines, joined. Their kind is
// graph.ErrOption.
func (o Options) Validate() error {
	var errs []error
	if o.Threads < 0 {
		errs = append(errs, graph.Errorf(graph.ErrOption, "option Threads is %d; it must not be negative", o.Threads))
	}
	if o.MemoryLimit < 0 {
		errs = append(errs, graph.Errorf(graph.ErrOption, "option MemoryLimit is %d; it must not be negative", o.MemoryLimit))
	}
	if _, err := bindings.ParseISA(o.ISA); err != nil {
		errs = append(errs, graph.Errorf(graph.ErrOption, "option ISA: %w", err))
	}
	if o.Accuracy > device.AccuracyFast {
		errs = append(errs, graph.Errorf(graph.ErrOption, "option Accuracy is %d, which is none of its constants", o.Accuracy))
	}
	return errors.Join(errs...)
}

// Check is Validate, and also checks the options against this machine. The error is graph.ErrDevice
// if it cannot run models.
func (o Options) Check() error {
	if err := o.Validate(); err != nil {
		return err
	}
	if err := Available(); err != nil {
		return err
	}
	_, err := o.isa()
	return err
}

func (o Options) threads() int {
	if o.Threads == 0 {
		return goruntime.GOMAXPROCS(0)
	}
	return o.Threads
}

func (o Options) memoryLimit() int {
	if o.MemoryLimit == 0 {
		return DefaultMemoryLimit()
	}
	return o.MemoryLimit
}

func (o Options) limits() exec.Limits {
	return exec.Limits{Run: o.memoryLimit(), Memory: o.Memory, Waiting: o.MaxWaiting, Patience: o.MaxWait, Log: o.Log}
}

// isa returns the levels that kernels may use, all of which this CPU has.
func (o Options) isa() (bindings.ISA, error) {
	mask, err := bindings.DefaultISA()
	if o.ISA != "" {
		mask, err = bindings.ParseISA(o.ISA)
	}
	if err != nil {
		return 0, graph.Errorf(graph.ErrOption, "%w", err)
	}
	if missing := mask &^ bindings.DetectISA(); missing != 0 {
		return 0, graph.Errorf(graph.ErrOption, "option ISA: this CPU lacks %v", missing)
	}
	return mask, nil
}
