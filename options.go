package nacre

import (
	"errors"
	"log/slog"
	"reflect"
	"time"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Options say how a session runs. The zero value computes all outputs on all CPUs with
// their best kernels.
type Options struct {
	// Threads is the number of threads that one run may use; 0 takes as many as Go
	// does (GOMAXPROCS). All sessions of the process share one pool, which has a thread
	// for every CPU and starts with the first session.
	Threads int
	// ISA names the instruction-set levels that kernels may use, such as "avx2" or
	// "scalar"; empty for all levels of the CPU that the environment variable NACRE_ISA
	// allows.
	ISA string
	// MemoryLimit bounds, in bytes, the memory of one run beside weights and inputs:
	// elements, and the headers of sequences, maps, strings and tensors. A run
	// that needs more fails with ErrMemory. NewSession fails if the constants that it
	// computes, such as unfolded sparse weights and weights made from a seed, take that
	// much more than the weights of the file. The default, 0, is three quarters of the
	// memory that the process may use: the limit of its control group on Linux, or
	// the memory of the machine if that is less. Memory that a run has left and Go has
	// not collected yet may take a quarter of the limit more.
	MemoryLimit int
	// MemoryBudget bounds the memory of the runs and streams of all sessions that share it.
	// Nil is DefaultMemoryBudget, or no bound if MemoryLimit exceeds it.
	MemoryBudget *MemoryBudget
	// MaxWaiting bounds how many runs of the session may wait at a time, for their turn or for
	// memory of MemoryBudget. One more fails with ErrBusy at once. 0 is no bound; with -1 no
	// run waits.
	MaxWaiting int
	// MaxWait bounds how long a run waits before it fails with ErrBusy. With 0 it waits
	// until its context ends.
	MaxWait time.Duration
	// WeightBudget bounds, in bytes, the weights in memory at a time; 0 for the budget that
	// the file asks for (runtime.weight_streaming of a checkpoint of gpt.rs), or all weights.
	// Nodes read weights from the mapped file when they need them, and the least recently
	// used weights leave. Every run reads the weights that do not fit again, and products
	// of matrices use unpacked weights. A node with more weights than the budget has them all
	// in memory, and so has each of several runs at a time. Weights outside a file, weights
	// below 16 KiB and packed block-quantised weights do not count. Linux only.
	WeightBudget int
	// NoOptimize runs the graph as the file has it. Runs are slower, and plans and profiles
	// show the model's own nodes.
	NoOptimize bool
	// DirectConv computes every convolution as sums of products. Without it, convolutions by
	// 3x3 kernels may use Winograd's algorithm, with fewer products. Its results for 8-bit
	// codes are the same, and for floats about as exact. But an infinity, a NaN or an overflow
	// then reaches all pixels of a tile of up to 4 x 4, not only the pixels of its kernel, and
	// weights take 1 to 4 times their memory.
	DirectConv bool
	// Accuracy says whether products with quantised weights may round their activations to 8-bit
	// integers, which is faster and less exact.
	Accuracy Accuracy
	// Operators has the operators that nodes of the model may use; nil for the
	// standard ones. A program adds its own operators to a registry of package runtime/op.
	// The registry must not change after NewSession.
	Operators *op.Registry
	// Logger is told of what a service may want to know, with the file as attribute model. Level
	// Warn has runs that are refused; Info has sessions that are made, and nodes that a Device leaves
	// to the CPU; Debug has plans when they are made (by Warm, Plan, Bind or a run), waits of runs,
	// runs that a Batcher joins, and weights that leave memory (WeightBudget). Nil is told of nothing.
	// The logger is called from many goroutines, and must not call the session. A run that nothing is
	// logged of allocates nothing for it.
	Logger *slog.Logger
	// Outputs names the results of runs, in the order of Session.Outputs; empty for all
	// outputs of the model. A name is the name of an output or of any value that a node of
	// the model's main graph computes. Runs skip nodes that no result needs, and inputs
	// that no result needs are not required.
	Outputs []string
	// CacheType is the element type of the caches of keys and values that attention reads and
	// extends: Float16, Int8, or the zero value for the model's types. Growing states of wider
	// floats become inputs and outputs of that type; sums stay in float32. Float16 rounds an
	// element to 11 bits. Int8 rounds it to a multiple of about 1/127 of the largest magnitude
	// in its block of 32 elements; the states have two more elements in their last axis for the
	// factor of each block.
	// A state is the past of Attention, MultiHeadAttention or GroupQueryAttention, or a Concat
	// joins it and its new rows; other operators then read the result as the floats that it was.
	// NewSession fails with ErrUnsupported if the model has no such state, if another operator
	// reads the elements of one before its new rows are joined, or, with Int8, if they are
	// joined along the last axis.
	// With a Device of Vulkan, the states stay in its memory, but for float16 beside keys and values
	// of float32: the CPU computes attention with these.
	CacheType DType
	// Device computes the nodes that it supports, such as a GPU opened by package
	// runtime/vulkan; the CPU computes the others. Nil is the CPU alone. The device keeps its
	// weights in its memory until the model is closed, and must stay open until then.
	Device Device
	// Lowering says how the networks of formats other than ONNX become nodes, for example the seed
	// of weights that a file leaves to chance. The zero value computes what each format's users
	// expect. Lowering.Budget is not read.
	Lowering formats.Lowering
}

// Accuracy says which products with quantised weights round their activations: for each block of
// neighbouring activations, to multiples of 1/127 of the largest magnitude. Quantised weights are
// blocks of ggml's types, and the codes of MatMulNBits and QMoE.
type Accuracy uint8

const (
	// AccuracyModel rounds the activations of products for which the model says so: MatMulNBits and
	// QMoE with accuracy_level 4.
	AccuracyModel Accuracy = iota
	// AccuracyExact rounds no activations.
	AccuracyExact
	// AccuracyFast rounds the activations of every product that has a kernel for it.
	AccuracyFast
)

// Device is a device with memory of its own beside the CPU, for any number of models. Sessions of
// equal devices share programs, so its type must be comparable.
type Device interface {
	// Name is the name of the device in plans.
	Name() string
	// Accelerator returns the device's view of one model, for its plans.
	Accelerator() (runtime.Accelerator, error)
}

// lowering returns the options of the network that sessions run.
func (o Options) lowering() formats.Lowering {
	o.Lowering.Budget = nil
	return o.Lowering
}

// Validate checks the options without a model. The error is ErrOption and names every option
// with a value that is invalid on all machines.
func (o Options) Validate() error {
	errs := []error{o.below(nil).Validate()}
	wrong := func(format string, args ...any) { errs = append(errs, markf(ErrOption, format, args...)) }
	if o.MaxWaiting < -1 {
		wrong("option MaxWaiting is %d; it must not be less than -1", o.MaxWaiting)
	}
	if o.MaxWait < 0 {
		wrong("option MaxWait is %v; it must not be negative", o.MaxWait)
	}
	if o.MemoryBudget != nil && o.MemoryBudget.memory == nil {
		wrong("option MemoryBudget is none that NewMemoryBudget made")
	}
	if o.WeightBudget < 0 {
		wrong("option WeightBudget is %d; it must not be negative", o.WeightBudget)
	}
	if o.Lowering.Context < 0 {
		wrong("option Lowering.Context is %d; it must not be negative", o.Lowering.Context)
	}
	switch o.CacheType {
	case Invalid, Float16, Int8:
	default:
		wrong("option CacheType is %v; it takes float16, int8, or the zero value for the model's types", o.CacheType)
	}
	met := map[string]bool{}
	for _, name := range o.Outputs {
		if met[name] {
			wrong("option Outputs has %q twice", name)
		}
		met[name] = true
	}
	if o.Device != nil && !reflect.TypeOf(o.Device).Comparable() {
		wrong("option Device is a %T; a device must be comparable, such as a pointer", o.Device)
	}
	return errors.Join(errs...)
}

// check is Validate, and also checks the options against this machine.
func (o Options) check() error {
	if err := o.Validate(); err != nil {
		return err
	}
	if o.WeightBudget > 0 && !runtime.CanMovePacks {
		return markf(ErrOption, "option WeightBudget: this system, or this build, does not take the memory of weights back")
	}
	return o.below(nil).Check()
}

// below returns the options of the engine.
func (o Options) below(packs *runtime.Packs) runtime.Options {
	return runtime.Options{
		Threads: o.Threads, ISA: o.ISA, MemoryLimit: o.MemoryLimit, Memory: o.memory(),
		MaxWaiting: o.MaxWaiting, MaxWait: o.MaxWait, Log: o.Logger,
		NoOptimize: o.NoOptimize, DirectConv: o.DirectConv, Accuracy: runtime.Accuracy(o.Accuracy), Registry: o.Operators, Packs: packs,
	}
}
