package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/exec"
	"github.com/nacre-ml/nacre/runtime/internal/optimize"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Plan is the steps of a run with inputs of known types and shapes.
type Plan = plan.Plan

// Listing is a plan as data, for people and for JSON.
type Listing = plan.Listing

// LeftNode is a node that is planned only in the run.
type LeftNode = plan.LeftNode

// ListedBody is a graph of a node, such as the body of a Loop, in a Listing.
type ListedBody = plan.ListedBody

// Profile is the times of the steps of one run.
type Profile = exec.Profile

// StepTime is the begin and the time of one step.
type StepTime = exec.StepTime

// Comparison is the times of all ways to compute one step.
type Comparison = exec.Comparison

// Stats is the work of a session at a moment, and in all since it was made.
type Stats = exec.Stats

// Memory is a number of bytes that sessions share. NewMemory makes one.
type Memory = exec.Memory

// NewMemory returns a budget of this number of bytes, which is positive.
func NewMemory(bytes int) *Memory { return exec.NewMemory(bytes) }

// Packs holds constant weights in the order in which kernels read them. Sessions of one model share
// it.
type Packs = cpu.Packs

// CanMovePacks reports whether the system takes back the memory of weights that move.
const CanMovePacks = cpu.CanMove

// NewPacks returns packs that stay in memory until they are closed.
func NewPacks() *Packs { return cpu.NewPacks() }

// NewMovingPacks returns packs of a network with constants that move in and out of memory, within a
// budget of bytes if steps allow it. Constants that the network's Streaming names stay in memory
// after their first use. log is told of constants that leave; nil for none.
func NewMovingPacks(network *graph.Model, budget int, log *slog.Logger) *Packs {
	stay := map[unsafe.Pointer]bool{}
	if s := network.Streaming; s != nil {
		for _, init := range network.Graph.Initializers {
			if slices.Contains(s.Stay, init.Name) {
				stay[init.Tensor.Pointer()] = true
			}
		}
	}
	return cpu.NewMovingPacks(cpu.NewWeights(budget, stay, log))
}

// Accelerator is a device with memory of its own beside the CPU, as one model uses it.
type Accelerator = device.Accelerator

// LayoutPolicy decides which of the offered layouts the plans of the CPU use.
type LayoutPolicy = device.LayoutPolicy

// Accuracy says which products with quantised weights round their activations.
type Accuracy = device.Accuracy

// The policies. LayoutsBlocked and LayoutsPlain are for tests and measurements.
const (
	LayoutsByCost  = device.LayoutsByCost
	LayoutsPlain   = device.LayoutsPlain
	LayoutsBlocked = device.LayoutsBlocked
)

// NarrowCaches returns a model with caches of keys and values of element type d, float16 or int8. The
// error is graph.ErrUnsupported if the model has none, or if anything but attention reads one.
func NarrowCaches(m *graph.Model, d tensor.DType) (*graph.Model, error) {
	return optimize.NarrowCaches(m, d)
}

// Passes returns the names of all passes in the order in which they rewrite a graph. The first
// ones, RequiredPasses, replace constructs that no operator implements.
func Passes() []string { return passNames(optimize.Passes()) }

// RequiredPasses returns the names of the passes that a session with NoOptimize runs.
func RequiredPasses() []string { return passNames(optimize.Required()) }

func passNames(list []optimize.Pass) []string {
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.Name
	}
	return names
}

// Rewrite returns the model with its graphs rewritten by the named passes, in this order.
func Rewrite(m *graph.Model, o Options, passes []string) (*graph.Model, error) {
	o, isa, err := o.complete(m)
	if err != nil {
		return nil, err
	}
	all := optimize.Passes()
	list := make([]optimize.Pass, len(passes))
	for i, name := range passes {
		k := slices.IndexFunc(all, func(p optimize.Pass) bool { return p.Name == name })
		if k < 0 {
			return nil, fmt.Errorf("there is no pass %q", name)
		}
		list[i] = all[k]
	}
	return optimize.Run(m, list, o.rewriting(context.Background(), m, isa, nil))
}

// Available returns why the process cannot run models, or nil. The error is graph.ErrDevice.
func Available() error {
	if err := bindings.Available(); err != nil {
		return graph.Errorf(graph.ErrDevice, "%w", err)
	}
	return nil
}

// PhysicalMemory returns the bytes of memory of the machine; 0 if the system does not tell.
func PhysicalMemory() int { return bindings.PhysicalMemory() }
