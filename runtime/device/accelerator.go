package device

import (
	"time"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Accelerator is a device with memory of its own, such as a GPU, that computes some of
// the nodes of a plan. Values get into its memory and out of it by steps of the plan.
// Methods may be called from many goroutines at once.
type Accelerator interface {
	// Name is how plans and messages call the device, such as vulkan.
	Name() string
	// Bind makes the step of a node whose operands have the layout Offloaded, but for
	// constants, which the step brings into the device's memory. A Reorder copies between
	// Plain and Offloaded. The error is a *Refusal for nodes that the device does not
	// compute.
	Bind(b *Binding) (*Step, error)
	// Saves estimates the time that a bound step takes less than the session's device does;
	// Transfer that of a copy of n bytes to or from the device.
	Saves(b *Binding, s *Step) time.Duration
	Transfer(n int) time.Duration
	// WithDirectConv returns the device, with the same constants, whose convolutions are sums
	// of products alone.
	WithDirectConv() Accelerator
	// Align is the alignment of values in the device's memory, in bytes.
	Align() int
	// NewMemory returns n bytes of the device's memory, not cleared.
	NewMemory(n int) (Memory, error)
	// Record lays commands out for runs. Operands from BaseDevice lie in m. Other bases are
	// addresses of the session's memory, set with Segment.Rebase, or memory of the
	// accelerator, set with AcceleratorSegment.Attach.
	Record(list []Recorded, m Memory) (AcceleratorSegment, error)
	// Close frees the constants that steps brought into the device's memory. No plan may be
	// in use.
	Close()
}

// Memory is memory of an accelerator.
type Memory interface {
	Bytes() int
	// Write copies src to the memory, and Read bytes of the memory to dst, from an offset
	// on.
	Write(at int, src []byte) error
	Read(at int, dst []byte) error
	Free()
}

// AcceleratorSegment is commands of an accelerator. Those whose words depend on lengths, or
// whose operands lie in attached memory, need a call of Resize before they run.
type AcceleratorSegment interface {
	Segment
	// Attach sets the memory that a base stands for.
	Attach(base int, m Memory)
}

// Offloaded is row-major order in the memory of an accelerator.
const Offloaded Layout = 1

// BaseDevice is the base of operands that lie in the memory of an accelerator; those of a
// session's memory are other numbers.
const BaseDevice = 3

// OffloadLayouts returns the layouts of a node's operands on an accelerator. Operands without
// elements stay where they are.
func OffloadLayouts(list []*op.Value) []Layout {
	layouts := make([]Layout, len(list))
	for i, v := range list {
		if v != nil && v.Kind == graph.TensorType && v.Const == nil && !v.Dims.Len().Is(0) {
			layouts[i] = Offloaded
		}
	}
	return layouts
}
