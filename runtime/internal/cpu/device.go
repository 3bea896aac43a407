// Package cpu binds nodes to the C kernels. A file holds one family of operators: its rows, each
// with a function that turns a node of known extents into commands, and below them the words of
// those commands.
package cpu

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/stages"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Device is the CPU with a session's instruction-set levels, threads and packed constants.
type Device struct {
	isa     bindings.ISA
	pool    *bindings.Pool // nil for the caller's thread alone
	threads int
	packs   *Packs
	half    bindings.Kernel

	layouts   device.LayoutPolicy
	blocked   device.Layout // the layout of blocked values
	estimated bool          // the estimates of times hold for the levels
	codes     bool          // codes of 8 bits may be blocked
	direct    bool          // convolutions are computed without transforms
	accuracy  device.Accuracy

	accelerator device.Accelerator // nil for none
	made        *budget.Budget     // bytes left for packed constants; nil for no limit
	stages      *stages.Times      // measures packing; nil for none
}

// New returns a device that uses kernels of the levels in isa on at most threads threads of the
// pool. It keeps packed constants in packs.
func New(isa bindings.ISA, pool *bindings.Pool, threads int, packs *Packs) (*Device, error) {
	half, err := bindings.Select("half", isa)
	if err != nil {
		return nil, err
	}
	d := &Device{isa: isa, pool: pool, threads: max(1, min(threads, pool.Threads())), packs: packs, half: half}
	d.blocked, d.estimated, d.codes = blockedLayout(isa)
	return d, nil
}

// Name returns "cpu".
func (d *Device) Name() string { return "cpu" }

// Alloc returns n bytes outside Go's heap.
func (d *Device) Alloc(n int) []byte { return bindings.Alloc(n) }

// Free releases memory of Alloc.
func (d *Device) Free(b []byte) { bindings.Free(b) }

// Threads returns how many threads one run may use.
func (d *Device) Threads() int { return d.threads }

// admitted is a supply with a place for every CPU of the process.
var admitted = sync.OnceValue(func() *device.Supply {
	return device.NewSupply(max(runtime.NumCPU(), runtime.GOMAXPROCS(0)))
})

// Places returns the supply that all sessions of the process share.
func (d *Device) Places() *device.Supply { return admitted() }

// InPlace reports whether commands can read the elements of t where they are, or, if they are copied as
// bytes, its bytes.
func (d *Device) InPlace(t *tensor.Tensor, bytes bool) bool {
	return reaches(t) && (bytes || t.IsAligned())
}

// Aligned returns t if commands can read its elements where they are, else a copy.
func (d *Device) Aligned(t *tensor.Tensor) (*tensor.Tensor, error) { return d.packs.Aligned(t) }

// Weights returns the constants that move in and out of memory; nil if all stay.
func (d *Device) Weights() device.Weights {
	if d.packs == nil || d.packs.weights == nil {
		return nil
	}
	return d.packs.weights
}

// NewFlag returns a flag outside Go's heap.
func (d *Device) NewFlag() (device.Flag, error) {
	f := bindings.NewFlag()
	if f == nil {
		return nil, graph.Errorf(graph.ErrMemory, "no memory for a flag")
	}
	return f, nil
}

// Reads reports whether a row of the node's operator reads elements of inputs when it binds.
func (d *Device) Reads(b *device.Binding) bool {
	return slices.ContainsFunc(byType().For(b.Op), func(r row) bool { return r.Reads })
}

// Bind binds the node by the first row of its operator that does not refuse it.
func (d *Device) Bind(b *device.Binding) (*device.Step, error) {
	rows := d.rows(b)
	if b.StoresInts() {
		store := row{Name: "store", Bind: func(_ op.Op, b *binder) error { return bindStore(b) }, Room: true}
		rows = append([]row{store}, rows...)
	}
	return device.First(rows, "device cpu has no row for the operator and its types", func(r row) (*device.Step, error) {
		return d.bindRow(r, b, nil)
	})
}

// bindRow makes a node's step by one row. skip says, per op, how many fitting kernels to pass over.
func (d *Device) bindRow(r row, b *device.Binding, skip map[string]int) (*device.Step, error) {
	if b.HasRoom() && !r.Room {
		return nil, device.Refuse("an operand is in memory with more room than it takes")
	}
	x := &binder{Binding: b, dev: d, step: &device.Step{Binder: r.Name, InPlace: b.Row.InPlace}, skip: skip}
	if err := x.holdBlocked(); err != nil {
		return nil, err
	}
	err := guard.Call(func() error { return r.Bind(b.Op, x) })
	if x.unsized {
		return nil, device.Refuse("extents are expressions over lengths")
	}
	if x.failed != nil {
		return nil, x.failed
	}
	var need *device.NeedValue
	if errors.As(err, &need) && !r.Reads {
		return nil, fmt.Errorf("%w: row %s does not say that it reads elements", guard.ErrInternal, r.Name)
	}
	if err != nil {
		return nil, err
	}
	if x.step.Commands == nil && x.step.Call == nil {
		x.step.Commands = []device.Command{}
	}
	return x.step, nil
}

// Accelerator returns the device that computes some of the nodes; nil for none.
func (d *Device) Accelerator() device.Accelerator { return d.accelerator }

// WithBudget returns a device that packs constants only while b has the bytes.
func (d *Device) WithBudget(b *budget.Budget) *Device {
	with := *d
	with.made = b
	return &with
}

// WithStages returns a device that measures in t how long packing constants takes.
func (d *Device) WithStages(t *stages.Times) *Device {
	with := *d
	with.stages = t
	return &with
}

// WithAccelerator returns a device with plans that put nodes on accelerator a. If d computes
// convolutions without transforms, so does a. Both have the same accuracy and policy of layouts.
func (d *Device) WithAccelerator(a device.Accelerator) *Device {
	with := *d
	if a != nil && d.direct {
		a = a.WithDirectConv()
	}
	if a != nil {
		a = a.WithAccuracy(d.accuracy).WithLayouts(d.layouts)
	}
	with.accelerator = a
	return &with
}

// Record writes commands to memory outside Go's heap.
func (d *Device) Record(list []device.Recorded) (device.Segment, error) {
	words, operands := 0, 0
	for _, r := range list {
		words += len(r.Words)
		operands += len(r.Operands)
	}
	code := bindings.NewCode(len(list), words, operands)
	if code == nil {
		return nil, graph.Errorf(graph.ErrMemory, "no memory for commands")
	}
	s := &segment{dev: d, code: code}
	for _, r := range list {
		if err := s.add(r); err != nil {
			s.Free()
			return nil, err
		}
	}
	return s, nil
}

// failure returns the error of commands that stopped.
func failure(f bindings.Failure) error {
	text := f.Text()
	args := make([]any, 0, len(f.Args))
	for i := range strings.Count(text, "%d") {
		args = append(args, f.Args[i])
	}
	kind := graph.ErrShape
	switch f.Kind() {
	case "UNSUPPORTED":
		kind = graph.ErrUnsupported
	case "MEMORY":
		kind = graph.ErrMemory
	}
	return graph.Errorf(kind, "%s", fmt.Sprintf(text, args...))
}
