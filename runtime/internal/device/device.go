// Package device defines devices for the planner and the executor: memory, binding a node to a
// step, and running steps. It contains no code of a specific device.
package device

import (
	"strings"
	"time"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Device runs steps. Its methods are safe for concurrent use.
type Device interface {
	// Name is the name of the device in plans and messages, such as cpu.
	Name() string
	// Bind makes the step of a node. If no row of the device computes the node, the error is a
	// *Refusal. The node then runs on the host if its operator runs in Go.
	Bind(b *Binding) (*Step, error)
	// Reads reports whether Bind may return a *NeedValue for the operator of the node.
	Reads(b *Binding) bool
	// Alternatives makes steps of the node: one for every row that computes it, and for each of
	// these one per kernel that fits in place of one of its kernels. The steps are distinct, and
	// include the step of Bind.
	Alternatives(b *Binding) ([]*Step, error)
	// Layouts lists the layouts in which Bind makes a step of the node, all plain first. It returns
	// nil if there is no choice. A device uses one block size. A Reorder has one choice: the
	// layouts of its binding, with its cost.
	Layouts(b *Binding) []LayoutChoice
	// Join returns the binding that Joining makes of two nodes if one step of both takes less time
	// than two steps, else nil. Only the second node reads the result of the first, and no input is
	// state.
	Join(first, second *Binding) *Binding
	// Estimate returns the time of a node with that many multiply-adds, or elements, whose operands
	// take that many bytes.
	Estimate(work, bytes int) time.Duration
	// Accelerator returns the device that computes some of the nodes in memory of its own, nil for
	// none.
	Accelerator() Accelerator
	// Record prepares commands for runs. Segment.Rebase sets the addresses of memory.
	Record(list []Recorded) (Segment, error)
	// Alloc returns n bytes at a multiple of 64, not cleared, or nil if there is no memory. Free
	// releases them.
	Alloc(n int) []byte
	Free(b []byte)
	// InPlace reports whether commands can read the elements of t where they are, or, if they are
	// copied as bytes, its bytes.
	InPlace(t *tensor.Tensor, bytes bool) bool
	// Aligned returns t if commands can read its elements where they are, else a copy that the device
	// keeps.
	Aligned(t *tensor.Tensor) (*tensor.Tensor, error)
	// Weights returns the constants that move in and out of memory; nil if all stay.
	Weights() Weights
	// Places returns the supply of places for runs; every run takes one. More runs at once than
	// threads would only slow each other down.
	Places() *Supply
	// Threads returns how many threads one run may use.
	Threads() int
	// NewFlag returns a flag that stops runs.
	NewFlag() (Flag, error)
}

// Flag stops the runs that poll it, between two chunks of work.
type Flag interface {
	Set()
	Clear()
	IsSet() bool
	Free()
}

// Segment holds commands that run in order. Only one run may be in progress at a time.
type Segment interface {
	// Rebase sets the memory of a base. Offsets are within it, and it stays while Run runs.
	Rebase(base int, memory []byte)
	// Resize sets the lengths that words and offsets depend on.
	Resize(length func(symbol string) (int, bool)) error
	// Run runs the commands and returns how many completed. All do unless there is an error or the
	// flag is set.
	Run(stop Flag, timed bool) (done int, err error)
	// Times returns when each command of a timed run began, and when the last one ended, in
	// nanoseconds of an arbitrary clock.
	Times() []int64
	// Bytes returns the memory of the segment.
	Bytes() int
	Free()
}

// Kernel is a row of a device's table of kernels.
type Kernel interface {
	Op() string      // the function, such as f32_gemm
	Variant() string // the implementation, such as 12x32_avx512
}

// Place is the kind of memory that an operand of a command is in.
type Place uint8

// The places of operands.
const (
	None   Place = iota // the operand is left out
	In                  // input Index of the node
	Out                 // output Index of the node
	Temp                // scratch that the commands of the step share
	Const               // Data, which stays at its address
	Packed              // Data: constant input Index of the node, packed
)

// Operand is an address for a command: a place and an offset in bytes.
type Operand struct {
	Place  Place
	Index  int
	Offset graph.Dim
	Data   []byte
	Bytes  int // size on an accelerator; 0 for everything from the offset on
}

// At returns the operand moved by a number of bytes.
func (o Operand) At(bytes graph.Dim) Operand {
	o.Offset = o.Offset.Add(bytes)
	return o
}

// Command is one call of a kernel. Its words are sizes, strides, flags and the bits of numbers;
// they may be expressions over lengths that are known when a run starts. Its operands are
// addresses.
type Command struct {
	Kernel   Kernel
	Parts    []Kernel // kernels named by words
	Words    []graph.Dim
	Operands []Operand
	Scratch  int // bytes of scratch of the command alone
}

// Recorded is a command with resolved operands: bases, numbered by the plan from 1, and offsets.
// Base 0 is a fixed address: Data, or none.
type Recorded struct {
	*Command
	Bases   []int
	Offsets []graph.Dim
	Bytes   []int // size of the value that an operand is part of; 0 if unknown
	Scratch Slot
	Step    int // index of the plan's step
}

// Slot is a base and an offset in bytes from it.
type Slot struct{ Base, Offset int }

// Step is the work of a device for one node: commands, or a call of Go.
type Step struct {
	// Binder names the row of the device's table that bound the node, or is "host".
	Binder string
	// Commands run in order.
	Commands []Command
	// Call, if it is not nil, is Go code of the device that runs instead of Commands.
	Call func(c *op.Run) error
	// Called lists the kernels that Call runs, as commands without words. Call makes the commands
	// itself. Their operands are packed constants only, and their scratch is the most of a run.
	Called []Command
	// Temp is the size in bytes of the scratch that the commands share.
	Temp int
	// InPlace lists the inputs with memory that output 0 may overwrite.
	InPlace []int
	// Joins and Splits list operands that the commands copy, unchanged, into a larger operand or
	// out of one. If such an operand is already in its place there, the commands copy nothing.
	Joins, Splits []Share
	// Dropped is the set of constant inputs, by bit, that no command reads because they are packed.
	Dropped uint64
	// Scattered is the set of constant inputs, by bit, of which commands copy a few elements, as
	// bytes. They need no alignment.
	Scattered uint64
	// Work is the step's multiply-adds, or its elements, for estimates of time.
	Work int
}

// Share is an operand that is a piece of a larger one: an input within output 0 of a step that
// joins, or an output within input 0 of a step that splits.
type Share struct {
	Operand int // the index of the input or of the output
	Offset  int // bytes from the start of the larger operand
}

// Scratch returns the total bytes of scratch of the step.
func (s *Step) Scratch() int {
	most := 0
	for i := range s.Commands {
		most = max(most, s.Commands[i].Scratch)
	}
	return AlignUp(s.Temp) + most
}

// Listed returns the commands that plans list: Commands, or Called for a step that is a call of Go.
func (s *Step) Listed() []Command {
	if s.Call != nil {
		return s.Called
	}
	return s.Commands
}

// String returns the row and its kernels, each followed by its parts, such as
// "gemm: f32_gemm/12x32_avx512".
func (s *Step) String() string {
	list := s.Listed()
	parts := make([]string, len(list))
	for i := range list {
		c := &list[i]
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

// Drops reports whether no command reads constant input i.
func (s *Step) Drops(i int) bool { return i < 64 && s.Dropped>>i&1 != 0 }

// Scatters reports whether commands copy constant input i as bytes, a few elements at a time.
func (s *Step) Scatters(i int) bool { return i < 64 && s.Scattered>>i&1 != 0 }

// Align is the alignment of memory, in bytes: a cache line.
const Align = 64

// AlignUp returns n rounded up to a multiple of Align.
func AlignUp(n int) int { return (n + Align - 1) / Align * Align }
