// Package device says what the planner and the executor need of a device: memory,
// a way to bind a node to a step, and a way to run steps. It holds no code of any
// device.
package device

import (
	"strings"
	"unsafe"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Device runs steps. Its methods may be called from many goroutines at once.
type Device interface {
	// Name is how plans and messages call the device, such as cpu.
	Name() string
	// Bind makes the step of a node. The error is a *Refusal when no row of the device
	// computes it; the node then goes to the host if its operator runs in Go.
	Bind(b *Binding) (*Step, error)
	// Alternatives makes a step of the node for every row that computes it and, of each,
	// for every kernel that fits in place of one of its kernels. None is there twice, and
	// that of Bind is among them.
	Alternatives(b *Binding) ([]*Step, error)
	// Layouts lists the layouts in which Bind makes a step of the node, all operands plain
	// first; nil when there is no other choice. A device blocks by one number of channels.
	// A Reorder of a value takes the layouts of its binding alone, and has one choice, which
	// tells its cost.
	Layouts(b *Binding) []LayoutChoice
	// Join returns the binding that Joining makes of two nodes where one step of both takes
	// less than two: nil where it does not. Only the second reads what the first computes,
	// and no input is state.
	Join(first, second *Binding) *Binding
	// Accelerator returns the device that computes some of the nodes in memory of its own;
	// nil for none.
	Accelerator() Accelerator
	// Record lays commands out for runs. Memory is attached with Segment.Rebase.
	Record(list []Recorded) (Segment, error)
	// Alloc returns n bytes at a multiple of 64, not cleared; nil when there is no
	// memory. Free gives them back.
	Alloc(n int) []byte
	Free(b []byte)
	// Aligned returns t if its elements lie as the device needs them, else a copy that the
	// device keeps.
	Aligned(t *tensor.Tensor) (*tensor.Tensor, error)
	// Weights returns the constants that come and go; nil where all stay in memory.
	Weights() Weights
	// Places is the supply of which every run takes one. More runs at a time than there are
	// threads only get in each other's way.
	Places() *Supply
	// Threads is how many threads one run may use.
	Threads() int
	// NewFlag returns a flag that ends runs.
	NewFlag() (Flag, error)
}

// Flag ends the runs that look at it, between two chunks of work.
type Flag interface {
	Set()
	Clear()
	IsSet() bool
	Free()
}

// Segment is commands ready to run, one after the other. One run may be under way at
// a time.
type Segment interface {
	// Rebase sets the address that a base stands for.
	Rebase(base int, address unsafe.Pointer)
	// Resize sets the lengths on which words and offsets depend.
	Resize(length func(symbol string) (int, bool)) error
	// Run runs the commands. It returns how many ran to their end; all did unless there
	// is an error or the flag was set.
	Run(stop Flag, timed bool) (done int, err error)
	// Times is when each command of a timed run began, and when the last ended, in
	// nanoseconds of a clock of its own.
	Times() []int64
	// Bytes is the memory that the segment takes.
	Bytes() int
	Free()
}

// Kernel is a row of a device's table of kernels.
type Kernel interface {
	Op() string      // what it computes, such as f32_gemm
	Variant() string // how, such as 12x32_avx512
}

// Place says where an operand of a command lies.
type Place uint8

// The places of operands.
const (
	None   Place = iota // the operand is left out
	In                  // input Index of the node
	Out                 // output Index of the node
	Temp                // scratch that the commands of the step share
	Const               // Data, which stays where it is
	Packed              // Data, which is constant input Index of the node, rearranged
)

// Operand is an address that a command gets: a place and an offset in bytes.
type Operand struct {
	Place  Place
	Index  int
	Offset graph.Dim
	Data   []byte
	Bytes  int // of the operand, on an accelerator; 0 for all behind the offset
}

// At returns the operand moved by so many bytes.
func (o Operand) At(bytes graph.Dim) Operand {
	o.Offset = o.Offset.Add(bytes)
	return o
}

// Command is one call of a kernel: sizes, strides, flags and bits of numbers as words,
// which may be expressions over lengths that are known when a run starts, and
// addresses as operands.
type Command struct {
	Kernel   Kernel
	Parts    []Kernel // kernels that words name
	Words    []graph.Dim
	Operands []Operand
	Scratch  int // bytes of scratch of its own
}

// Recorded is a command whose operands are bases, numbered by the plan from 1 on, and
// offsets from them. Base 0 is an address that stays: that of Data, or none.
type Recorded struct {
	*Command
	Bases   []int
	Offsets []graph.Dim
	Bytes   []int // of the value that an operand is part of; 0 where that is not known
	Scratch Slot
}

// Slot is a base and an offset in bytes from it.
type Slot struct{ Base, Offset int }

// Step is the work of a device for one node: commands, or a call.
type Step struct {
	// Binder names the row of the device's table that bound the node, or is host.
	Binder string
	// Commands run one after the other.
	Commands []Command
	// Call, unless it is nil, is Go code of the device that runs instead of Commands.
	Call func(c *op.Run) error
	// Temp is bytes of scratch that the commands share.
	Temp int
	// InPlace lists inputs over which output 0 may be computed.
	InPlace []int
	// Joins and Splits list operands that the commands copy as they are to the place where
	// they lie in a larger one, and from there. Where they lie there already, the commands
	// do nothing.
	Joins, Splits []Share
	// Dropped are constant inputs whose elements no command reads, because they were
	// packed.
	Dropped uint64
	// Scattered are constant inputs of which commands copy few elements, as bytes: they
	// may lie at any address.
	Scattered uint64
	// Work is the multiply-adds of the step, or its elements, for estimates of time.
	Work int
}

// Share is an operand that is a piece of a larger one: an input within output 0 of a step
// that joins, an output within input 0 of one that splits.
type Share struct {
	Operand int // the index of the input or of the output
	Offset  int // bytes from the start of the larger operand
}

// Scratch returns the bytes of scratch that the step takes in all.
func (s *Step) Scratch() int {
	most := 0
	for i := range s.Commands {
		most = max(most, s.Commands[i].Scratch)
	}
	return AlignUp(s.Temp) + most
}

// String returns the row and its kernels, each followed by its parts, such as
// "gemm: f32_gemm/12x32_avx512".
func (s *Step) String() string {
	parts := make([]string, len(s.Commands))
	for i := range s.Commands {
		c := &s.Commands[i]
		parts[i] = c.Kernel.Op() + "/" + c.Kernel.Variant()
		for _, p := range c.Parts {
			parts[i] += " " + p.Op() + "/" + p.Variant()
		}
	}
	if len(parts) == 0 {
		return s.Binder
	}
	return s.Binder + ": " + strings.Join(parts, ", ")
}

// Drops reports whether the elements of constant input i are not read.
func (s *Step) Drops(i int) bool { return i < 64 && s.Dropped>>i&1 != 0 }

// Scatters reports whether constant input i is copied from as bytes, a few at a time.
func (s *Step) Scatters(i int) bool { return i < 64 && s.Scattered>>i&1 != 0 }

// Align is the alignment of memory, in bytes: a cache line.
const Align = 64

// AlignUp is n rounded up to a multiple of Align.
func AlignUp(n int) int { return (n + Align - 1) / Align * Align }
