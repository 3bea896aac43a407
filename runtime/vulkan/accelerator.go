package vulkan

import (
	"slices"
	"time"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Accelerator is a device with the constants of one model.
type Accelerator struct {
	dev        *Device
	weights    *weights
	directConv bool
	accuracy   device.Accuracy
	layouts    device.LayoutPolicy
}

// Name returns "vulkan".
func (a *Accelerator) Name() string { return a.dev.Name() }

// WithDirectConv returns the device with convolutions that use no transforms.
func (a *Accelerator) WithDirectConv() device.Accelerator {
	c := *a
	c.directConv = true
	return &c
}

// WithAccuracy returns the device with products that round their activations as accuracy permits.
func (a *Accelerator) WithAccuracy(accuracy device.Accuracy) device.Accelerator {
	c := *a
	c.accuracy = accuracy
	return &c
}

// WithLayouts returns the device with another policy.
func (a *Accelerator) WithLayouts(p device.LayoutPolicy) device.Accelerator {
	c := *a
	c.layouts = p
	return &c
}

// Align returns the alignment of values in bytes.
func (a *Accelerator) Align() int { return align }

// NewMemory allocates n bytes of the device's memory.
func (a *Accelerator) NewMemory(n int) (device.Memory, error) {
	m, err := a.dev.pool.alloc(n)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Close frees the model's constants. No plan may use them afterwards.
func (a *Accelerator) Close() { a.weights.free() }

// Estimates of time. Copies to and from the device move linkBytes bytes per second. A step saves
// stepTime beside the time that the session's device would take. A command takes launchTime at least.
const (
	linkBytes    = 8e9
	stepTime     = 20 * time.Microsecond
	transferTime = 30 * time.Microsecond
	launchTime   = 2 * time.Microsecond
)

// Saves estimates how much less time a step takes here than on the session's device.
func (a *Accelerator) Saves(elsewhere time.Duration) time.Duration {
	if a.dev.options.Everything {
		return time.Hour
	}
	return stepTime + elsewhere
}

// Transfer estimates the time of a copy of n bytes.
func (a *Accelerator) Transfer(n int) time.Duration {
	return transferTime + time.Duration(float64(n)/linkBytes*float64(time.Second))
}

// Launch estimates the time of a command.
func (a *Accelerator) Launch() time.Duration {
	if a.dev.options.Everything {
		return 0
	}
	return launchTime
}

// Bind tries the rows of the node's operator, best first, and returns the first step that one
// makes. If every row refuses, the error is a *device.Refusal that lists their reasons.
func (a *Accelerator) Bind(b *device.Binding) (*device.Step, error) {
	if _, ok := b.Op.(device.Reorder); ok {
		switch {
		case b.InLayout(0) == b.OutLayout(0):
			return a.bindRow(row{Name: "copy", Bind: func(_ op.Op, b *binder) error {
				return b.copyAll(b.DType(0), b.Shape(0).Len(), b.in(0), b.out(0))
			}}, b)
		case hasLast(b):
			return a.bindRow(row{Name: "turn", Bind: func(_ op.Op, b *binder) error { return bindTurn(b) }}, b)
		}
		return bindTransfer(b), nil
	}
	if hasLengths(b) {
		return a.bindLengths(b)
	}
	rows, b := a.rows(b)
	return device.First(rows, "device vulkan has no row for the operator", func(r row) (*device.Step, error) {
		return a.bindRow(r, b)
	})
}

// Alternatives returns the steps of all rows of the node's operator that do not refuse it.
func (a *Accelerator) Alternatives(b *device.Binding) (steps []*device.Step, err error) {
	first, err := a.Bind(b)
	if err != nil || hasLengths(b) {
		return []*device.Step{first}, err
	}
	steps = append(steps, first)
	rows, b := a.rows(b)
	for _, r := range rows {
		step, err := a.bindRow(r, b)
		if device.Refused(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(steps, func(s *device.Step) bool { return s.String() == step.String() }) {
			steps = append(steps, step)
		}
	}
	return steps, nil
}

// overwrites are the shaders that may write their result over an input. They read an element of the
// input only for the element of the result in the same place.
var overwrites = set(
	"copy/fill", "copy/strided", "eltwise/binary", "eltwise/cast", "eltwise/compare", "eltwise/fused", "eltwise/power",
	"eltwise/test", "eltwise/unary", "eltwise/where", "norm/batch", "scatter/note", "scatter/reduce", "scatter/rows",
	"scatter/write", "conv/depth", "conv/direct", "conv/gemm", "conv/matrix", "matmul/gemm", "matmul/gemv",
	"matmul/matrix",
)

func (a *Accelerator) bindRow(r row, b *device.Binding) (*device.Step, error) {
	if b.HasRoom() && !r.Room {
		return nil, device.Refuse("an operand is in memory with more room than it takes")
	}
	x := &binder{Binding: b, dev: a.dev, weights: a.weights, directConv: a.directConv, accuracy: a.accuracy,
		step: &device.Step{Binder: r.Name, InPlace: b.Row.InPlace}}
	if err := x.checkOperands(); err != nil {
		return nil, err
	}
	err := guard.Call(func() error { return r.Bind(b.Op, x) })
	if x.failed != nil {
		err = x.failed
	}
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(x.step.Commands, func(c device.Command) bool { return !overwrites[c.Kernel.Op()] }) {
		x.step.InPlace = nil
	}
	x.step.Joins, x.step.Splits = nil, nil // dispatches copy parts that are in place, too
	if x.step.Commands == nil {
		x.step.Commands = []device.Command{}
	}
	return x.step, nil
}

// transferKernel is a copy between the session's memory and the device's.
type transferKernel string

// The transfers.
const (
	upload   transferKernel = "upload"
	download transferKernel = "download"
)

// Op returns the name of the transfer.
func (t transferKernel) Op() string { return string(t) }

// Variant returns "staged": copies pass through memory that host and device both see.
func (t transferKernel) Variant() string { return "staged" }

// bindTransfer makes the step of a copy to the device or back. Its word is the number of bytes.
func bindTransfer(b *device.Binding) *device.Step {
	k := upload
	if b.InLayout(0) == device.Offloaded {
		k = download
	}
	n := b.In[0].Dims.Len().Mul(graph.Known(b.DType(0).Bits() / 8))
	if d := b.DType(0); d.Bits()%8 != 0 || d.Blocks() != nil {
		n = graph.Known(b.DType(0).Bytes(b.Shape(0).Len()))
	}
	return &device.Step{Binder: "transfer", Commands: []device.Command{{
		Kernel: k, Words: []graph.Dim{n},
		Operands: []device.Operand{{Place: device.In}, {Place: device.Out}},
	}}}
}
