package device

import (
	"context"
	"time"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Accelerator is a device with memory of its own, such as a GPU, that computes some nodes of a
// plan. Steps of the plan copy values to and from its memory. Its methods are safe for concurrent
// use.
type Accelerator interface {
	// Name is the name of the device in plans and messages, such as vulkan.
	Name() string
	// Bind makes the step of a node. Operands have the layout Offloaded, or ChannelsLast as Layouts
	// offers, except constants; the step copies these to the device's memory. A Reorder copies
	// between Offloaded and the other layouts. If the device does not compute the node, the error is
	// a *Refusal or another one that Refused knows.
	Bind(b *Binding) (*Step, error)
	// Layouts lists the layouts in which Bind makes a step of the node: the binding's first, then one
	// with ChannelsLast. It returns nil if there is no choice. A Reorder has one choice: the layouts of
	// its binding, with its cost.
	Layouts(b *Binding) []LayoutChoice
	// Alternatives returns the steps of all rows that compute the node, without equal ones. The first
	// is the step of Bind.
	Alternatives(b *Binding) ([]*Step, error)
	// Saves estimates how much less time a bound step takes than the session's device, which takes
	// the given time. Transfer estimates the time of a copy of n bytes to or from the device.
	Saves(elsewhere time.Duration) time.Duration
	Transfer(n int) time.Duration
	// Launch estimates the time that one more command takes in a run; 0 if the device computes all
	// that it can.
	Launch() time.Duration
	// WithDirectConv returns the device, with the same constants, but with convolutions without
	// transforms.
	WithDirectConv() Accelerator
	// WithLayouts returns the device, with the same constants, but with another policy.
	WithLayouts(p LayoutPolicy) Accelerator
	// WithAccuracy returns the device, with the same constants, but with products that round their
	// activations as a permits.
	WithAccuracy(a Accuracy) Accelerator
	// Align returns the alignment of values in the device's memory, in bytes.
	Align() int
	// NewMemory returns n bytes of the device's memory, not cleared.
	NewMemory(n int) (Memory, error)
	// Record prepares commands for runs. Operands at BaseDevice are in m. Other bases are addresses
	// in the session's memory, set by Segment.Rebase, or memory of the accelerator, set by
	// AcceleratorSegment.Attach.
	Record(list []Recorded, m Memory) (AcceleratorSegment, error)
	// Close frees the constants that steps copied to the device's memory. No plan may be in use.
	Close()
}

// Memory is memory of an accelerator.
type Memory interface {
	Bytes() int
	// Write copies src to the memory, starting at offset at. Read copies the memory from at to dst.
	Write(at int, src []byte) error
	Read(at int, dst []byte) error
	Free()
}

// AcceleratorSegment holds commands of an accelerator. If words depend on lengths, or operands are
// in attached memory, Resize must be called before the commands run.
type AcceleratorSegment interface {
	Segment
	// Attach sets the memory of a base.
	Attach(base int, m Memory)
	// Ran returns, for each command given to Record, what runs for it. Commands may be joined when they
	// are recorded, and Resize records again.
	Ran() []Ran
	// Began returns when the first command of the last timed run began, by the host's clock.
	Began() time.Time
	// Draw draws the random numbers of the next run, by op.Random.
	Draw(ctx context.Context)
}

// Ran is what a segment runs for a command.
type Ran struct {
	Kernels []Kernel // in order
	By      []int    // other given commands, whose kernels do some of the work
}

// Offloaded is row-major order in the memory of an accelerator.
const Offloaded Layout = 1

// ChannelsLast is Offloaded order of the extents [N,...,C] of a value [N,C,...].
const ChannelsLast Layout = 2

// BaseDevice is the base of operands in the memory of an accelerator. Bases of a session's memory
// have other numbers.
const BaseDevice = 3

// OffloadLayouts returns the layouts of a node's operands on an accelerator. Operands without
// elements, and constants, stay plain.
func OffloadLayouts(list []*op.Value) []Layout {
	layouts := make([]Layout, len(list))
	for i, v := range list {
		if v != nil && v.Kind == graph.TensorType && v.Const == nil && !v.Dims.Len().Is(0) {
			layouts[i] = Offloaded
		}
	}
	return layouts
}
